"""The estimate on netlists whose paths can be added up by hand, the memories' count, the gates, and one hop through yosys."""
import pytest
from amaranth import Const, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from tickgate.spec.presets import PRESETS
from tickgate_hdl.board.memory import DeepMemory
from tickgate_sim.synth import parts, report
from tickgate_sim.synth.flow import memories, synthesise
from tickgate_sim.synth.timing import CLOCK_TO_OUT, DISTRIBUTED_READ, LUT, SET_UP, SET_UP_MEMORY, ULTRA, UNCERTAINTY, Estimate, Netlist


def cell(kind, inputs, outputs, **parameters):
    return {"type": kind, "parameters": parameters, "connections": {k: v if isinstance(v, list) else [v] for k, v in {**inputs, **outputs}.items()},
            "port_directions": {**dict.fromkeys(inputs, "input"), **dict.fromkeys(outputs, "output")}}


def netlist(**cells):
    return Netlist({"modules": {"top": {"cells": cells, "netnames": {"start": {"bits": [1]}, "end": {"bits": [9]}}}}}, "top")


FIRST = cell("FDRE", {"C": 0, "D": 8}, {"Q": 1})
LAST = cell("FDRE", {"C": 0, "D": 3}, {"Q": 9})


def test_luts_between_registers():
    found = netlist(first=FIRST, a=cell("LUT2", {"I0": 1, "I1": "0"}, {"O": 2}), b=cell("LUT6", {"I0": 2}, {"O": 3}), last=LAST).estimate("typical")
    path = found.worst[0]
    assert path.period == CLOCK_TO_OUT + (183 + LUT[2]) + (183 + LUT[6]) + 50 + SET_UP + UNCERTAINTY
    assert (path.levels, path.start, path.end, path.cells) == (2, "start", "end.D", ("FDRE", "LUT2", "LUT6")) and found.deepest == 2
    assert found.mhz == pytest.approx(1e6 / path.period)


def test_pessimistic_lengthens_nets_alone():
    cells = dict(first=FIRST, a=cell("LUT2", {"I0": 1}, {"O": 3}), last=LAST)
    typical, pessimistic = (netlist(**cells).estimate(corner).worst[0].period for corner in ("typical", "pessimistic"))
    assert pessimistic - typical == int(183 * 1.35) - 183       # the last wire stays inside a slice


def test_fan_out_costs():
    many = {f"x{k}": cell("FDRE", {"C": 0, "D": 1}, {"Q": 100 + k}) for k in range(70)}
    assert netlist(first=FIRST, **many).estimate("typical").worst[0].period == CLOCK_TO_OUT + 430 + SET_UP + UNCERTAINTY


def test_carry_chain_is_one_level():
    chain = {f"c{k}": cell("CARRY4", {"S": 1 if k == 0 else "0", "CI": "0" if k == 0 else 20 + k}, {"CO": 21 + k}) for k in range(5)}
    found = netlist(first=FIRST, **chain, last=cell("FDRE", {"C": 0, "D": 25}, {"Q": 9})).estimate("typical").worst[0]
    assert found.levels == 1 and found.period == CLOCK_TO_OUT + 183 + 150 + 4 * (13 + 12) + 50 + SET_UP + UNCERTAINTY


def test_read_of_distributed_ram_is_on_the_path():
    ram = cell("RAM64M8", {"ADDRA": 1, "ADDRH": 8, "WCLK": 0}, {"DOA": 3})
    path = netlist(first=FIRST, ram=ram, last=LAST).estimate("typical").worst[0]
    assert path.levels == 1 and path.start == "start" and path.period >= CLOCK_TO_OUT + DISTRIBUTED_READ


