"""Register bank: one ``Block`` of the register table behind a one-word port."""
from functools import reduce
from operator import or_

from amaranth import C, Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from tickgate.spec.registers import ADDRESS_BITS

from .fields import fields

#: One word at a time, seen from the master. ``read`` and ``write`` are 1 for one cycle, never both; ``word`` is the byte address divided by four.
Words = wiring.Signature({
    "word": Out(ADDRESS_BITS - 2),
    "write": Out(1),
    "data": Out(32),
    "read": Out(1),
    "value": In(32),   # LATENCY cycles after ``read``, for one cycle; 0 at any other time, so that banks can be joined by OR
})


class Bank(wiring.Component):
    """Registers of ``block`` (``tickgate.spec.registers.Block``) on ``fields`` (see ``csr.fields``).

    A read answers ``LATENCY`` cycles after it was asked, with the events up to and with the cycle of the read; a write shows on ``fields`` after
    ``WRITE_LATENCY`` cycles. One access a cycle; they take effect in order. Words that no register owns read as 0 and ignore writes.

    Registers of two words: reading the low word keeps the high one, and reading the high word gives what was kept, for the register of the block
    whose low word was read last. Writing the low word keeps it, writing the high word takes both. Counters wrap after 2^width events.
    """

    LATENCY = 3
    WRITE_LATENCY = 3

    def __init__(self, block):
        if block.base % block.size or block.size % 4 or block.size & block.size - 1:
            raise ValueError(f"register block {block.name}: its size must be a power of two that divides its base")
        self.block = block
        super().__init__({"words": In(Words), "fields": Out(fields(block))})

    def elaborate(self, platform):
        m = Module()
        index = Signal((self.block.size // 4 - 1).bit_length())
        access = {"read": Signal(name="read"), "write": Signal(name="write")}
        data = Signal(32, reset_less=True)
        value = Signal(32, reset_less=True)  # beside the selects of a write
        kept = Signal(32, reset_less=True)   # high word of the register whose low word was read last
        here = self.words.word[len(index):] == self.block.base // self.block.size
        m.d.sync += [  # stage 1: take the access
            index.eq(self.words.word[:len(index)]), data.eq(self.words.data),
            *(signal.eq(getattr(self.words, kind) & here) for kind, signal in access.items()),
        ]
        m.d.sync += value.eq(data)  # stage 2: select one word, see `select`

        shown, high, keep = [], [], []
        for address, register in self.block.offsets():  # stage 3: answer or take
            word, port = (address - self.block.base) // 4, getattr(self.fields, register.name)

            def select(kind, k, word=word, register=register):
                selected = Signal(name=f"{register.name}_{kind}_{k}")
                m.d.sync += selected.eq(access[kind] & (index == word + k))
                return selected

            if register.access in ("rw", "wo"):
                self._take(m, register, port, value, select)
            if register.access != "wo":
                source = self._counter(m, register, port) if register.access == "count" else port
                low = select("read", 0)
                shown.append(Mux(low, source[:32], 0))
                if register.words == 2:
                    shown.append(Mux(select("read", 1), kept, 0))
                    high.append(Mux(low, source[32:], 0))
                    keep.append(low)
        m.d.sync += self.words.value.eq(reduce(or_, shown, C(0)))
        with m.If(Cat(keep).any()):
            m.d.sync += kept.eq(reduce(or_, high, C(0)))
        return m

    def _counter(self, m, register, port):
        event = Signal(register.step, name=f"{register.name}_event")  # so that no hop's logic is in front of the adder
        count = Signal(register.width, name=f"{register.name}_count")
        m.d.sync += [event.eq(port), count.eq(count + event)]
        return count

    def _take(self, m, register, port, value, select):
        """A write of ``register``: at once or, for two words, with the high one."""
        if register.words == 2:
            low = Signal(32, init=register.reset & 0xFFFFFFFF, name=f"{register.name}_low")
            with m.If(select("write", 0)):
                m.d.sync += low.eq(value)
            value = Cat(low, value)
        taken = select("write", register.words - 1)
        with m.If(taken):
            m.d.sync += port.eq(value[:register.width])
        if register.access == "wo":
            m.d.sync += getattr(self.fields, f"{register.name}_strobe").eq(taken)
