import pytest

from tickgate.app.main import main
from tickgate.capture.synthetic import day

from .loop import LoopDevice

SEED = 5


@pytest.fixture(scope="session")
def capture(tmp_path_factory):
    """A made-up day of four symbols."""
    path = tmp_path_factory.mktemp("capture") / "day.itch"
    path.write_bytes(day(SEED, 4, 1500))
    return path


@pytest.fixture
def card(monkeypatch):
    """``card(**options)`` makes the loop device the one that ``tickgate replay`` opens."""
    def use(**options):
        device = LoopDevice(**options)
        monkeypatch.setattr("tickgate.device.open_device", lambda spec: device)
        return device

    return use


@pytest.fixture
def run(capsys):
    """``run(*arguments)`` runs the command; returns exit status, standard output and standard error."""
    def command(*arguments):
        with pytest.raises(SystemExit) as end:
            main([str(a) for a in arguments])
        out, err = capsys.readouterr()
        return end.value.code, out, err

    return command
