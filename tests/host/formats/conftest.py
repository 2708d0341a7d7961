import pytest

from tickgate.app.main import main
from tickgate.capture.synthetic import day
from tickgate.formats import open_source

SEED, SYMBOLS, MESSAGES = 11, 3, 4000


@pytest.fixture(scope="session")
def itch(tmp_path_factory):
    """A made-up day of three symbols, named so that its day is known."""
    path = tmp_path_factory.mktemp("day") / "2026-03-02.itch"
    path.write_bytes(day(SEED, SYMBOLS, MESSAGES))
    print(f"seed {SEED}")
    return path


@pytest.fixture
def run(capfdbinary):
    """``run(*arguments)`` runs ``tickgate convert``; returns exit status, standard output (bytes) and standard error."""
    def command(*arguments):
        capfdbinary.readouterr()
        with pytest.raises(SystemExit) as end:
            main(["convert", *(str(a) for a in arguments), "--quiet"])
        out, err = capfdbinary.readouterr()
        return end.value.code, out, err.decode()

    return command


@pytest.fixture
def small_pieces(monkeypatch):
    """Files come in many small pieces."""
    monkeypatch.setattr("tickgate.capture.messages.VIEW", 700)
    monkeypatch.setattr("tickgate.capture.source.CHUNK", 1009)


@pytest.fixture
def refused(run, tmp_path):
    """``refused(*arguments)`` must end with status 2, one line, and no file more than before; returns the line."""
    def command(*arguments):
        before = sorted(tmp_path.rglob("*"))
        status, out, err = run(*arguments)
        assert status == 2 and out == b"", err
        assert err.startswith("tickgate: error: ") and err.count("\n") == 1 and err.endswith("\n")
        assert sorted(tmp_path.rglob("*")) == before
        return err

    return command


@pytest.fixture
def read():
    """``read(path)``: all events of a file, one array, and its source."""
    import numpy as np

    def events(path, **options):
        source = open_source(path, **options)
        parts = list(source.events())
        assert parts, "nothing was read"
        return np.concatenate(parts), source

    return events