def test_memory_starts_and_ends_paths():
    ram = cell("$paramod$xpm_memory_tdpram", {"addra": 1, "clka": 0}, {"douta": 3}, MEMORY_PRIMITIVE="ultra")
    worst = netlist(first=FIRST, ram=ram, last=LAST).estimate("typical", paths=2).worst
    assert worst[0].period == ULTRA + 183 + SET_UP + UNCERTAINTY
    assert worst[1].period == CLOCK_TO_OUT + 183 + SET_UP_MEMORY + UNCERTAINTY


def test_empty_netlist_is_refused():
    with pytest.raises(ValueError, match="no register"):
        netlist(a=cell("LUT1", {"I0": 1}, {"O": 2})).estimate("typical")


@pytest.mark.parametrize("primitive, depth_bits, width, want", [
    ("ultra", 12, 72, (1, 0)), ("ultra", 12, 76, (2, 0)), ("ultra", 13, 72, (2, 0)),
    ("block", 12, 9, (0, 1)), ("block", 16, 6, (0, 12)), ("block", 12, 64, (0, 8)), ("block", 9, 72, (0, 1))])
def test_memories_are_counted(primitive, depth_bits, width, want):
    macro = cell("$paramod$1\\xpm_memory_tdpram", {}, {}, MEMORY_PRIMITIVE=primitive, WRITE_DATA_WIDTH_A=f"{width:032b}", ADDR_WIDTH_A=f"{depth_bits:032b}")
    assert memories({"m": macro, "lut": cell("LUT1", {}, {})}) == want


def hop(name="net", fast=True, levels=5, typical=400.0, pessimistic=330.0, latch=0):
    resources = dict.fromkeys(report.RESOURCES, 1) | {"latch": latch}
    return report.Hop(name, fast, resources, {"typical": Estimate(typical, levels, ()), "pessimistic": Estimate(pessimistic, levels, ())})


@pytest.mark.parametrize("change, complaint", [
    ({}, None), ({"levels": 7}, "net: 7 levels"), ({"typical": 370.0}, "typical estimate 370.0 MHz"),
    ({"pessimistic": 322.0}, "pessimistic estimate 322.0 MHz"), ({"latch": 1}, "1 latches"),
    ({"fast": False, "levels": 9, "typical": 355.0, "pessimistic": 1.0}, None), ({"fast": False, "typical": 354.0}, "below 354.5")])
def test_gates(change, complaint):
    found = report.failures([hop(**change)])
    assert found == [] if complaint is None else len(found) == 1 and complaint in found[0]


class Deep(wiring.Component):
    """An addition and a product of comparisons that no three nanoseconds hold, beside memories of both kinds."""

    def __init__(self, preset):
        super().__init__({"x": In(64), "y": Out(64), "address": In(13), "write": In(1), "out": Out(76)})

    def elaborate(self, platform):
        m = Module()
        total = Signal(64)
        m.d.comb += [total.eq(self.x + 1), self.y.eq(((total ^ (total >> 7)) + (total << 3)) % Const(1000, 64))]
        m.submodules.ram = ram = DeepMemory(bank_bits=1, row_bits=12, width=76, latency=2)
        m.d.comb += [ram.b_address.eq(self.address), ram.a_address.eq(self.address), ram.a_write.eq(self.write), ram.a_in.eq(self.x), self.out.eq(ram.b_out)]
        return m


def test_a_part_through_yosys(tmp_path, monkeypatch):
    monkeypatch.setitem(parts.HOPS, "deep", Deep)
    resources, estimates = synthesise("deep", PRESETS["small"], tmp_path)
    assert resources["uram"] == 2 and resources["bram"] == 2 and resources["lut"] > 64 and resources["ff"] >= 64 and not resources["latch"]
    again = report.Hop("deep", True, resources, estimates)
    assert again.levels > report.MOST_LEVELS and len(report.failures([again])) == 3     # levels, typical and pessimistic
    assert estimates["typical"].mhz > estimates["pessimistic"].mhz > 10
    assert synthesise("deep", PRESETS["small"], tmp_path)[0] == resources                # from the folder now
