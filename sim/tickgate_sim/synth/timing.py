"""Estimate of the clock before placement, from a netlist that yosys mapped to UltraScale+ (``synth_xilinx -family xcup``).

Every path between two registers is walked. A cell costs what RapidWright's public -2 data say (LUT input to output 50 to 105 ps by its inputs, register
clock to output 79, set-up -25, MUXF7 70, CARRY 150 in and 12 on, distributed RAM 312, block RAM 900, ultra RAM 1000 with their output registers). A net
costs by its fan-out: the means of 104 routed nets between sites in public Vivado reports (xczu3eg -1, scaled by 0.82 to -2): 183 ps to one load, 203 up
to 4, 206 up to 16, 356 up to 64, 430 beyond. 45 ps are clock uncertainty and skew. ``typical`` takes the means; ``pessimistic`` takes 1.35 times on
every net, for a device that is full or a path that is long.

What it cannot know is placement: a memory that fills a whole region has wires far longer than the mean. It is an estimate, good for finding what is too
deep, and no promise that Vivado closes timing.
"""
import re
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass

LUT = {1: 50, 2: 75, 3: 90, 4: 95, 5: 100, 6: 105}      # mean of the pins: no swap to the fast one
CARRY, CARRY_ON, MUXF, INSIDE_SLICE = 150, 12, 70, 23   # into a carry chain, along it, a multiplexer of LUTs, the wire to it
NETS = ((1, 183), (4, 203), (16, 206), (64, 356), (1 << 30, 430))
CLOCK_TO_OUT, SET_UP, SET_UP_CONTROL, SET_UP_MEMORY, UNCERTAINTY = 79, -25, 61, 200, 45
DISTRIBUTED, DISTRIBUTED_READ, BLOCK, ULTRA = 312, 150, 900, 1000
CORNERS = {"typical": 1.0, "pessimistic": 1.35}
CLOCK_PINS = {"C", "CLK", "WCLK", "clka", "clkb"}


@dataclass(frozen=True)
class Path:
    """A worst path to one register or memory."""
    period: int      # ps
    levels: int      # LUTs, distributed RAMs and entries into carry chains
    start: str       # names of nets
    end: str
    cells: tuple     # types from start to end


@dataclass(frozen=True)
class Estimate:
    """Of one corner. ``worst``: paths, the slowest first, one for each pair of names, whatever numbers are in them; ``deepest``: most levels anywhere."""
    mhz: float
    deepest: int
    worst: tuple


def _kind(cell):
    t = cell["type"]
    if t.startswith(("FD", "LD")):
        return "register"
    if t.startswith(("RAM32", "RAM64", "RAM128", "RAM256")):
        return "distributed"
    if "xpm_memory" in t or t.startswith(("RAMB", "URAM")):
        return "memory"
    if t.startswith("SRL"):
        return "shift"
    return "logic"


def _memory_out(cell):
    return ULTRA if "ultra" in cell["type"] or cell.get("parameters", {}).get("MEMORY_PRIMITIVE") == "ultra" else BLOCK


