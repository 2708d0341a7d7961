"""``tickgate count``."""
import gzip
import io
import json
import sys
from collections import Counter

import pytest

from tickgate.capture import mold_frames, write_pcap
from tickgate.spec import itch50

from . import reference as ref

HEAD = {"S": 2, "R": 8906, "H": 8897, "Y": 8893, "L": 215036, "A": 5609, "F": 36, "D": 2658, "U": 331, "X": 1453, "E": 13, "P": 3}


@pytest.fixture
def count(run):
    """``count(*arguments)``: status, report, standard error."""
    def command(*arguments):
        status, out, err = run("count", "--quiet", "--json", *arguments)
        return status, json.loads(out), err

    return command


@pytest.fixture
def stdin(monkeypatch):
    """``stdin(bytes)`` is what the command reads from ``-``."""
    def use(raw):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(raw))))

    return use


def test_first_hour_of_a_real_day(count, real_data):
    path = real_data("itch/nasdaq_head_251837.truncated.gz")
    status, report, err = count(path)
    assert status == 1                       # it is cut off
    assert report["types"] == HEAD and report["messages"] == 251_837 == sum(HEAD.values())
    assert "35 bytes from offset 7141658" in err and "compressed stream is cut off" in err and err.count("\n") == 2
    assert report["files"][0]["complete"] is False and report["unknown_types"] == [] and report["short"] == 0


def test_other_real_files(count, real_data):
    status, report, err = count(real_data("itch/nasdaq_head_1000.itch"))
    assert (status, err) == (0, "") and report["types"] == {"S": 1, "R": 993, "H": 3, "Y": 3}
    status, report, err = count(real_data("itch/derived_20191230_book_slice.itch"))
    assert (status, err) == (0, "") and report["messages"] == 11_433
    assert {t: report["types"][t] for t in "SAFEXDUP"} == {t: HEAD[t] for t in "SAFEXDUP"}
    assert report["types"]["R"] == report["types"]["H"] == 664


def test_real_packets(count, real_data):
    path = real_data("mold/Nasdaq.Equities.TotalView.Itch.v5.0__Multiple.Packets.pcap")
    status, report, _ = count(path)          # a packet of 38 messages, and one of an earlier moment
    assert status == 1 and report["types"] == {"A": 36, "F": 2, "D": 1}
    assert {k: report["files"][0][k] for k in ("first_message", "gaps", "missing")} == {"first_message": 14764496, "gaps": 1, "missing": 4244620}
    status, report, err = count(path.parent / "Nasdaq*Message.pcap")
    assert (status, err) == (0, "") and len(report["files"]) == 7 and all(one["messages"] == 1 for one in report["files"])


def test_zero_filled_lengths_are_refused(run, real_data):
    status, out, err = run("count", real_data("itch/ritch_ex20101224.TEST_ITCH_50.gz"))
    assert (status, out) == (2, "") and "length prefixes are zero" in err and err.count("\n") == 1


def test_every_way_in_gives_the_same(count, capture, tmp_path, stdin, monkeypatch):
    raw = capture.read_bytes()
    expected = ref.types(ref.blocks(raw))
    (tmp_path / "one.itch").write_bytes(raw)
    (tmp_path / "two.itch.gz").write_bytes(gzip.compress(raw))
    assert count(tmp_path / "one.itch")[1]["types"] == expected
    assert count(tmp_path / "two.itch.gz")[1]["types"] == expected
    for given in (raw, gzip.compress(raw)):
        stdin(given)
        status, report, _ = count("-")
        assert status == 0 and report["types"] == expected and report["files"][0]["path"] == "standard input"
    status, report, _ = count(tmp_path / "*.itch*")
    assert report["types"] == {t: 2 * n for t, n in expected.items()} and [f["messages"] for f in report["files"]] == [1500, 1500]


def test_symbols_times_and_limit(count, capture):
    messages = ref.blocks(capture.read_bytes())
    names = {m["stock_locate"]: m["stock"].decode().strip() for _, letter, m in ref.decoded(messages) if letter == "R"}
    _, report, _ = count(capture, "--symbol", "alfa", "--symbol", "B*")
    assert list(report["symbols"]) == ["ALFA", "BRAVO"]
    for name, types in report["symbols"].items():
        assert types == Counter(letter for _, letter, m in ref.decoded(messages) if names.get(m["stock_locate"]) == name)
    assert report["messages"] == sum(sum(types.values()) for types in report["symbols"].values()) > 100
    start, end = 10 * 3600 * 10 ** 9, 10 * 3600 * 10 ** 9 + 1_500_000_000_001
    _, report, _ = count(capture, "--start", "10:00", "--end", "10:25:00.000000001")
    inside = [m for m in messages if start <= int.from_bytes(m[5:11], "big") < end]
    assert report["types"] == ref.types(inside) and 10 < len(inside) < len(messages)
    assert count(capture, "--limit", 777)[1]["types"] == ref.types(messages[:777])
    status, report, _ = count(capture, capture, "--limit", 1600)
    assert status == 0 and report["messages"] == 1600 and len(report["files"]) == 2


