"""scripts/setup.sh on machines where something is missing: one line that names the package to install, and no environment."""
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BASE = ("sh", "dirname", "cat", "cmp", "rm", "mkdir", "grep", "tail", "pwd", "perl", "make", "g++", "cc1plus", "as", "ld")


@pytest.fixture
def machine(tmp_path):
    """A copy of what set-up needs, with a PATH of its own: ``machine.put(name, text)`` adds a program, ``machine.run()`` runs set-up."""
    class Machine:
        bin = tmp_path / "bin"
        root = tmp_path / "root"

        def put(self, name, text):
            path = self.bin / name
            path.unlink(missing_ok=True)
            path.write_text(f"#!/bin/sh\n{text}\n")
            path.chmod(0o755)

        def run(self, *arguments):
            done = subprocess.run([self.root / "scripts" / "setup.sh", *arguments], env={"PATH": str(self.bin)}, capture_output=True, text=True, timeout=60)
            return done.returncode, done.stderr.splitlines()

    made = Machine()
    made.bin.mkdir()
    for folder in ("scripts", "requirements"):
        shutil.copytree(ROOT / folder, made.root / folder)
    shutil.copy(ROOT / "pyproject.toml", made.root)
    for tool in BASE:
        if shutil.which(tool):
            (made.bin / tool).symlink_to(shutil.which(tool))
    made.put("python3", f'exec "{sys.executable}" "$@"')
    return made


@pytest.mark.parametrize("tool, line", [
    ("perl", "perl is missing: apt install perl (Debian), dnf install perl (Fedora)"),
    ("make", "make is missing: apt install make (Debian), dnf install make (Fedora)"),
    ("g++", "a C++ compiler is missing: apt install g++ (Debian), dnf install gcc-c++ (Fedora)"),
    ("python3", "Python 3.11 or newer is missing: apt install python3 python3-venv (Debian 12 or newer), dnf install python3 (Fedora)")])
def test_missing_tool(machine, tool, line):
    (machine.bin / tool).unlink()
    assert machine.run() == (1, [f"tickgate: error: {line}"])
    assert not (machine.root / ".venv").exists()


def test_old_compiler(machine):
    machine.put("g++", "exit 1")
    status, lines = machine.run()
    assert status == 1 and lines == ["tickgate: error: the C++ compiler g++ cannot compile C++17: apt install g++ (Debian), dnf install gcc-c++ (Fedora)"]


def old(version):
    """A Python that says it is of this version."""
    return f'exec "{sys.executable}" -c "import sys; sys.version_info = {version}; sys.argv.pop(0); exec(sys.argv[1])" "$@"'


def test_old_python(machine):
    machine.put("python3", old((3, 10, 9)))
    status, lines = machine.run()
    assert status == 1 and len(lines) == 1 and "Python 3.11 or newer is missing" in lines[0]
    machine.put("python3", old((3, 11, 0)))
    assert "is missing" not in machine.run()[1][-1]             # it goes on, and fails later


def test_newest_python_that_works_is_taken(machine):
    machine.put("python3.13", "exit 127")                       # as a version manager's shim of a version that is not installed
    machine.put("python3.12", f'[ "$2" = "import ensurepip, venv" ] && exit 1; exec "{sys.executable}" "$@"')
    status, lines = machine.run()
    assert status == 1 and len(lines) == 1 and lines[0].startswith("tickgate: error: python3.12 cannot make virtual environments: apt install python3.")
    assert lines[0].endswith("-venv (Debian), dnf install python3 (Fedora)")


@pytest.mark.parametrize("given, line", [("python9", "PYTHON=python9 is not there"), ("g++", "PYTHON=g++ is not Python 3.11 or newer")])
def test_python_that_was_asked_for(machine, given, line):
    assert machine.run(given) == (1, [f"tickgate: error: {line}"])


def test_done_once(machine):
    """venv and pip are replaced by a program that notes its calls."""
    calls = machine.root / "calls"
    fake = f'echo "$*" >>"{calls}"; exit 0'
    machine.put("fake", fake)
    machine.put("python3", f'[ "$1 $2" = "-m venv" ] && {{ mkdir -p .venv/bin; cat "{machine.bin}/fake" >.venv/bin/python; chmod +x .venv/bin/python; '
                           f'{fake}; }}; exec "{sys.executable}" "$@"')
    os.symlink(shutil.which("chmod"), machine.bin / "chmod")

    def run():
        calls.write_text("")
        assert machine.run()[0] == 0
        return [line for line in calls.read_text().splitlines() if line.startswith("-m ")]

    first = run()
    assert [line.split()[1] for line in first] == ["venv", "pip", "pip"] and "-r requirements/dev.lock" in first[1] and first[2].endswith("-e .")
    assert run() == []
    with open(machine.root / "requirements" / "dev.lock", "a") as lock:
        lock.write("one-more==1.0\n")
    assert [line.split()[1] for line in run()] == ["pip", "pip"]
    assert run() == []
