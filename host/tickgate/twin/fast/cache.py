"""numba keeps a compiled function for as long as its own source file stays the same. Ours have parts from other files in them, which must count too."""
from pathlib import Path

_HERE = Path(__file__).parent
_SPEC = _HERE.parents[1] / "spec"
#: Files that are compiled in.
SOURCES = (*sorted(_HERE.glob("*.py")), *(_SPEC / f"{name}.py" for name in ("__init__", "itch50", "layout", "moldudp64", "records")))


def forget_stale(folder=_HERE / "__pycache__", sources=SOURCES):
    """Delete what numba kept in ``folder`` before one of the ``sources`` last changed. What cannot be deleted stays."""
    try:
        changed = max(source.stat().st_mtime_ns for source in sources)
        for kept in folder.glob("*.nb[ic]"):
            if kept.stat().st_mtime_ns < changed:
                kept.unlink(missing_ok=True)
    except OSError:      # not ours to write, or another process was faster
        pass
