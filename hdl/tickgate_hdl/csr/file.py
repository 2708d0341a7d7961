"""All registers of the card behind one AXI4-Lite port."""
from functools import reduce
from operator import or_

from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from tickgate.spec.registers import BLOCKS

from ..stream.join import connect
from .axi import AxiLite, AxiLiteSlave
from .bank import Bank
from .fields import fields


class RegisterFile(wiring.Component):
    """A bank for each block of the register table, all on the port ``csr``.

    A register is reached by block and name: ``regs.control.enable`` (from the host), ``regs.net.frames`` (1 in a cycle counts one frame),
    ``regs.mold.expected`` (to the host), ``regs.symbol.load`` and ``regs.symbol.load_strobe`` (a write, seen once). See ``csr.fields``.
    """

    def __init__(self, blocks=BLOCKS):
        self._blocks = blocks
        super().__init__({"csr": In(AxiLite), **{block.name: Out(fields(block)) for block in blocks}})

    def elaborate(self, platform):
        m = Module()
        m.submodules.slave = slave = AxiLiteSlave()
        connect(m, wiring.flipped(self.csr), slave.csr)
        values = []
        for block in self._blocks:
            m.submodules[block.name] = bank = Bank(block)
            connect(m, wiring.flipped(getattr(self, block.name)), bank.fields)
            m.d.comb += [getattr(bank.words, name).eq(getattr(slave.words, name)) for name in ("word", "write", "data", "read")]
            values.append(bank.words.value)
        m.d.comb += slave.words.value.eq(reduce(or_, values))
        return m
