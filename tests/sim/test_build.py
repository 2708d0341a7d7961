"""How the virtual card is made and cached."""
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
    assert {path.name for path in compiled[0].iterdir()} == {"core.v", "core.h", "noise.v"}
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
