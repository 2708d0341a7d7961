"""What every test may count on: the tools' environment, and the real captures when they are there."""
import os
import signal
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# Verilog is the same everywhere only with Amaranth's own yosys and a fixed order of sets; both are for the processes that tests start.
os.environ.setdefault("AMARANTH_USE_YOSYS", "builtin")
os.environ.setdefault("PYTHONHASHSEED", "0")

# A shell starts what runs in its background with SIGINT ignored, and children inherit that: tests of Ctrl-C would wait for ever.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_report_header():
    return f"real captures: {data_folder()}{'' if data_folder().is_dir() else ' (absent: their tests skip)'}"


def data_folder():
    """Folder of the real captures: TICKGATE_DATA, or ``../shared/data`` beside the checkout."""
    return Path(os.environ.get("TICKGATE_DATA") or ROOT / ".." / "shared" / "data").resolve()


@pytest.fixture(scope="session")
def real_data():
    """``real_data("itch/name")`` is the path of a real capture; the test skips when it is absent."""
    def find(name):
        path = data_folder() / name
        if not path.exists():
            pytest.skip(f"{name} is not in {data_folder()} (TICKGATE_DATA)")
        return path
    return find
