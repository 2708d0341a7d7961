"""``tickgate convert``: round trips, pipes, bad input, memory."""
import gzip
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from tickgate.capture.synthetic import day

from .conftest import MESSAGES, SEED, SYMBOLS
from .test_itch import messages_of


def pipe(*arguments, stdin=None, **options):
    return subprocess.Popen([sys.executable, "-m", "tickgate.app.main", "convert", *map(str, arguments), "--quiet"], stdin=stdin, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, **options)


def test_itch_pcap_itch(itch, run, tmp_path, read, small_pieces):
    assert run(itch, tmp_path / "x.pcap")[0] == 0 and run(tmp_path / "x.pcap", tmp_path / "y.itch.gz")[0] == 0
    assert messages_of(gzip.decompress((tmp_path / "y.itch.gz").read_bytes())) == messages_of(itch.read_bytes())
    events, source = read(tmp_path / "x.pcap")
    first, _ = read(itch)
    assert str(source.date) == "2026-03-02" and len(events) == len(first)
    for name in events.dtype.names:
        if name != "receive_ns":
            assert (events[name] == first[name]).all()
    late = events["receive_ns"] - source.midnight_ns - events["time_ns"]
    assert (late >= 0).all() and (late <= 1000).all()      # a frame has the time of its last message


def test_one_symbol_is_a_day_of_its_own(itch, run, tmp_path):
    assert run(itch, tmp_path / "x.itch", "--symbol", "BRAVO", "--start", "10:00")[0] == 0
    hour = 3600 * 10 ** 9

    def kept(message):
        locate, time = int.from_bytes(message[1:3], "big"), int.from_bytes(message[5:11], "big")
        return locate in (0, 2) and time >= 10 * hour or locate == 2 and message[:1] == b"R"

    wanted = [m for m in messages_of(itch.read_bytes()) if kept(m)]
    assert messages_of((tmp_path / "x.itch").read_bytes()) == wanted and len(wanted) > 100


def test_through_a_pipe(itch, tmp_path):
    process = pipe("-", "-", "--to", "itch", stdin=subprocess.PIPE)
    out, err = process.communicate(gzip.compress(itch.read_bytes()))
    assert process.returncode == 0 and out == itch.read_bytes() and err.decode() == f"tickgate: {MESSAGES:,} rows of {MESSAGES:,} messages\n"