class Netlist:
    """Cells and nets of the module ``top`` of a netlist as yosys' ``write_json`` writes it."""

    def __init__(self, netlist, top):
        self.module = netlist["modules"][top]
        self.cells = self.module["cells"]
        self.driver, self.loads = {}, Counter()
        for name, cell in self.cells.items():
            for port, bits in cell["connections"].items():
                output = cell["port_directions"].get(port) == "output"
                for bit in bits:
                    if isinstance(bit, int):
                        if output:
                            self.driver[bit] = (name, port)
                        else:
                            self.loads[bit] += 1
        self.kinds = {name: _kind(cell) for name, cell in self.cells.items()}

    def names(self):
        """Shortest readable name of each net's bit."""
        found = {}
        for name, net in self.module["netnames"].items():
            for k, bit in enumerate(net["bits"]):
                label = f"{name}[{k}]" if len(net["bits"]) > 1 else name
                if isinstance(bit, int) and (bit not in found or (name[0] == "$", len(name)) < (found[bit][0] == "$", len(found[bit].split("[")[0]))):
                    found[bit] = label
        return found

    def inputs(self, name):
        """(port, bit) of a cell's inputs that are nets."""
        cell = self.cells[name]
        for port, bits in cell["connections"].items():
            if cell["port_directions"].get(port) == "input":
                for bit in bits:
                    if isinstance(bit, int):
                        yield port, bit

    def _arrivals(self, factor):
        """Of every net: time, levels, and the net before it on its slowest path."""
        wires = {}

        def wire(bit):
            loads = self.loads[bit]
            if loads not in wires:
                wires[loads] = int(next(ps for limit, ps in NETS if loads <= limit) * factor)
            return wires[loads]

        memo = {}

        def step(name, out_port, port, bit):
            """Wire and cell delay from a net into a cell of logic, and whether a level is added."""
            t = self.cells[name]["type"]
            source = self.cells[self.driver[bit][0]]["type"] if bit in self.driver else ""
            if t.startswith("CARRY"):
                if port in ("CI", "CYINIT") and source.startswith("CARRY"):
                    return 13, CARRY_ON, 0
                close = port == "S" and source.startswith("LUT") and self.loads[bit] == 1
                return (15 if close else wire(bit)), CARRY, 1
            if t.startswith("MUXF"):
                return (INSIDE_SLICE if source.startswith(("LUT", "MUXF")) else wire(bit)), MUXF, 0
            if t.startswith("LUT"):
                return wire(bit), LUT[int(t[3])], 1
            if t == "INV":
                return 0, 0, 0
            return wire(bit), 50, 0

        def arrival(bit):
            if bit in memo:
                return memo[bit]
            if bit not in self.driver:
                return 0, 0, None
            memo[bit] = (0, 0, None)                          # a loop of logic would end here
            name, out = self.driver[bit]
            kind = self.kinds[name]
            if kind in ("register", "shift"):
                best = (CLOCK_TO_OUT, 0, None)
            elif kind == "memory":
                best = (_memory_out(self.cells[name]), 0, None)
            elif kind == "distributed":
                best = (DISTRIBUTED, 0, None)
                for port, source in self.inputs(name):
                    own = port == "ADDR" + out[-1] or port.startswith("DPRA") or port.startswith("A") and not port.startswith("ADDR")
                    if own:
                        time, levels, _ = arrival(source)
                        best = max(best, (time + wire(source) + DISTRIBUTED_READ, levels + 1, source), key=lambda x: x[0])
            else:
                best = (0, 0, None)
                for port, source in self.inputs(name):
                    time, levels, _ = arrival(source)
                    way, cell, level = step(name, out, port, source)
                    if time + way + cell > best[0]:
                        best = (time + way + cell, levels + level, source)
            memo[bit] = best
            return best

        sys.setrecursionlimit(1_000_000)
        ends = []
        for name, kind in self.kinds.items():
            if kind == "logic":
                continue
            for port, bit in self.inputs(name):
                if port in CLOCK_PINS:
                    continue
                time, levels, _ = arrival(bit)
                if kind == "register":
                    source = self.cells[self.driver[bit][0]]["type"] if bit in self.driver else ""
                    local = port == "D" and self.loads[bit] == 1 and source.startswith(("LUT", "MUXF", "CARRY"))
                    ends.append((time + (50 if local else wire(bit)) + (SET_UP if port == "D" else SET_UP_CONTROL) + UNCERTAINTY, levels, name, port, bit))
                else:
                    ends.append((time + wire(bit) + SET_UP_MEMORY + UNCERTAINTY, levels, name, port, bit))
        ends.sort(key=lambda end: -end[0])
        return ends, memo

    def estimate(self, corner, paths=1):
        """The slowest ``paths`` kinds of path of a corner."""
        ends, memo = self._arrivals(CORNERS[corner])
        if not ends:
            raise ValueError("no register in the netlist")
        names, worst, seen = self.names() if paths else {}, [], defaultdict(int)
        for period, levels, name, port, bit in ends:
            if len(worst) >= paths:
                break
            cells, at = [], bit
            while at in self.driver:
                cells.append(self.cells[self.driver[at][0]]["type"])
                before = memo.get(at, (0, 0, None))[2]
                if before is None:
                    break
                at = before
            outs = [b for p, bits in self.cells[name]["connections"].items() if self.cells[name]["port_directions"].get(p) == "output" for b in bits]
            end = next((names[b] for b in outs if b in names), name)
            key = tuple(re.sub(r"\d+", "#", name.split("[")[0]) for name in (names.get(at, "?"), end))
            if not seen[key]:
                worst.append(Path(period, levels, names.get(at, "a port"), f"{end}.{port}", tuple(reversed(cells))))
            seen[key] += 1
        return Estimate(1e6 / ends[0][0], max(end[1] for end in ends), tuple(worst))
