"""What all data commands do alike: outputs whole or not at all, tables of each kind, streams of any length, one line for whatever a user gets wrong."""
import gzip
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from tickgate.app import table as tables
from tickgate.capture.synthetic import day
from tickgate.spec import itch50

from . import reference as ref

COMMAND = [sys.executable, "-m", "tickgate.app.main"]
ROWS = ("bbo", "book", "trades", "signals")


@pytest.mark.parametrize("command", ROWS)
def test_a_file_has_what_standard_output_has(run, capture, tmp_path, command):
    _, out, _ = run(command, "--quiet", capture)
    assert run(command, "--quiet", capture, "-o", tmp_path / "rows.csv") == (0, "", "")
    assert run(command, "--quiet", capture, "-o", tmp_path / "rows.csv.gz") == (0, "", "")
    assert (tmp_path / "rows.csv").read_text() == gzip.decompress((tmp_path / "rows.csv.gz").read_bytes()).decode() == out
    assert len(out.splitlines()) > 50 and sorted(p.name for p in tmp_path.iterdir()) == ["rows.csv", "rows.csv.gz"]


@pytest.mark.parametrize("command", ROWS)
def test_report_of_rows(run, capture, tmp_path, command):
    path = tmp_path / "rows.csv"
    status, out, err = run(command, "--quiet", capture, "-o", path, "--json")
    assert (status, err) == (0, "") and json.loads(out) == {"output": str(path), "rows": len(path.read_text().splitlines()) - 1, "messages": 1500,
                                                          "files": [str(capture)], "complete": True, "notes": []}
    status, out, _ = run(command, "--quiet", capture, "-o", path, "--json", "--limit", 3)
    assert (status, json.loads(out)["rows"]) == (0, 3) and 0 < json.loads(out)["messages"] <= 1500
    assert run(command, capture, "--json")[:2] == (2, "")
    (tmp_path / "cut.itch").write_bytes(capture.read_bytes()[:-5])
    status, out, err = run(command, "--quiet", tmp_path / "cut.itch", "-o", path, "--json")
    report = json.loads(out)
    assert (status, report["complete"], report["messages"]) == (1, False, 1499) and report["notes"][0] in err


@pytest.mark.parametrize("command", ROWS)
def test_parquet_has_the_same_rows(run, capture, tmp_path, command):
    """Integers as integers, nulls, metadata."""
    parquet = pytest.importorskip("pyarrow.parquet")
    _, out, _ = run(command, "--quiet", capture)
    path = tmp_path / "rows.parquet"
    assert run(command, "--quiet", capture, "-o", path) == (0, "", "")
    read = parquet.read_table(path)
    assert read.to_pylist() == ref.table(out)
    assert read.schema.metadata[b"tickgate_schema"] == b"1" and read.schema.metadata[b"source"] == str(capture).encode()
    assert str(read.schema.field("time").type) == "int64" and read.schema.field("time").metadata[b"unit"] == b"ns since midnight"


def test_parquet_without_its_library(run, capture, tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "PARQUET_NEEDS", "no_such_package_here")
    status, out, err = run("bbo", capture, "-o", tmp_path / "rows.parquet")
    assert (status, out) == (2, "") and "tickgate[" in err and err.count("\n") == 1 and list(tmp_path.iterdir()) == []


def bad_output(run, capture, tmp_path, *arguments):
    status, out, err = run(*arguments)
    assert (status, out) == (2, "") and err.startswith("tickgate: error: ") and err.count("\n") == 1
    return err


@pytest.mark.parametrize("command", ROWS)
def test_outputs_that_cannot_be(run, capture, tmp_path, command):
    (tmp_path / "file").write_text("x")
    for path, cause in ((tmp_path / "rows.txt", "rows are written as .csv"), (tmp_path / "file" / "rows.csv", "cannot write"),
                        (capture, "rows are written as")):
        assert cause in bad_output(run, capture, tmp_path, command, capture, "-o", path)
    same = tmp_path / "day.csv"
    same.write_bytes(capture.read_bytes())
    assert "it is the capture" in bad_output(run, capture, tmp_path, command, same, "-o", same)
    assert same.read_bytes() == capture.read_bytes() and sorted(p.name for p in tmp_path.iterdir()) == ["day.csv", "file"]


@pytest.mark.parametrize("command", ["count", *ROWS])
def test_inputs_that_cannot_be(run, tmp_path, command):
    (tmp_path / "text").write_text("hello, this is no capture at all")
    (tmp_path / "empty").write_bytes(b"")
    for path, cause in (("text", "not a capture"), ("empty", "is empty"), ("none", "No such file"), ("", "is a directory"), ("no*", "no file matches")):
        status, out, err = run(command, "--quiet", tmp_path / path)
        assert status == 2 and cause in err and err.startswith("tickgate: error: ") and err.count("\n") == 1
        assert out == "" or out.count("\n") == 1      # the names of the columns at most
    status, _, err = run(command, "--quiet", "-", "-")
    assert status == 2 and "named twice" in err


