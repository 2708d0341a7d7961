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
          dict(bank_bits=2, row_bits=2, width=33, latency=3), dict(bank_bits=2, row_bits=3, width=20, latency=3, ahead=True)]


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
    before = [(0, 0, 0)] * len(SHAPES)                       # of the cycle before: write, its bank, clear
    for cycle in range(3000):
        clearing = cycle < max(words)                        # Verilog's words are unknown until then
        for k, shape in enumerate(SHAPES):
            rows = 1 << shape["row_bits"]
            write, clear, word = rng.random() < 0.5, clearing or rng.random() < 0.03, rng.getrandbits(shape["width"])
            getattr(dut, f"clear{k}").value, getattr(dut, f"a_write{k}").value = clear, write
            at = {port: rng.choice((rng.choice(busy[k]), rng.randrange(words[k]))) for port in "ab"}
            if "ahead" in shape:
                bank = rng.randrange(1 << shape["bank_bits"])
                getattr(dut, f"a_bank{k}").value = bank
                now, before[k] = before[k], (write, bank, clear)
                write, bank, clear = now
                word = 0 if clear else word
                row = (cycle - 1) % rows if clearing else at["a"] % rows
                at["a"] = (bank * rows if write else at["a"] - at["a"] % rows) + row
            else:
                bank = at["a"] // rows
                getattr(dut, f"clear_row{k}").value = cycle % rows if clearing else rng.randrange(rows)
            getattr(dut, f"a_in{k}").value = word
            for port in "ab":
                getattr(dut, f"{port}_address{k}").value = at[port]
                met[k, port, cycle] = write and (port == "a" or at["b"] == bank * rows + at["a"] % rows)
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
