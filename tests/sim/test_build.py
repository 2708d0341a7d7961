"""How the virtual card is made and cached."""
import errno
import os
import shutil
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tickgate.device import DeviceError
from tickgate_sim.virtual import build

HERE = Path(__file__).parent


def test_second_time_starts_at_once(design, monkeypatch):
    made = build.library(design)
    assert made == build.build_root() / made.parent.name / build.LIBRARY and made.stat().st_size > 10_000
    monkeypatch.setattr(build, "_run", lambda *args, **options: pytest.fail("built again"))
    began = time.monotonic()
    assert build.library(design) == made
    assert time.monotonic() - began < 1


def test_new_source_or_design_is_another_library(design, monkeypatch, tmp_path):
    """Verilog is really emitted; compiling is replaced by a file."""
    folder, root = tmp_path / "sources", tmp_path / "root"
    package = Path(shutil.copytree(HERE / "standin", folder / "standin"))
    monkeypatch.syspath_prepend(str(folder))
    compiled = []

    def compile(design, verilog, target):
        target.mkdir()
        (target / build.LIBRARY).write_bytes(b"")
        compiled.append(verilog)

    monkeypatch.setattr(build, "_compile", compile)
    first = build.library(design, root)
    text = (package / "__init__.py").read_text()
    (package / "__init__.py").write_text(text + "# a comment: the same Verilog, so the same library\n")
    assert build.library(design, root) == first and len(compiled) == 1
    (package / "__init__.py").write_text(text.replace("depth=1024", "depth=512"))
    second = build.library(design, root)
    (package / "noise.v").write_text((package / "noise.v").read_text().replace("[31:0]", "[30:0]"))
    third = build.library(design, root)
    traced = build.library(replace(design, traced=True), root)
    monkeypatch.setattr(build, "COMPILE", (*build.COMPILE, "-g"))
    flagged = build.library(design, root)
    assert len({first, second, third, traced, flagged}) == len(compiled) == 5
    assert {path.name for path in compiled[0].iterdir()} == {"core.v", "core.h", "noise.v", build.STAMP}
    assert not [path for path in root.iterdir() if not path.name.startswith(("verilog-", "card-"))]


def test_one_builds_while_the_others_wait(tmp_path):
    made, got = [], []

    def make(folder):
        folder.mkdir()
        time.sleep(0.1)
        (folder / "whole").touch()
        made.append(folder)

    def ask():
        got.append((build._cached(tmp_path, "card", "key", make) / "whole").exists())

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == [True] * 8 and len(made) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["card-key"]


def test_failed_build_leaves_nothing_half_made(tmp_path):
    def fail(folder):
        folder.mkdir()
        raise DeviceError("no")

    with pytest.raises(DeviceError):
        build._cached(tmp_path, "card", "key", fail)
    assert not [path for path in tmp_path.iterdir() if path.is_dir()]
    assert build._cached(tmp_path, "card", "key", Path.mkdir).is_dir()


def test_damaged_folder_is_made_again(tmp_path):
    made = []

    def make(folder):
        folder.mkdir()
        (folder / "card.so").write_bytes(b"library" * 100)
        made.append(folder)

    def damage(change):
        change(build._cached(tmp_path, "card", "key", make))
        folder = build._cached(tmp_path, "card", "key", make)
        return (folder / "card.so").read_bytes() == b"library" * 100

    for n, change in enumerate((lambda folder: os.truncate(folder / "card.so", 300), lambda folder: (folder / "card.so").write_bytes(b"Library" * 100),
                                lambda folder: (folder / "card.so").unlink(), lambda folder: (folder / "new").touch(),
                                lambda folder: (folder / build.STAMP).unlink())):
        assert damage(change) and len(made) == n + 2
    assert damage(lambda folder: None) and len(made) == 6
    assert [path.name for path in tmp_path.iterdir()] == ["card-key"]


