"""Standard input and compressed files as captures."""
import io
import sys
import types

import pytest

from tickgate.capture import CaptureError, open_capture, write_binaryfile
from tickgate.capture.source import KEPT


def stdin(monkeypatch, raw):
    monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(buffer=io.BytesIO(raw)))


def test_a_short_stream_may_be_read_again(tmp_path, monkeypatch, messages):
    write_binaryfile(tmp_path / "x", messages)
    wanted = [f for batch in open_capture(tmp_path / "x").frames() for f in batch]
    stdin(monkeypatch, (tmp_path / "x").read_bytes())
    capture = open_capture("-")
    assert capture.size is None
    for _ in range(2):
        assert [f for batch in capture.frames() for f in batch] == wanted and wanted
    assert [f for batch in open_capture("-").frames() for f in batch] == wanted     # the same stream for all


def test_a_long_stream_is_read_once(tmp_path, monkeypatch, messages):
    write_binaryfile(tmp_path / "x", messages * (1 + KEPT // 500))
    raw = (tmp_path / "x").read_bytes()
    assert len(raw) > KEPT
    stdin(monkeypatch, raw)
    capture = open_capture("-")
    assert sum(map(len, (b.offset for b in capture.frames()))) and capture.report.messages == len(messages) * (1 + KEPT // 500)
    with pytest.raises(CaptureError, match="only once"):
        next(capture.frames())


def test_zstd(tmp_path, monkeypatch, messages):
    zstandard = pytest.importorskip("zstandard")
    write_binaryfile(tmp_path / "x", messages)
    wanted = [f for batch in open_capture(tmp_path / "x").frames() for f in batch]
    (tmp_path / "x.zst").write_bytes(zstandard.compress((tmp_path / "x").read_bytes()))
    assert [f for batch in open_capture(tmp_path / "x.zst").frames() for f in batch] == wanted
    (tmp_path / "bad.zst").write_bytes((tmp_path / "x.zst").read_bytes()[:4] + b"\xff" * 20)
    with pytest.raises(CaptureError, match="bad.zst: offset 0: compressed stream"):
        open_capture(tmp_path / "bad.zst")
    monkeypatch.setattr("tickgate.capture.source._zstandard", None)
    with pytest.raises(CaptureError, match=r"tickgate\[dbn\]"):
        open_capture(tmp_path / "x.zst")
