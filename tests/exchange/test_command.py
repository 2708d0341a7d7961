"""``tickgate exchange`` as a user sees it, and the example of docs/howto/exchange.md."""
import contextlib
import gzip
import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tickgate.app.main import main
from tickgate.capture import open_capture, sample_path
from tickgate.exchange import conserved
from tickgate.session import Trader
from tickgate.spec import moldudp64 as mold

from .running import LIMIT, finish

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "exchange.md"


@pytest.fixture
def quiet_feed():
    """Options that send the feed to sockets of ours; and the sockets."""
    lines = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in "ab"]
    for line in lines:
        line.bind(("127.0.0.1", 0))
        line.settimeout(LIMIT)
    yield [part for name, line in zip("ab", lines) for part in (f"--feed-{name}", ":".join(map(str, line.getsockname())))], lines
    for line in lines:
        line.close()


@contextlib.contextmanager
def command(*arguments):
    """The command as a process of its own; yields it and the address of order entry. What happens is read from standard error."""
    process = subprocess.Popen([sys.executable, "-m", "tickgate.app.main", "exchange", "--port", "0", "--json", *map(str, arguments)], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    try:
        line = process.stderr.readline()
        found = re.match(r"order entry at ([\d.]+):(\d+) for ", line)
        assert found, line + process.stderr.read()
        yield process, (found[1], int(found[2]))
    finally:
        process.kill()
        process.communicate()


def ended(process):
    """Exit status, summary and what was said on the way, after Ctrl-C."""
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=LIMIT)
    return process.returncode, json.loads(out), err


def blocks(page):
    """The indented blocks of a page, as text."""
    return [re.sub("^    ", "", block, flags=re.M) for block in re.findall(r"(?:^    .*\n|^\n(?=    ))+", page.read_text(encoding="utf-8"), flags=re.M)]


def test_the_example_of_the_page(quiet_feed):
    shell, program, faults, in_process = (block.strip() for block in blocks(PAGE))
    words = shell.split()
    assert words[:2] == ["tickgate", "exchange"]
    port = words.index("--port")
    with command(*words[2:port], *words[port + 2:], *quiet_feed[0]) as (process, address):
        program = program.replace(f"{words[port + 1]},", f"{address[1]},")
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=3 * LIMIT)
        assert (done.returncode, done.stderr) == (0, "")
        found = re.fullmatch(r"position (\d+) replies \{.*'accepted': 2, .*'executed': \d+.*\}\n", done.stdout)
        assert found and int(found[1]) > 0
        status, report, _ = ended(process)
    assert status == 0 and report["conserved"] and report["orders"] == {"sent": 2, "accepted": 2, "rejected": 0, "ignored": 0}
    assert report["members"]["trader"]["position"]["ALFA"] > 0 and report["symbols"] == ["ALFA", "BRAVO"]
    space = {}
    exec(in_process, space)
    assert conserved(space["exchange"]) == [] and space["packets"]
    assert faults.startswith("tickgate exchange --loss")


def test_faults_feed_pcap_and_end_of_session(quiet_feed, tmp_path):
    path = tmp_path / "feed.pcap"
    options = "--loss 0.05 --skew 20us --cut 0.1 --race 0.2 --bust 0.2 --order-delay 2ms --ignore 0.2 --rate 2000 --symbols ALFA --seed 3".split()
    options += ["--pcap", path, "--user", "alice:secret:ouch42", "--rerequest-port", 0, "--halt-every", "700ms", *quiet_feed[0]]
    with command(*options) as (process, address):
        trader = Trader(*address, "alice", "secret", "ouch42", connect=False)
        for number in range(60):
            with contextlib.suppress(ConnectionError):
                if not trader.up:
                    trader.connect()
                trader.enter(number % 2, 50, "ALFA", 20_000 if number % 2 else 700_000, ioc=True)
                trader.poll(0.02)
        process.send_signal(signal.SIGINT)
        finish(trader)
        out, err = process.communicate(timeout=LIMIT)
        report = json.loads(out)
    assert process.returncode == 0 and report["conserved"] and "alice: logged in, from message 1" in err and "the day ends" in err
    assert trader.ledger.surprises == [] and {s: n for s, n in trader.ledger.position.items() if n} == report["members"]["alice"]["position"]
    assert trader.next_sequence == report["members"]["alice"]["replies"] + 1
    assert report["counts"]["logins"] > 1 and report["counts"]["silenced"] > 0 and report["orders"]["sent"] > 30
    frames = sum(len(batch) for batch in open_capture(path).frames())
    assert frames == sum(line["packets"] - line["lost"] + 1 for line in report["lines"].values()) == report["packets_sent"]
    assert min(line["lost"] for line in report["lines"].values()) > 0
    assert mold.HEADER.decode(quiet_feed[1][0].recv(1 << 16))["sequence"] == 1


