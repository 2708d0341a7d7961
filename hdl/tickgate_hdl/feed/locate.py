"""Locate table: stock locate to slot of a tracked symbol.

A deep memory gives a candidate slot for each of the 65,536 locates, and the slot's own entry confirms it: so what the memory holds for locates that were
never loaded, or were forgotten, does not matter, and it needs no clearing.
"""
from amaranth import Module, Mux, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from ..board.memory import DeepMemory
from ..stream.logic import delay, equal
from .events import Symbol


class LocateTable(wiring.Component):
    """``ask`` with a ``locate``; from LATENCY cycles later on ``tracked`` and ``slot`` are its answer, until that to the next question."""
    LATENCY = 4

    def __init__(self, *, symbols):
        self.symbols = symbols
        self.slot_bits = max(1, (symbols - 1).bit_length())
        super().__init__({
            "ask": In(1), "locate": In(16), "tracked": Out(1), "slot": Out(self.slot_bits),
            "load": In(1), "load_slot": In(self.slot_bits), "load_symbol": In(Symbol)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.candidates = candidates = DeepMemory(bank_bits=0, row_bits=16, width=self.slot_bits, latency=2, primitive="block")
        m.submodules.slots = slots = memory.Memory(shape=17, depth=1 << self.slot_bits, init=[])
        write, read = slots.write_port(), slots.read_port(domain="comb")
        candidate = Signal(self.slot_bits)
        m.d.comb += [
            candidates.b_address.eq(self.locate), candidates.a_write.eq(self.load & self.load_symbol.tracked), candidates.a_address.eq(self.load_symbol.locate),
            candidates.a_in.eq(self.load_slot),
            write.en.eq(self.load), write.addr.eq(self.load_slot), write.data.eq(Mux(self.load_symbol.tracked, self.load_symbol.locate | 1 << 16, 0)),
            read.addr.eq(candidate)]
        m.d.sync += candidate.eq(candidates.b_out)
        asking, asked = delay(m, self.ask, 3, "asking")[-1], delay(m, self.locate, 3, "asked")[-1]
        loaded = Signal(1 << self.slot_bits)                    # memory has no reset: these do
        with m.If(self.load):
            m.d.sync += loaded.bit_select(self.load_slot, 1).eq(self.load_symbol.tracked)
        with m.If(asking):
            m.d.sync += [self.tracked.eq(loaded.bit_select(candidate, 1) & equal(read.data[:16], asked)), self.slot.eq(candidate)]
        return m
