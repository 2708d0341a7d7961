"""What synthesis found, against its gates: as a line, as JSON and as docs/synth.md."""
from dataclasses import dataclass
from pathlib import Path

from tickgate.spec.clocks import CORE_HZ
from tickgate.spec.emit import markdown_table

from .parts import FAST_PATH

PAGE = Path("docs/synth.md")
TARGET_MHZ = CORE_HZ / 1e6

#: Gates of the fast path; elsewhere only the typical estimate counts.
MOST_LEVELS = 6
FAST_TYPICAL, FAST_PESSIMISTIC, ELSEWHERE_TYPICAL = 1.15 * TARGET_MHZ, TARGET_MHZ, 1.1 * TARGET_MHZ

#: Of the XCU280, and of its best region (SLR).
DEVICE = {"lut": 1_303_680, "ff": 2_607_360, "bram": 2_016, "uram": 960, "dsp": 9_024}
REGION = {"bram": 672, "uram": 320}
RESOURCES = {"lut": "LUT", "ff": "FF", "lutram": "LUTRAM cells", "carry": "CARRY4", "bram": "BRAM36", "uram": "URAM", "dsp": "DSP"}


@dataclass(frozen=True)
class Hop:
    """One hop: ``estimates`` by corner, see ``timing.Estimate``."""
    name: str
    fast: bool
    resources: dict
    estimates: dict

    @property
    def levels(self):
        return max(estimate.deepest for estimate in self.estimates.values())

    def mhz(self, corner):
        return self.estimates[corner].mhz

    def line(self):
        numbers = ", ".join(f"{self.resources[key]:,} {label}" for key, label in RESOURCES.items() if self.resources[key])
        return f"{self.name}: {self.levels} levels, {self.mhz('typical'):.0f} MHz typical, {self.mhz('pessimistic'):.0f} pessimistic (estimates); {numbers}"


def failures(hops):
    """Gates that do not hold, a line each."""
    found = []
    for hop in hops:
        gates = [("typical", FAST_TYPICAL if hop.fast else ELSEWHERE_TYPICAL)] + [("pessimistic", FAST_PESSIMISTIC)] * hop.fast
        found += [f"{hop.name}: {corner} estimate {hop.mhz(corner):.1f} MHz, below {least:.1f}" for corner, least in gates if hop.mhz(corner) < least]
        if hop.fast and hop.levels > MOST_LEVELS:
            found.append(f"{hop.name}: {hop.levels} levels, more than {MOST_LEVELS}")
        if hop.resources["latch"]:
            found.append(f"{hop.name}: {hop.resources['latch']} latches")
    return found


def summary(hops, preset, failed):
    """For build/synth/summary.json."""
    return {
        "preset": preset.name, "target_mhz": TARGET_MHZ, "estimate": "before placement, from yosys' netlist",
        "hops": {hop.name: {"levels": hop.levels, "estimate_mhz": round(hop.mhz("typical"), 1), "pessimistic_mhz": round(hop.mhz("pessimistic"), 1),
                            **{key: hop.resources[key] for key in RESOURCES}} for hop in hops},
        "fast_path": list(FAST_PATH), "failed": failed}


PAGE_TEXT = """# What synthesis says

Written by `make synth`, preset `{preset}`. yosys maps every hop, and the core as a whole, to the primitives of the XCU280; each stands between registers,
so that every path counts. The clock is an **estimate before placement** from that netlist, not a result of Vivado: nobody can see here how far apart
placement puts things.

{hops}

*Levels* are LUTs, reads of distributed RAM and entries into carry chains between two registers, the deepest path of the hop. `book` contains `book/table`
and `book/ladder`; `core` contains all of them and the registers of the card. yosys writes a CARRY8 as two CARRY4.

**Gates**, checked by `make synth` and in CI, for a clock of {target:.3f} MHz: on the fast path at most {levels} levels, typical at least 1.15 times the clock
({fast:.0f}), pessimistic at least the clock ({slow:.0f}); elsewhere typical at least 1.1 times the clock ({elsewhere:.0f}). No latch anywhere.

{device}

## Worst path of each hop (typical)

{worst}

## Method, and how far to trust it

`sim/tickgate_sim/synth/timing.py` walks every path between two registers. Cell delays are RapidWright's public -2 data; a net costs by its fan-out, by the
means of 104 routed nets in public Vivado reports for a -1 UltraScale+ part, scaled by 0.82 to -2; *pessimistic* takes 1.35 times on every net. yosys' mapper
is given the same delays (`cells.py`): its own for this family are an older one's, with carry chains so slow that all else is made small instead of shallow.
On two paths of public Vivado reports for a -2 part the method was 8 % too slow and 3 % too fast. Three blocks that ship at their clock in public U280 designs
came out 6 to 19 % above it (typical, mapped with yosys' own delays), which is why the gate asks for 15 %. Vivado's own synthesis is usually better than
yosys'; congestion, crossings between SLRs, clock skew and the place of memories are not in it. Deep memories are black boxes with their output register
(URAM 1.0 ns, BRAM 0.9 ns from the clock, 0.2 ns set-up). The open risk is the way to many URAMs in one SLR: a wire across it takes one to two nanoseconds.
"""


def page(hops, preset):
    """Text of docs/synth.md."""
    core = next(hop for hop in hops if hop.name == "core").resources

    def share(of):
        return [f"{100 * core[key] / of[key]:.1f} %" if key in of else "" for key in DEVICE]

    def has(of):
        return [f"{of[key]:,}" if key in of else "" for key in DEVICE]

    return PAGE_TEXT.format(
        preset=preset.name, target=TARGET_MHZ, levels=MOST_LEVELS, fast=FAST_TYPICAL, slow=FAST_PESSIMISTIC, elsewhere=ELSEWHERE_TYPICAL,
        hops=markdown_table(["hop", "fast path", "levels", "typical MHz", "pessimistic MHz", *RESOURCES.values()], (
            [hop.name, "yes" if hop.fast else "", str(hop.levels), f"{hop.mhz('typical'):.0f}", f"{hop.mhz('pessimistic'):.0f}",
             *(f"{hop.resources[key]:,}" for key in RESOURCES)] for hop in hops)),
        device=markdown_table(["the core against", *(RESOURCES[key] for key in DEVICE)], [
            ["takes", *has(core)], ["the XCU280 has", *has(DEVICE)], ["share", *share(DEVICE)], ["one SLR has", *has(REGION)],
            ["share of it", *share(REGION)]]),
        worst=markdown_table(["hop", "ns", "levels", "path"], (
            [hop.name, f"{path.period / 1000:.2f}", str(path.levels), f"`{path.start}` → `{path.end}`"]
            for hop in hops for path in hop.estimates["typical"].worst[:1])))
