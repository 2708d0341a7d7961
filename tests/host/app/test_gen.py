"""``tickgate gen``: days and what may happen to them on two lines."""
import json
from collections import Counter

import pytest

from tickgate.app.gen_lines import LINES, MIDNIGHT_NS
from tickgate.capture import open_capture, sample_path
from tickgate.capture.decode import datagrams
from tickgate.capture.synthetic import MIX, day
from tickgate.spec import moldudp64

from . import reference as ref


@pytest.fixture
def gen(run, tmp_path):
    """``gen(name, *arguments)``: the report and the path."""
    def command(name, *arguments):
        path = tmp_path / name
        status, out, err = run("gen", path, "--json", "--quiet", *arguments)
        assert (status, err) == (0, ""), err
        return json.loads(out), path

    return command


def test_the_default_is_the_shipped_sample(gen):
    _, path = gen("day.itch.gz")
    assert ref.unzipped(path) == ref.unzipped(sample_path())


def test_options_of_the_day(gen):
    report, path = gen("a.itch", "--seed", 4, "--symbols", 3, "--messages", 5000, "--halts", 4, "--mix", "A=100,D=50,U=800,E=0")
    messages = ref.decoded(ref.blocks(path.read_bytes()))
    seen = Counter(letter for _, letter, _ in messages)
    assert len(messages) == report["messages"] == 5000 and seen["R"] == 3 and report["symbols"] == 3
    assert seen["U"] > seen["A"] + seen["F"] > 500 and seen["E"] == 0
    assert sum(m["trading_state"] == b"P" for _, letter, m in messages if letter == "H") == 4
    assert Counter(m["cross_type"].decode() for _, letter, m in messages if letter == "Q") == {"O": 3, "C": 3, "H": 4}
    _, quiet = gen("b.itch", "--symbols", 3, "--messages", 1000, "--no-auctions", "--halts", 0)
    messages = ref.decoded(ref.blocks(quiet.read_bytes()))
    reference = ref.Reference()
    for _, letter, m in messages:
        assert letter not in "QIJ" and (letter != "H" or m["trading_state"] == b"T")
        if reference.take(letter, m):
            bid, _, _, ask, _, _ = reference.top(m["stock_locate"])
            assert bid is None or ask is None or bid < ask
    assert len(messages) == 1000
    report, _ = gen("c.itch", "--symbols", 1, "--rate", 1)
    assert report["messages"] == 23_400
    assert gen("d.itch", "--seed", 9, "--messages", 1000)[1].read_bytes() == gen("e.itch", "--seed", 9, "--messages", 1000)[1].read_bytes()
    assert gen("f.itch", "--seed", 10, "--messages", 1000)[1].read_bytes() != gen("e.itch", "--seed", 9, "--messages", 1000)[1].read_bytes()


def frames(path):
    """``(line, time, sequence, count)`` of each frame."""
    groups = {int.from_bytes(bytes(map(int, packing.group.split("."))), "big"): name for name, packing in LINES.items()}
    out = []
    for batch in open_capture(path).frames():
        found = datagrams(batch)
        assert len(found.frame) == len(batch)
        for k, start in enumerate(found.start.tolist()):
            header = moldudp64.HEADER.decode(batch.data[start:start + moldudp64.HEADER.size].tobytes())
            out.append((groups[int(found.group[k])], int(batch.time_ns[k]), header["sequence"], header["count"]))
    return out


def test_two_lines_without_faults(gen, run):
    report, path = gen("day.pcap", "--symbols", 3, "--messages", 3000, "--skew", "7us")
    messages = ref.blocks(day(1, 3, 3000))
    got = frames(path)
    a, b = ([frame[1:] for frame in got if frame[0] == line] for line in "ab")
    assert [(t + 7000, s, n) for t, s, n in a] == b and [t for _, t, _, _ in got] == sorted(t for _, t, _, _ in got)
    assert a[-1][1:] == (3001, moldudp64.END_OF_SESSION) and sum(n for _, _, n in a[:-1]) == 3000
    assert a[0][0] == MIDNIGHT_NS + int.from_bytes(messages[0][5:11], "big")
    assert report["lines"]["a"] == report["lines"]["b"] == {"packets": len(a) - 1, "lost": 0, "twice": 0, "late": 0}
    _, out, _ = run("count", "--json", "--quiet", path)
    counted = json.loads(out)
    assert counted["types"] == ref.types(messages) and counted["files"][0]["duplicates"] == 3000


