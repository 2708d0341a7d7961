"""Deep memories: banks of block or ultra RAM that look like one memory.

Two ports: A reads or writes, B reads. Read latency in cycles from address to data, data held by no enable. A read in the cycle of a write to the
same word gives the old word. All banks can be cleared at one row a cycle together.

Elaborated for the platform ``"verilator"`` it is an instance of the plain Verilog module in ``tickgate_memory.v``: as a register array of Amaranth
every row would become a line of Verilog. For any other platform it is Amaranth memory, for simulation in Python and for formal tools.
"""
from pathlib import Path

from amaranth import Cat, ClockSignal, Instance, Module
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from ..stream.logic import delay, mux_tree


def verilog_sources():
    """Verilog files that a design elaborated for ``"verilator"`` needs beside its own."""
    return [Path(__file__).with_name("tickgate_memory.v")]


class DeepMemory(wiring.Component):
    """``2^bank_bits`` banks of ``2^row_bits`` rows of ``width`` bits, addressed {bank, row}."""

    def __init__(self, *, bank_bits, row_bits, width, latency):
        if latency < 1:
            raise ValueError(f"latency must be at least 1 cycle, not {latency}")
        self.bank_bits, self.row_bits, self.width, self.latency = bank_bits, row_bits, width, latency
        super().__init__({
            "a_write": In(1), "a_address": In(bank_bits + row_bits), "a_in": In(width), "a_out": Out(width),
            "b_address": In(bank_bits + row_bits), "b_out": Out(width),
            "clear": In(1), "clear_row": In(row_bits)})

    def elaborate(self, platform):
        m = Module()
        if platform == "verilator":
            m.submodules.ram = Instance(
                "tickgate_memory", p_BANK_BITS=self.bank_bits, p_ROW_BITS=self.row_bits, p_WIDTH=self.width, p_LATENCY=self.latency,
                i_clk=ClockSignal(), i_a_write=self.a_write, i_a_address=self.a_address, i_a_in=self.a_in, o_a_out=self.a_out,
                i_b_address=self.b_address, o_b_out=self.b_out, i_clear=self.clear, i_clear_row=self.clear_row)
            return m
        row, bank = self.row_bits, self.bank_bits
        words = {"a": [], "b": []}
        for k in range(1 << bank):
            m.submodules[f"bank{k}"] = ram = memory.Memory(shape=self.width, depth=1 << row, init=[])
            write = ram.write_port()
            m.d.comb += [write.en.eq(self.clear | self.a_write & (self.a_address[row:] == k)),
                         write.addr.eq(self.clear_row), write.data.eq(0)]
            with m.If(~self.clear):
                m.d.comb += [write.addr.eq(self.a_address[:row]), write.data.eq(self.a_in)]
            for port in "ab":
                read = ram.read_port()
                m.d.comb += read.addr.eq(getattr(self, f"{port}_address")[:row])
                words[port].append(delay(m, read.data, self.latency - 1, f"{port}_bank{k}")[-1] if self.latency > 1 else read.data)
        for port in "ab":
            select = Cat(getattr(self, f"{port}_address")[row:])
            out = getattr(self, f"{port}_out")
            if bank:
                where = delay(m, select, self.latency, f"{port}_where")[-1]
                m.d.comb += out.eq(mux_tree(m, where, words[port], f"{port}_mux"))
            else:
                m.d.comb += out.eq(words[port][0])
        return m