def test_unknown_longer_and_short_messages(count, tmp_path):
    """Types that nobody knows are skipped by their length and listed; a longer known one counts; in packets one too short to have a time counts apart."""
    system = itch50.BY_CODE[b"S"].encode(event_code="O")
    messages = [system, b"z" + bytes(30), system, system + b"\0\0", b"\x07" + bytes(12), system]
    path = tmp_path / "odd.itch"
    path.write_bytes(ref.binaryfile([*messages, *[system] * 8]))
    status, report, _ = count(path)
    assert status == 0 and report["types"] == {"S": 12, "0x07": 1, "z": 1} and report["unknown_types"] == ["0x07", "z"]
    path = tmp_path / "odd.pcap"
    frames = mold_frames([system, b"", b"S\0\0", system, b""], [0] * 5)
    write_pcap(path, list(frames), [10 ** 18] * len(frames))
    status, report, _ = count(path)
    assert status == 0 and report["types"] == {"S": 2} and report["short"] == 1 and report["messages"] == 3


@pytest.fixture
def broken(capture, tmp_path):
    """A day whose 1001st message has a wrong length; where that is."""
    messages = ref.blocks(capture.read_bytes())
    at = sum(2 + len(m) for m in messages[:1000])
    raw = bytearray(capture.read_bytes())
    raw[at:at + 2] = b"\x7f\xff"
    path = tmp_path / "broken.itch"
    path.write_bytes(raw)
    return path, at, messages


def test_corrupt_in_the_middle(run, broken):
    path, at, messages = broken
    status, out, err = run("count", "--quiet", path)
    assert status == 2 and " 1,000  messages" in out
    assert err.startswith(f"tickgate: error: {path}: offset {at}: message length: ") and err.count("\n") == 1
    assert repr(messages[1000][:1].decode()) in err and path.read_bytes()[at:at + 32].hex(" ") in err


def test_resync(count, broken):
    path, at, messages = broken
    status, report, err = count(path, "--resync")
    assert status == 1 and report["types"] == ref.types(messages[:1000] + messages[1001:])
    assert report["files"][0]["resyncs"] == 1 and f"{2 + len(messages[1000])} bytes in 1 places" in err


@pytest.mark.parametrize("zeros", [2, 70, 1 << 19])
def test_resync_after_a_length_of_zero(run, count, capture, tmp_path, zeros):
    """It would end the session, but more follows: nothing more is read, or what follows is looked for."""
    messages = ref.blocks(capture.read_bytes())
    before = ref.binaryfile(messages[:1000]).removesuffix(bytes(2))
    path = tmp_path / "zero.itch"
    path.write_bytes(before + bytes(zeros) + messages[1000] + ref.binaryfile(messages[1001:]))
    status, out, err = run("count", "--quiet", path)
    assert status == 2 and " 1,000  messages" in out
    assert err == (f"tickgate: error: {path}: offset {len(before)}: message length: 0 ends the session, but more follows at offset "
                   f"{len(before) + zeros}\n")
    status, report, err = count(path, "--resync")
    assert status == 1 and report["types"] == ref.types(messages[:1000] + messages[1001:])
    assert report["files"][0]["resyncs"] == 1 and f"{zeros + len(messages[1000])} bytes in 1 places" in err


def test_two_days_in_one_file(run, capture, tmp_path):
    messages = ref.blocks(capture.read_bytes())
    path = tmp_path / "two.itch"
    path.write_bytes(ref.binaryfile(messages + messages))
    status, out, err = run("count", "--quiet", path)
    assert (status, out) == (2, "") and "message 1501: time goes back from 20:05:00.000000000 to 03:00:00.000000001: two days in one stream" in err


def test_text(run, capture):
    status, out, err = run("count", "--quiet", capture)
    lines = out.splitlines()
    assert status == 0 and err == "" and lines[-1].strip() == "1,500  messages" and lines[0].split()[0] == "A" and lines[0].endswith("add order")