def test_a_capture_as_the_others(quiet_feed, tmp_path):
    path = tmp_path / "day.itch"
    path.write_bytes(gzip.decompress(sample_path().read_bytes())[:300_000])
    with command("--capture", path, "--symbols", "ALFA,BRAVO", "--start", "09:29:59", "--speed", 100_000, *quiet_feed[0]) as (process, _):
        out, err = process.communicate(timeout=3 * LIMIT)              # it ends with the capture
    report = json.loads(out)
    assert process.returncode == 0, err
    assert report["conserved"] and report["messages"] > 1000 and sum(report["volume"].values()) > 0


def test_it_ends_after_a_while_and_speaks_to_people(quiet_feed, capsys):
    with pytest.raises(SystemExit) as end:
        main(["exchange", "--port", "0", "--for", "200ms", "--rate", "1000", "--pre-open", "50ms", *quiet_feed[0]])
    out, err = capsys.readouterr()
    assert (end.value.code, err) == (0, "")
    for text in ("order entry at 127.0.0.1:", "phase Q\n", "shares traded", "line a: ", "trader: 2 replies, flat", "shares, orders and positions add up\n"):
        assert text in out


def test_what_does_not_add_up_is_told(quiet_feed, capsys, monkeypatch):
    monkeypatch.setattr("tickgate.exchange.conserved", lambda market: ["ALFA: one share too many"])
    with pytest.raises(SystemExit) as end:
        main(["exchange", "--port", "0", "--for", "10ms", "--quiet", *quiet_feed[0]])
    assert end.value.code == 1 and capsys.readouterr().out.endswith("does not add up: ALFA: one share too many\n")


@pytest.mark.parametrize(("arguments", "line"), [
    (["--symbols", "TOOLONGNAME"], "symbols must be different names of 1 to 8 capital letters, not TOOLONGNAME"),
    (["--user", "alice"], "'alice' must be NAME:PASSWORD or NAME:PASSWORD:PROTOCOL"),
    (["--user", "alice:secret:fix"], "member alice: protocol must be one of ouch50, ouch42, not fix"),
    (["--user", "alice:a", "--user", "alice:b"], "member alice is there already"),
    (["--user", "muchtoolong:a"], "member muchtoolong: name must have 1 to 6 ASCII characters, not 'muchtoolong'"),
    (["--feed-a", "nowhere:1"], "'nowhere:1' must be an IPv4 address and a port"),
    (["--feed-b", "127.0.0.1:0"], "the port must be 1 to 65535"),
    (["--capture", "/no/such/file"], "/no/such/file: offset 0: file: No such file or directory"),
    (["--host", "203.0.113.1"], "203.0.113.1:0: cannot listen or send: cannot assign requested address"),
    (["--interface", "nobody"], "nobody: cannot listen or send:"),
    (["--pcap", "/dev/null/x.pcap"], "cannot write"),
    (["--loss", "2"], "2.0 is not in the range 0<=x<=1"), (["--for", "soon"], "'soon' must be 0, or a span"),
])
def test_bad_input_is_one_line(capsys, arguments, line):
    with pytest.raises(SystemExit) as end:
        main(["exchange", "--port", "0", "--for", "1ms", *arguments])
    out, err = capsys.readouterr()
    assert end.value.code == 2 and err.startswith("tickgate: error: ") and line in err and err.count("\n") == 1, err


def test_a_port_that_is_taken(capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(SystemExit) as end:
        main(["exchange", "--for", "1ms", "--port", str(taken.getsockname()[1])])
    assert end.value.code == 2 and capsys.readouterr().err.endswith(": cannot listen or send: address already in use\n")


def test_help_names_every_fault(capsys):
    with pytest.raises(SystemExit) as end:
        main(["exchange", "--help"])
    out = capsys.readouterr().out
    assert end.value.code == 0 and os.linesep == "\n"
    for name in re.findall(r"--[a-z][a-z-]+", PAGE.read_text(encoding="utf-8")):
        assert name in out or name == "--help", name