def test_symbol_of_no_file(run, capture, tmp_path):
    """Nothing is left under the final name; a symbol that one of several files has is enough."""
    other = tmp_path / "other.itch"
    other.write_bytes(day(1, 1, 100))
    status, _, err = run("bbo", "--quiet", capture, "--symbol", "ALFAS", "-o", tmp_path / "rows.csv")
    assert status == 2 and f"{capture}: unknown symbol ALFAS: near it are ALFA" in err and not (tmp_path / "rows.csv").exists()
    status, out, _ = run("bbo", "--quiet", other, capture, "--symbol", "BRAVO")
    assert status == 0 and {row["file"] for row in ref.table(out)} == {str(capture)}


def test_corrupt_file_leaves_no_rows_file(run, capture, tmp_path):
    raw = bytearray(capture.read_bytes())
    raw[20_000:] = b"\xff" * (len(raw) - 20_000)
    broken = tmp_path / "broken.itch"
    broken.write_bytes(raw)
    status, out, err = run("bbo", "--quiet", broken, "-o", tmp_path / "rows.csv")
    assert (status, out) == (2, "") and "message length" in err and "bytes " in err and err.count("\n") == 1
    assert [p.name for p in tmp_path.iterdir()] == ["broken.itch"]
    status, _, err = run("bbo", "--quiet", broken, "-o", tmp_path / "rows.csv", "--resync")
    assert status == 1 and "are no messages: passed over" in err and (tmp_path / "rows.csv").exists()


def test_resync_makes_books_stale(run, capture, tmp_path):
    messages = ref.blocks(capture.read_bytes())
    at = sum(2 + len(m) for m in messages[:800])
    path = tmp_path / "broken.itch"
    path.write_bytes(capture.read_bytes()[:at] + b"\x01" * 50 + capture.read_bytes()[at:])
    status, out, _ = run("bbo", "--quiet", path, "--resync")
    table = ref.table(out)
    assert status == 1 and {r["valid"] for r in table if r["number"] <= 800} == {1} and {r["valid"] for r in table if r["number"] > 800} == {0}
    whole = ref.table(run("bbo", "--quiet", capture)[1])
    assert [{**r, "valid": 1} for r in table] == whole


def test_interrupt_leaves_nothing(tmp_path):
    """Ctrl-C while rows are being written."""
    reading, writing = os.pipe()
    out = tmp_path / "rows.csv"
    process = subprocess.Popen([*COMMAND, "bbo", "-", "-o", out], stdin=reading, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    os.close(reading)
    with open(writing, "wb") as pipe:
        pipe.write(day(1, 2, 20_000)[:-2])      # more may come
        pipe.flush()
        deadline = time.monotonic() + 100
        while not list(tmp_path.iterdir()) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert [p.name.endswith(".part") for p in tmp_path.iterdir()] == [True]
        while process.poll() is None and time.monotonic() < deadline:      # one that comes while a module is being loaded may be lost
            time.sleep(1)
            process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130 and err.strip().endswith(b"tickgate: interrupted") and list(tmp_path.iterdir()) == []


def test_reader_that_goes_away(capture):
    """``| head`` is no error."""
    process = subprocess.Popen([*COMMAND, "book", "--quiet", capture], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout.readline().startswith(b"time,symbol")
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert process.wait(60) == 0 and err == b""


def test_pcap_through_a_pipe(run, tmp_path, monkeypatch):
    path = tmp_path / "day.pcap"
    assert run("gen", path, "--symbols", 2, "--messages", 3000, "--quiet")[0] == 0
    _, expected, _ = run("bbo", "--quiet", path)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(gzip.compress(path.read_bytes())))))
    assert run("bbo", "--quiet", "-")[1] == expected and len(expected) > 10_000


def test_progress_is_told_on_standard_error(run, capture, monkeypatch):
    from tickgate.app import progress
    monkeypatch.setattr(progress, "LINE_EVERY", 0.0)
    status, out, err = run("count", capture)
    size = capture.stat().st_size
    assert status == 0 and f"{size:,} of {size:,} bytes, " in err and "messages/s" in err and "bytes" not in out


def test_help_of_the_group_and_lazy_imports(run):
    _, out, _ = run("--help")
    for name in ("replay", "count", "filter", "gen", *ROWS):
        assert f"\n  {name} " in out
    code = "import sys; from tickgate.app.cli import cli; import tickgate.app.count, tickgate.app.signals; print('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "False"