def test_faults_happen_to_each_line_by_itself(gen):
    report, path = gen("day.pcap", "--symbols", 3, "--messages", 20_000, "--loss", 0.1, "--duplicate", 0.05, "--reorder", 0.02, "--seed", 6)
    got = frames(path)
    for name, line in report["lines"].items():
        sequences = [s for n, _, s, count in got if n == name and count != moldudp64.END_OF_SESSION]
        assert len(set(sequences)) == line["packets"] - line["lost"] and len(sequences) == line["packets"] - line["lost"] + line["twice"]
        assert 0.08 < line["lost"] / line["packets"] < 0.12 and 0.03 < line["twice"] / line["packets"] < 0.07
        arrived = list(dict.fromkeys(sequences))
        swapped = sum(b < a for a, b in zip(arrived, arrived[1:]))
        assert abs(swapped - line["late"]) <= line["late"] // 4 and 0.01 < line["late"] / line["packets"] < 0.03
    lost = [{s for n, _, s, _ in got if n == name} for name in "ab"]
    assert len(lost[0] ^ lost[1]) > 100        # not the same packets


def test_what_one_line_loses_the_other_brings(gen, run):
    """The books of two lines with losses, copies, late packets and skew are those of the day, as long as no packet is lost on both."""
    report, path = gen("day.pcap", "--symbols", 3, "--messages", 4000, "--loss", 0.01, "--duplicate", 0.05, "--reorder", 0.05, "--skew", "300us", "--seed", 2)
    _, plain = gen("day.itch", "--symbols", 3, "--messages", 4000, "--seed", 2)
    assert report["lines"]["a"]["lost"] > 5 and report["lines"]["b"]["lost"] > 5
    results = [run("bbo", "--quiet", one) for one in (path, plain)]
    assert [status for status, _, _ in results] == [0, 0] and results[0][1] == results[1][1]


def test_a_loss_on_both_lines_is_a_gap(gen, run):
    _, path = gen("day.pcap", "--symbols", 3, "--messages", 4000, "--loss", 0.2, "--seed", 2)
    status, out, err = run("count", "--json", "--quiet", path)
    one = json.loads(out)["files"][0]
    there = {s + k for _, _, s, n in frames(path) if n != moldudp64.END_OF_SESSION for k in range(n)}
    assert status == 1 and one["missing"] == 4001 - min(there) - len(there) > 20 and one["messages"] == len(there)
    assert f"messages are missing: {one['missing']} in {one['gaps']} gaps" in err


def test_files_of_each_line(gen):
    report, path = gen("day.pcap.gz", "--symbols", 2, "--messages", 500, "--lines", "split")
    a, b = (path.with_name(f"day.{line}.pcap.gz") for line in "ab")
    assert report["files"] == [str(a), str(b)] and not path.exists()
    assert {f[0] for f in frames(a)} == {"a"} and [f[1:] for f in frames(a)] == [f[1:] for f in frames(b)]
    report, path = gen("one.pcap", "--symbols", 2, "--messages", 500, "--lines", "a")
    assert {f[0] for f in frames(path)} == {"a"} and list(report["lines"]) == ["a"]


def test_bad_input(run, tmp_path):
    for arguments, cause in ((("--messages", 10), "60 messages for each"), (("--messages", 1000, "--rate", 5), "one of them"), (("--mix", "Z=4"), "mix: Z=4"),
                             (("--mix", "A"), "must be a type and a whole number"), (("--mix", "A=0"), "without A"), (("--loss", 2), "--loss"),
                             (("--loss", 0.1), "OUT must end in .pcap"), (("--skew", "5"), "--skew"), (("--halts", 2000), "no 2000 halts")):
        status, out, err = run("gen", tmp_path / "day.itch", *arguments)
        assert (status, out) == (2, "") and cause in err and err.count("\n") == 1, err
    assert list(tmp_path.iterdir()) == []
    assert sum(MIX.values()) == 1000
