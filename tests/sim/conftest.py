import sys
from pathlib import Path

import pytest

from tickgate_sim.virtual import Design

HERE = str(Path(__file__).parent)


@pytest.fixture
def importable(monkeypatch):
    """``standin`` can be imported, here and by the process that emits Verilog."""
    monkeypatch.syspath_prepend(HERE)
    yield
    sys.modules.pop("standin", None)


@pytest.fixture
def design(importable):
    return Design(preset="small", core="standin:Recorder", memories="standin:verilog_sources")