def test_what_dead_processes_left_is_swept(tmp_path):
    for name in ("card-dead", "verilog-nolock", "card-alive"):
        (tmp_path / f"{name}{build.WORK}" / "obj").mkdir(parents=True)
    (tmp_path / f"card-dead{build.LOCK}").touch()
    (tmp_path / "card-0123").mkdir()
    with build._locked(tmp_path / f"card-alive{build.LOCK}"):
        build._sweep(tmp_path)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["card-0123", f"card-alive{build.LOCK}", f"card-alive{build.WORK}"]
    build._sweep(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["card-0123"]


def test_folder_that_cannot_be_written_is_one_line(design, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(DeviceError, match="could not be built: .*/file: file exists$"):
        build.library(design, tmp_path / "file")
    (tmp_path / f"verilog-{build._sources_key(design)}{build.LOCK}").mkdir()   # as good as a read-only file system
    with pytest.raises(DeviceError, match=r"could not be built: .*lock: is a directory$"):
        build.library(design, tmp_path)


def test_full_disk_is_the_cause_that_is_told(tmp_path, monkeypatch):
    work = tmp_path / "card.work"
    work.mkdir()
    with pytest.raises(DeviceError, match="status 1: as: cannot write: No space left on device"):
        build._run(["sh", "-c", "echo x: error: other; echo as: cannot write: No space left on device; exit 1"], work / "verilator.log")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(10, 10, 0))
    monkeypatch.setattr(shutil, "copy", lambda *_: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full")))
    with pytest.raises(DeviceError, match="status 1: .*: No space left on device$"):
        build._run(["false"], work / "verilator.log")


def test_children_end_with_the_build(tmp_path, monkeypatch):
    """Ctrl-C or a signal in the middle of compiling: nothing goes on writing."""
    class Stopped(BaseException):
        pass

    def stop(process):
        while not (tmp_path / "child").exists():
            time.sleep(0.01)
        raise Stopped

    monkeypatch.setattr(build.subprocess.Popen, "wait", stop, raising=True)
    monkeypatch.setattr(build.subprocess.Popen, "__exit__", lambda self, *_: None)
    with pytest.raises(Stopped):
        build._run(["sh", "-c", f"sleep 60 & echo $! >{tmp_path}/pid; mv {tmp_path}/pid {tmp_path}/child; wait"], tmp_path / "log")
    child = int((tmp_path / "child").read_text())
    end = time.monotonic() + 10
    while _runs(child):
        assert time.monotonic() < end
        time.sleep(0.01)


def _runs(process):
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_failure_is_one_line_with_the_compilers_words(design, tmp_path):
    with pytest.raises(DeviceError) as caught:
        build.library(replace(design, core="standin:Nobody"), tmp_path)
    assert "emit ended with status 1: AttributeError" in str(caught.value) and "\n" not in str(caught.value)
    assert "Nobody" in (tmp_path / "emit.log").read_text()


@pytest.mark.parametrize("tools, words", [
    ((), "needs make: apt install make"),
    (("make",), "needs perl: apt install perl"),
    (("make", "perl"), r"needs a C\+\+ compiler: apt install g\+\+ \(Debian\), dnf install gcc-c\+\+ \(Fedora\)")])
def test_missing_tool_names_its_package(design, monkeypatch, tmp_path, tools, words):
    for tool in tools:
        (tmp_path / tool).symlink_to(shutil.which(tool))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(DeviceError, match=words):
        build._compiler()


def test_waves_name_the_headers_they_need(design, monkeypatch, tmp_path):
    monkeypatch.setattr(build, "_compiler", lambda: shutil.which("false"))      # as a compiler that does not find them
    with pytest.raises(DeviceError, match="apt install liblz4-dev zlib1g-dev"):
        build._compile(design=replace(design, traced=True), verilog=tmp_path, folder=tmp_path / "new")


def test_missing_package_names_the_extra(design, tmp_path):
    with pytest.raises(DeviceError, match=r"needs the Python package 'package_that_nobody_has': pip install 'tickgate\[sim\]'"):
        build.library(replace(design, core="package_that_nobody_has:Core"), tmp_path)


def test_where_builds_go(monkeypatch, tmp_path):
    monkeypatch.delenv("TICKGATE_BUILD", raising=False)
    assert build.build_root() == HERE.parents[1] / "build" / "virtual"
    monkeypatch.setattr(build, "HERE", tmp_path / "site-packages" / "tickgate_sim" / "virtual")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert build.build_root() == tmp_path / "cache" / "tickgate" / "virtual"
    monkeypatch.setenv("TICKGATE_BUILD", str(tmp_path / "elsewhere"))
    assert build.build_root() == tmp_path / "elsewhere" / "virtual"
