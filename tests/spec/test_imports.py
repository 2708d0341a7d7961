"""Who may import whom: the rules of the house, read from the source of every file.

- ``tickgate.spec`` imports nothing of ours but itself.
- ``tickgate`` never imports ``tickgate_hdl`` or ``tickgate_sim``: it runs without any HDL package. Its commands, ``app``, are on top of the rest.
- ``tickgate_hdl`` imports ``tickgate.spec`` and itself, nothing else of ours. Within it a hop imports ``stream``, ``board.memory`` and the hop before
  it; what is beside the path (``csr``, ``dma``) is for ``board``.
- ``tickgate_sim`` may import both.
"""
import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = {"tickgate": "host", "tickgate_hdl": "hdl", "tickgate_sim": "sim"}

#: What a room of ``tickgate_hdl`` may import from other rooms.
SHARED = {"stream", "board.memory"}
ROOMS = {
    "stream": set(),
    "net": set(),
    "feed": {"net"},
    "book": {"feed", "net.messages"},  # the payload of gaps, which go past the feed
    "csr": set(),
    "dma": {"book", "csr.fields"},     # its registers are ports of the shape the bank gives them
    "board": {"net", "feed", "book", "csr", "dma", "board"},
}


def imports(source, package):
    """Absolute names of the modules that ``source``, of a module in ``package``, imports."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = package.split(".")
                base = ".".join([*parts[:len(parts) - node.level + 1], *filter(None, [base])])
            # `from a import b`: b may be a module
            yield from (f"{base}.{alias.name}" for alias in node.names)


def inside(name, package):
    return name == package or name.startswith(package + ".")


def complaints(module, source, package):
    """Imports of ours that ``module`` (dotted name) must not have."""
    for name in imports(source, package):
        top = name.split(".")[0]
        if top not in SOURCES:
            continue
        if inside(module, "tickgate.spec"):
            good = inside(name, "tickgate.spec")
        elif inside(module, "tickgate"):
            good = top == "tickgate" and (inside(module, "tickgate.app") or not inside(name, "tickgate.app"))
        elif inside(module, "tickgate_hdl"):
            good = inside(name, "tickgate.spec") or top == "tickgate_hdl" and _neighbours(module, name)
        else:
            good = True
        if not good:
            yield f"{module} imports {name}"


def _neighbours(module, name):
    parts = module.split(".")
    if len(parts) == 1:
        return False   # the package itself imports no room
    room = parts[1]
    allowed = {room, *ROOMS[room], *(SHARED if room != "stream" else ())}
    return any(inside(name, f"tickgate_hdl.{other}") for other in allowed)


def modules():
    for package, folder in SOURCES.items():
        for path in sorted(Path(ROOT, folder, package).rglob("*.py")):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            is_package = parts[-1] == "__init__"
            module = ".".join(parts[:-1] if is_package else parts)
            yield module, path, module if is_package else module.rpartition(".")[0]


def test_everybody_keeps_the_rules():
    found, seen = [], 0
    for module, path, package in modules():
        found += complaints(module, path.read_text(encoding="utf-8"), package)
        seen += 1
    assert seen > 30
    assert not found, "\n".join(found)


def test_every_room_has_its_rule():
    rooms = {path.name for path in Path(ROOT, "hdl/tickgate_hdl").iterdir() if path.is_dir() and any(path.glob("*.py"))}
    assert rooms <= ROOMS.keys()


@pytest.mark.parametrize("module, source, good", [
    ("tickgate.spec.a", "from .layout import Field", True),
    ("tickgate.spec.a", "import tickgate.spec.layout", True),
    ("tickgate.spec.a", "from ..twin import book", False),
    ("tickgate.spec.a", "import tickgate.twin", False),
    ("tickgate.twin.a", "from tickgate.spec import records", True),
    ("tickgate.twin.a", "def f():\n    import tickgate_hdl", False),
    ("tickgate.device.a", "from tickgate_sim.virtual import card", False),
    ("tickgate_hdl.net.a", "from tickgate.spec.ethernet import IPV4", True),
    ("tickgate_hdl.net.a", "from tickgate.twin import net", False),
    ("tickgate_hdl.net.a", "import tickgate_sim.stream", False),
    ("tickgate_hdl.net.a", "from ..stream.join import connect", True),
    ("tickgate_hdl.net.a", "from ..feed import itch", False),
    ("tickgate_hdl.feed.a", "from ..net.words import FrameWord", True),
    ("tickgate_hdl.book.a", "from ..net.words import FrameWord", False),
    ("tickgate_hdl.book.a", "from ..board.memory import DeepMemory", True),
    ("tickgate_hdl.book.a", "from ..board import core", False),
    ("tickgate_hdl.book.a", "from ..csr.bank import Bank", False),
    ("tickgate_hdl.book.a", "from ..dma.ring import EventRing", False),
    ("tickgate_hdl.board.core", "from ..dma.ring import EventRing", True),
    ("tickgate_hdl.stream.a", "from ..net import words", False),
    ("tickgate_sim.env.a", "import tickgate_hdl.net, tickgate.twin", True),
])
def test_the_rules_themselves(module, source, good):
    assert (not list(complaints(module, source, module.rpartition(".")[0]))) == good
