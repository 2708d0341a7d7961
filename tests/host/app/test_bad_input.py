"""Whatever a user gets wrong: one line on standard error, exit status 2, nothing half-written."""
import json
import os

import pytest

from tickgate.capture import open_capture, scan
from tickgate.report import page


def _refused(run, tmp_path, *arguments):
    """Run with both outputs asked for; returns the one line."""
    before = sorted(tmp_path.iterdir())
    status, out, err = run("replay", *arguments)
    assert status == 2 and out == ""
    assert err.startswith("tickgate: error: ") and err.count("\n") == 1 and err.endswith("\n")
    assert sorted(tmp_path.iterdir()) == before
    return err


@pytest.fixture
def untouched(card):
    """The card may not be touched."""
    device = card()
    yield
    assert device.value["control", "enable"] == 0 and device.sent == 0


@pytest.mark.parametrize(("content", "cause"), [
    (b"", "is empty"), (b"\xd4\xc3\xb2\xa1\2\0", "offset"), (b"hello, this is no capture at all" * 4, "not")])
def test_not_a_capture(run, tmp_path, untouched, content, cause):
    path = tmp_path / "bad.bin"
    path.write_bytes(content)
    err = _refused(run, tmp_path, path, "--json", tmp_path / "s.json", "--report", tmp_path / "r.html")
    assert str(path) in err and "offset" in err and cause in err


def test_paths_that_cannot_be_read(run, tmp_path, untouched):
    assert "No such file" in _refused(run, tmp_path, tmp_path / "none.itch")
    assert "is a directory" in _refused(run, tmp_path, tmp_path)


def test_capture_broken_in_the_middle(run, tmp_path, untouched, capture):
    raw = bytearray(capture.read_bytes())
    raw[len(raw) // 2:] = b"\xff" * (len(raw) - len(raw) // 2)
    path = tmp_path / "broken.itch"
    path.write_bytes(raw)
    assert "offset" in _refused(run, tmp_path, path, "--json", tmp_path / "s.json", "--quiet")


def test_symbols(run, tmp_path, untouched, capture):
    name = sorted(scan(open_capture(capture)).symbols.values())[0]
    err = _refused(run, tmp_path, capture, "--symbols", f"{name}X", "--json", tmp_path / "s.json")
    assert f"unknown symbol {name}X" in err and f"near it are {name}" in err
    assert "near it are" not in _refused(run, tmp_path, capture, "--symbols", "0000")
    assert "17 symbols asked for: preset demo holds 16" in _refused(run, tmp_path, capture, "--symbols", "top:17")
    assert "4 symbols asked for" not in _refused(run, tmp_path, capture, "--symbols", "top:0")
    for text in ("top:" + "9" * 6000, "top:" + "9" * 20, "N" * 6000):
        assert "--symbols top:999" in (err := _refused(run, tmp_path, capture, "--symbols", text)) or "unknown symbol NNN" in err
        assert len(err) < 300 + len(str(capture))
    for text in ("top:", "top:x", ",", "top:-1"):
        assert "--symbols" in _refused(run, tmp_path, capture, "--symbols", text)


def test_groups(run, tmp_path, untouched, capture):
    for text in ("1.2.3.4", "1.2.3.4:0", "1.2.3.4:65536", "1.2.3:5", "x:5", "1.2.3.4:x"):
        assert f"--group {text}: must be" in _refused(run, tmp_path, capture, "--group", text)
    many = [a for k in range(5) for a in ("--group", f"1.2.3.{k}:5")]
    assert "5 groups asked for: preset demo has 4 filters" in _refused(run, tmp_path, capture, *many)


def test_options(run, tmp_path, untouched, capture):
    for arguments in (("--preset", "huge"), ("--limit", 0), ("--limit", "x"), ("--spacing", "wide"), ("--no-such-option",)):
        assert arguments[0] in _refused(run, tmp_path, capture, *arguments)
    assert "CAPTURE" in _refused(run, tmp_path)


def test_unwritable_outputs_are_found_first(run, tmp_path, untouched, capture):
    (tmp_path / "file").write_text("x")
    for option in ("--json", "--report"):
        assert "is a directory" in _refused(run, tmp_path, capture, option, tmp_path)
        assert "cannot write" in _refused(run, tmp_path, capture, option, tmp_path / "file" / "below")
        assert f"cannot write {option[2:]}: the name of the file is empty" in _refused(run, tmp_path, capture, option, "")
        long = _refused(run, tmp_path, capture, option, tmp_path / ("n" * 5000))
        assert "file name too long" in long and len(long) < 400
    assert "it is the capture" in _refused(run, tmp_path, capture, "--json", capture)
    assert "two outputs" in _refused(run, tmp_path, capture, "--json", tmp_path / "a", "--report", tmp_path / "a")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_write_protected_directory(run, tmp_path, untouched, capture):
    tmp_path.chmod(0o500)
    assert "ermission denied" in _refused(run, tmp_path, capture, "--json", tmp_path / "s.json")


def test_report_without_its_extra(run, tmp_path, untouched, capture, monkeypatch):
    monkeypatch.setattr(page, "NEEDS", ("no_such_package_here",))
    assert "tickgate[report]" in _refused(run, tmp_path, capture, "--report", tmp_path / "r.html")


def test_no_such_card(run, tmp_path, capture):
    assert "no device 'nothing'" in _refused(run, tmp_path, capture, "--card", "nothing", "--json", tmp_path / "s.json")


def test_card_with_another_size(run, tmp_path, capture, card):
    card(preset="small")
    assert "card loop is not preset demo: it has symbols 4," in _refused(run, tmp_path, capture, "--symbols", "top:3", "--preset", "demo")


def test_interrupt_leaves_nothing(run, tmp_path, capture, card):
    device = card()

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    device.send = interrupt
    status, out, err = run("replay", capture, "--json", tmp_path / "s.json", "--report", tmp_path / "r.html")
    assert (status, out, err.strip()) == (130, "", "tickgate: interrupted") and not list(tmp_path.iterdir()) and device.closed


def test_old_output_survives_a_failed_run(run, tmp_path, capture, card):
    card()
    old = tmp_path / "s.json"
    old.write_text("old")
    _refused(run, tmp_path, capture, "--json", old, "--symbols", "NOSUCH")
    assert old.read_text() == "old"
    assert run("replay", capture, "--json", old, "--quiet")[0] == 0 and json.loads(old.read_text())["status"] == "equal"


def test_directories_of_outputs_are_made_and_pipes_are_written(run, tmp_path, capture, card):
    card()
    assert run("replay", capture, "--json", tmp_path / "a" / "b" / "s.json", "--quiet")[0] == 0
    assert (tmp_path / "a" / "b" / "s.json").exists()
    card()
    assert run("replay", capture, "--json", os.devnull, "--quiet")[0] == 0 and not os.path.isfile(os.devnull)


def test_longest_name(run, tmp_path, capture, card):
    card()
    assert run("replay", capture, "--json", tmp_path / ("n" * 255), "--quiet") == (0, "", "")
    assert [len(p.name) for p in tmp_path.iterdir()] == [255]


def test_version_and_help(run):
    assert run("--version")[0] == 0 and run("--version")[1].startswith("tickgate ")
    assert run("replay", "--help")[0] == 0