@pytest.mark.parametrize("form", ["itch", "csv"])
def test_memory_does_not_follow_the_file(itch, form):
    """Messages without effect on orders, all at midnight, again and again: 12 MiB and 36 MiB."""
    once = [m for m in messages_of(itch.read_bytes()) if m[:1] in b"PLRY"]
    block = b"".join(len(m).to_bytes(2, "big") + m[:5] + bytes(6) + m[11:] for m in once * 20)
    peaks = []
    for times in (4, 12):
        process = pipe("-", os.devnull, "--to", form, stdin=subprocess.PIPE)
        for _ in range(times):
            process.stdin.write(block * (1 + 3 * (1 << 20) // len(block)))
        process.stdin.close()
        assert process.stderr.read() == b""
        assert process.stdout.read().endswith(b" messages\n")
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        peaks.append(usage.ru_maxrss)
    assert peaks[1] - peaks[0] < 10_000, peaks      # KiB; the longer input is 24,000 more


def test_json(itch, run, tmp_path):
    status, out, _ = run(itch, tmp_path / "x.csv", "--json")
    report = json.loads(out)
    assert status == 0 and report["messages"] == MESSAGES and report["inputs"] == [str(itch)]
    assert report["schema_version"] == 1 and report["date"] == "2026-03-02"
    assert report["rows"] == (tmp_path / "x.csv").read_bytes().count(b"\n") - 1 and report["complete"]
    assert run(itch, "-", "--to", "csv", "--json")[0] == 2


def test_several_inputs_of_one_day(itch, run, tmp_path):
    raw, messages = itch.read_bytes(), messages_of(itch.read_bytes())
    half = sum(len(m) + 2 for m in messages[:MESSAGES // 2])
    (tmp_path / "2026-03-02.a.itch").write_bytes(raw[:half])
    (tmp_path / "2026-03-02.b.itch").write_bytes(raw[half:])
    assert run(tmp_path / "2026-03-02.?.itch", tmp_path / "x.itch")[0] == 0 and (tmp_path / "x.itch").read_bytes() == raw


def test_mixed_days(itch, refused, tmp_path):
    for name in ("2026-03-02.itch", "2026-03-03.itch", "a.itch", "b.itch", "c.itch"):
        (tmp_path / name).write_bytes(itch.read_bytes())
    line = refused(tmp_path / "2026-03-02.itch", tmp_path / "2026-03-03.itch", tmp_path / "x.csv")
    assert "2026-03-02" in line and "2026-03-03" in line and "inputs of different days" in line
    assert "inputs of different days" in refused(tmp_path / "a.itch", tmp_path / "b.itch", tmp_path / "x.csv")
    (tmp_path / "c.itch").write_bytes(day(SEED, SYMBOLS, MESSAGES).replace(b"BRAVO   ", b"OTHER   "))
    assert "locate 2 was BRAVO" in refused(tmp_path / "a.itch", tmp_path / "c.itch", tmp_path / "x.csv")


def broken(itch, path):
    """A length in the middle is wrong; returns where, and how many messages come before."""
    raw, messages = bytearray(itch.read_bytes()), messages_of(itch.read_bytes())
    k = len(messages) // 2
    at = sum(len(m) + 2 for m in messages[:k])
    raw[at:at + 2] = b"\x7f\xff"
    path.write_bytes(raw)
    return at, k


def test_wrong_length(itch, refused, tmp_path):
    at, _ = broken(itch, tmp_path / "bad.itch")
    raw = (tmp_path / "bad.itch").read_bytes()
    line = refused(tmp_path / "bad.itch", tmp_path / "x.csv")
    assert f"offset {at}: message length: " in line and raw[at:at + 32].hex(" ") in line and f"(type {ascii(chr(raw[at + 2]))}" in line


def test_resync(itch, run, tmp_path):
    at, k = broken(itch, tmp_path / "bad.itch")
    status, _, err = run(tmp_path / "bad.itch", tmp_path / "x.itch", "--resync")
    messages = messages_of(itch.read_bytes())
    assert status == 1 and messages_of((tmp_path / "x.itch").read_bytes()) == messages[:k] + messages[k + 1:]
    assert f"{len(messages[k]) + 2} bytes in 1 places are no messages: passed over" in err


def test_options(itch, refused, tmp_path):
    out = tmp_path / "x.csv"
    for arguments, cause in (((itch, out, "--start", "10:00", "--end", "9:00"), "--start must be before --end"), ((itch, out, "--limit", "-1"), "--limit"),
                             ((itch, out, "--levels", 0), "--levels"), ((itch, out, "--start", "25:00"), "25:00"), ((itch, out, "--date", "x"), "YYYY-MM-DD"),
                             ((itch, tmp_path / "x.foo"), "does not tell a format"), ((itch, out, "--to", "foo"), "--to foo: must be one of pcap, itch"),
                             ((itch, out, "--symbol", "BRAVA"), "unknown symbol BRAVA: near it are BRAVO"), ((itch, "-", "--to", "lobster"), "pair of files"),
                             ((itch, f"{tmp_path}/"), "holds one symbol"), ((tmp_path / "none.itch", out), "No such file"), ((tmp_path, out), "is a directory"),
                             ((tmp_path / "*.nothing", out), "no file matches"), ((itch, itch), "it is the capture")):
        assert cause in refused(*arguments), arguments


def test_unwritable(itch, refused, tmp_path):
    (tmp_path / "file").write_text("x")
    (tmp_path / "d.csv").mkdir()
    assert "cannot write" in refused(itch, tmp_path / "file" / "x.csv") and "is a directory" in refused(itch, tmp_path / "d.csv")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
@pytest.mark.parametrize("form", ["csv", "parquet", "itch", "pcap", "hftbacktest"])
def test_disk_full(itch, refused, form):
    if form == "parquet":
        pytest.importorskip("pyarrow")
    assert "cannot write: no space left" in refused(itch, "/dev/full", "--to", form, "--symbol", "ALFA")


def test_interrupt_leaves_nothing(itch, run, tmp_path, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("tickgate.formats.orders.Orders.complete", interrupt)
    (tmp_path / "x.csv").write_text("old")
    pytest.importorskip("pyarrow")
    pytest.importorskip("databento_dbn")
    for out in ("x.csv", "x.parquet", "x.npz", "x.dbn", "ALFA_2026-03-02_0_1_message_3.csv"):
        assert run(itch, tmp_path / out, "--symbol", "ALFA")[0] == 130
    assert [p.name for p in tmp_path.iterdir()] == ["x.csv"] and (tmp_path / "x.csv").read_text() == "old"


def test_real_itch(real_data, run, tmp_path, read):
    path = real_data("itch/derived_20191230_book_slice.itch")
    events, source = read(path)
    assert str(source.date) == "2019-12-30" and len(events) > 10_000
    assert run(path, tmp_path / "x.pcap")[0] == 0
    again, _ = read(tmp_path / "x.pcap")
    assert (again["reference"] == events["reference"]).all() and (again["price"] == events["price"]).all()
    assert np.isin(4, events["price"]) and events["price"].max() == 1_000_000_000      # 0.0004 and 100000.00
