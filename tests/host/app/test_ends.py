"""However the command ends, it says so in one line, with its exit status, and leaves nothing half-written: the process as a shell sees it."""
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
#: The command with the loop device as its card; ``{card}`` may do something to it first.
PROGRAM = """
import os, signal, sys, time
sys.path.insert(0, {here!r})
import loop, tickgate.device
device = loop.LoopDevice()
{card}
tickgate.device.open_device = lambda spec: device
from tickgate.app.main import main
main()
"""


@pytest.fixture
def shell(tmp_path):
    """``shell(text, card="", **environment)`` runs ``text``, in which ``$tickgate`` is the command; returns exit status, output and errors."""
    def run(text, card="", **environment):
        program = tmp_path / "program.py"
        program.write_text(PROGRAM.format(here=str(HERE), card=card))
        environment = {**os.environ, "PYTHONUNBUFFERED": "", "tickgate": f"{sys.executable} {program}", **environment}
        done = subprocess.run(["sh", "-c", text], env=environment, capture_output=True, timeout=60)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    return run


@pytest.mark.parametrize(("name", "status", "line"), [("SIGTERM", 143, ""), ("SIGHUP", 129, ""), ("SIGINT", 130, "tickgate: interrupted\n")])
def test_signals_leave_nothing(shell, capture, tmp_path, name, status, line):
    out = tmp_path / "out"
    out.mkdir()
    card = f"device.send = lambda *_, **__: (print(*os.listdir({str(out)!r})), os.kill(os.getpid(), signal.{name}), time.sleep(0.3))"
    ended, seen, err = shell(f"$tickgate replay {capture} --json {out}/s.json --report {out}/r.html", card)
    assert (ended, err) == (status, line) and seen.count(".part") == 2 and not list(out.iterdir())


def test_hang_up_that_is_ignored(shell, capture):
    card = "send = device.send\ndevice.send = lambda *a, **k: (os.kill(os.getpid(), signal.SIGHUP), send(*a, **k))[1]"
    assert shell(f"trap '' HUP; $tickgate replay {capture} --quiet", card) == (0, "", "")


def test_interrupt_while_importing(tmp_path):
    code = ("import sys\nclass Finder:\n  def find_spec(self, name, *_):\n    if name == 'click': raise KeyboardInterrupt\n"
            "sys.meta_path.insert(0, Finder())\nfrom tickgate.app.main import main\nmain(['--help'])")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "tickgate: interrupted\n")


def test_error_of_ours_is_one_line(run, card, capture, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise ZeroDivisionError("nobody foresaw\nthis")

    for debug in (False, True):
        device = card()
        device.send = fail
        if debug:
            monkeypatch.setenv("TICKGATE_DEBUG", "1")
        status, out, err = run("replay", capture, "--json", tmp_path / "s.json", "--quiet")
        line = "tickgate: internal error: ZeroDivisionError: nobody foresaw this; please report it; TICKGATE_DEBUG=1 shows the traceback\n"
        assert (status, out) == (70, "") and (err.startswith("Traceback") and err.endswith(line) if debug else err == line)
        assert not list(tmp_path.iterdir())


BROKEN = "device.spoil = lambda rows: rows[:-1]"


def test_standard_output_that_takes_nothing(shell, capture, tmp_path):
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")
    full = "tickgate: error: cannot read or write: no space left on device\n"
    assert shell(f"$tickgate replay {capture} >/dev/full") == (2, "", full)
    assert shell("$tickgate --help >/dev/full") == (2, "", full)
    assert shell(f"$tickgate bbo {capture} --quiet >/dev/full")[::2] == (2, full)
    assert shell(f"$tickgate replay {capture} 2>/dev/full", BROKEN)[0] == 1
    assert shell(f"$tickgate replay {capture}x 2>/dev/full") == (2, "", "")


def test_closed_standard_streams(shell, capture, tmp_path):
    out = tmp_path / "s.json"
    assert shell(f"$tickgate replay {capture} --json {out} >&- 2>&- <&-") == (0, "", "")
    assert json.loads(out.read_text())["status"] == "equal"   # and not what was meant for standard output
    assert shell(f"$tickgate replay {capture} >&-", BROKEN)[0] == 1
    assert shell("$tickgate count - <&-")[0] == 2


def test_reader_that_goes_away(shell, capture, tmp_path):
    short = f"replay {capture} --limit 9 --symbols top:1"   # the output fits a buffer, and is found not to be wanted at the end
    for command, card, status in ((f"replay {capture}", "", 0), (f"replay {capture}", BROKEN, 1), (short, BROKEN, 1), ("--help", "", 0), ("", "", 0)):
        # the reader has ended before anything is written: its end of the pipe is closed by then
        code, out, err = shell(f"cd {tmp_path}; mkfifo $$.pipe; true <$$.pipe & exec 4>$$.pipe; rm $$.pipe; wait; $tickgate {command} >&4", card)
        assert code == status and out == "" and "Traceback" not in err and "rror" not in err


def test_characters_that_the_user_s_encoding_lacks(shell, capture):
    status, out, err = shell(f"$tickgate replay {capture}", PYTHONIOENCODING="ascii")
    assert (status, err) == (0, "") and "last needed byte \\u2192 record" in out


def test_no_command_is_a_question_for_help(run):
    status, out, err = run()
    assert (status, err) == (0, "") and out.startswith("Usage: tickgate") and "\n  replay " in out
