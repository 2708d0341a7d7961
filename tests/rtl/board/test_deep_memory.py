"""``tickgate_memory.v`` against the Amaranth memory that it stands for, on the same random accesses.

Nothing is promised of a word that is being written: there the Verilog must differ (its complement), so that who builds on it is found out."""
import random

import cocotb
from amaranth import Fragment, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge

from tickgate_hdl.board.memory import DeepMemory, verilog_sources
from tickgate_sim.rtl import simulate

SHAPES = [dict(bank_bits=0, row_bits=3, width=9, latency=1), dict(bank_bits=1, row_bits=4, width=72, latency=2),
          dict(bank_bits=2, row_bits=2, width=33, latency=3)]


class Pairs(wiring.Component):
    """Memories of every shape, each twice: in Verilog (``v0`` …) and in Amaranth (``a0`` …), with the same inputs."""

    def __init__(self):
        ports = {}
        for k, shape in enumerate(SHAPES):
            for name, member in DeepMemory(**shape).signature.members.items():
                if member.flow == In:
                    ports[f"{name}{k}"] = In(member.shape)
                else:
                    ports |= {f"v{k}_{name}": Out(member.shape), f"a{k}_{name}": Out(member.shape)}
        super().__init__(ports)

    def elaborate(self, platform):
        m = Module()
        for k, shape in enumerate(SHAPES):
            for kind in "va":
                memory = DeepMemory(**shape)
                m.submodules[f"{kind}{k}"] = Fragment.get(memory, platform if kind == "v" else None)
                for name, member in memory.signature.members.items():
                    port = getattr(memory, name)
                    m.d.comb += port.eq(getattr(self, f"{name}{k}")) if member.flow == In else getattr(self, f"{kind}{k}_{name}").eq(port)
        return m


@cocotb.test(timeout_time=50, timeout_unit="us")
async def both_are_equal(dut):
    rng = random.Random(cocotb.RANDOM_SEED)
    words = [1 << shape["bank_bits"] + shape["row_bits"] for shape in SHAPES]
    busy = [rng.sample(range(n), 3) for n in words]          # where the ports meet
    dut.rst.value = 0
    Clock(dut.clk, 4, unit="ns").start()
    compared = different = poisoned = 0
    met = {}                                                 # (memory, port, cycle): the word was being written
    for cycle in range(3000):
        clearing = cycle < max(words)                        # Verilog's words are unknown until then
        for k, shape in enumerate(SHAPES):
            getattr(dut, f"clear{k}").value = clearing or rng.random() < 0.03
            getattr(dut, f"clear_row{k}").value = cycle % (1 << shape["row_bits"]) if clearing else rng.randrange(1 << shape["row_bits"])
            write = rng.random() < 0.5
            getattr(dut, f"a_write{k}").value = write
            getattr(dut, f"a_in{k}").value = rng.getrandbits(shape["width"])
            at = {port: rng.choice((rng.choice(busy[k]), rng.randrange(words[k]))) for port in "ab"}
            for port in "ab":
                getattr(dut, f"{port}_address{k}").value = at[port]
                met[k, port, cycle] = write and at[port] == at["a"]
        await ReadOnly()
        if cycle > max(words) + 5:
            for k, shape in enumerate(SHAPES):
                for port in "ab":
                    got, want = (int(getattr(dut, f"{kind}{k}_{port}_out").value) for kind in "va")
                    if met[k, port, cycle - shape["latency"]]:
                        want ^= (1 << shape["width"]) - 1
                        poisoned += 1
                    assert got == want, f"cycle {cycle}, {shape}, port {port}: {got:#x}, Amaranth has {want:#x}"
                    compared += 1
                    different += want != 0
        await RisingEdge(dut.clk)
    assert compared > 10_000 and different > 5_000 and poisoned > 1_000


def test_deep_memory_rtl():
    simulate(Pairs(), __file__, platform="verilator", sources=verilog_sources())