# ---- streams of any length


class Repeated:
    """A day again and again as one stream: references go on, times of the later days are those of the first one's end, and all orders are deleted at the
    end of each, so that live orders do not pile up."""

    def __init__(self, raw):
        messages = ref.decoded(ref.blocks(raw))
        live = {}
        for _, letter, m in messages:
            if letter in "AF":
                live[m["order_ref"]] = [m["stock_locate"], m["shares"]]
            elif letter in "ECX":
                order = live[m["order_ref"]]
                order[1] -= m["executed_shares" if letter != "X" else "cancelled_shares"]
                if not order[1]:
                    del live[m["order_ref"]]
            elif letter == "D":
                del live[m["order_ref"]]
            elif letter == "U":
                live[m["new_order_ref"]] = [live.pop(m["original_order_ref"])[0], m["shares"]]
        end = messages[-1][2]["timestamp"]
        deletes = [itch50.BY_CODE[b"D"].encode(stock_locate=locate, timestamp=end, order_ref=reference) for reference, (locate, _) in live.items()]
        self.messages = ref.blocks(raw) + deletes
        self.data = np.frombuffer(b"".join(len(m).to_bytes(2, "big") + m for m in self.messages), np.uint8)
        at = np.cumsum([2, *(2 + len(m) for m in self.messages)])[:-1]
        kind = self.data[at]
        self.references = np.concatenate([at[np.isin(kind, list(b"AFECXDU"))] + itch50.BY_CODE[b"D"]["order_ref"].offset,
                                          at[kind == ord("U")] + itch50.BY_CODE[b"U"]["new_order_ref"].offset])
        stamp = itch50.BY_CODE[b"S"]["timestamp"]
        self.times, self.end = at + stamp.offset, np.frombuffer(end.to_bytes(6, "big"), np.uint8)

    def day(self, k):
        """The ``k``-th day's bytes."""
        data = self.data.copy()
        data[self.references] = k >> 8            # the upper two bytes of a reference are free
        data[self.references + 1] = k & 255
        if k:
            data[self.times[:, None] + np.arange(6)] = self.end
        return data


def through_a_pipe(stream, days, *arguments):
    """Run a command on so many days through a pipe; what it wrote, its exit status and its peak memory in bytes."""
    code = ("import resource, sys, os\n"
            "pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)\n"
            "status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])\n"
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024, file=sys.stderr)\n"
            "sys.exit(status)\n")
    process = subprocess.Popen([sys.executable, "-c", code, *COMMAND, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out = []
    reader = threading.Thread(target=lambda: out.append(process.stdout.read()))
    reader.start()
    try:
        for k in range(days):
            process.stdin.write(stream.day(k).data)
        process.stdin.write(bytes(2))
        process.stdin.close()
    except BrokenPipeError:
        pass
    err = process.stderr.read()
    reader.join()
    process.stdout.close()
    process.stderr.close()
    assert process.wait() == 0, err
    return out[0], int(err.split()[-1])


@pytest.fixture(scope="module")
def stream():
    return Repeated(day(1, 16, 20_000))


@pytest.mark.parametrize("arguments", [("count", "-", "--json"), ("bbo", "-", "-o", os.devnull),
                                       ("filter", "-", os.devnull, "--symbol", "BRAVO", "--json")], ids=lambda a: a[0])
def test_memory_does_not_grow_with_the_stream(stream, arguments):
    """44 MB more, and no more than a third of them stay."""
    few, many = 30, 100
    assert (many - few) * len(stream.data) > 44 << 20
    (_, less), (out, more) = (through_a_pipe(stream, days, *arguments, "--quiet") for days in (few, many))
    print(f"{less >> 20} MB, {more >> 20} MB")
    assert more < less + (15 << 20)
    if arguments[0] == "count":
        assert json.loads(out)["types"] == {t: many * n for t, n in ref.types(stream.messages).items()}
    if arguments[0] == "filter":
        assert json.loads(out)["messages"] == many * len(stream.messages)


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [("count", "-", "--json"), ("bbo", "-", "-o", os.devnull)], ids=lambda a: a[0])
def test_a_gigabyte_through_a_pipe(arguments):
    big = Repeated(day(1, 16, 60_000))
    days = -(-(1 << 30) // len(big.data))
    (_, less), (out, more) = (through_a_pipe(big, n, *arguments, "--quiet") for n in (10, days))
    print(f"{days * len(big.data) >> 20} MB in {days} days: peak {less >> 20} MB after 10, {more >> 20} MB after all")
    assert more < less + (32 << 20) and more < 400 << 20
    if arguments[0] == "count":
        assert json.loads(out)["messages"] == days * len(big.messages)
