"""AXI4-Lite slave in front of the register banks.

Source: AMBA AXI and ACE protocol specification (IHI 0022), part A (handshake, ordering) and part B (AXI4-Lite).
"""
from amaranth import Module, Signal
from amaranth.lib import enum, wiring
from amaranth.lib.wiring import In, Out

from tickgate.spec.registers import ADDRESS_BITS

from .bank import Bank, Words

#: AXI4-Lite, 32 bits, seen from the master; names as in the specification. Protection (``prot``) is not looked at, so it is not there.
AxiLite = wiring.Signature({
    "awvalid": Out(1), "awready": In(1), "awaddr": Out(ADDRESS_BITS),
    "wvalid": Out(1), "wready": In(1), "wdata": Out(32), "wstrb": Out(4),
    "bvalid": In(1), "bready": Out(1), "bresp": In(2),
    "arvalid": Out(1), "arready": In(1), "araddr": Out(ADDRESS_BITS),
    "rvalid": In(1), "rready": Out(1), "rdata": In(32), "rresp": In(2),
})


class Response(enum.Enum, shape=2):
    """``bresp`` and ``rresp``."""

    OKAY = 0
    SLVERR = 2


class AxiLiteSlave(wiring.Component):
    """Turns reads and writes of ``csr`` into accesses of ``words``, one at a time.

    - Address and data of a write may come in any order; one write and one read can be under way, and neither waits for the other's response.
    - The two low bits of an address are ignored: a register is a word.
    - A write must be of a whole word: with any strobe low nothing is written and the response is SLVERR.
    - Addresses without a register are not an error: they read as 0 and ignore writes, so that older and newer software can look around.
    - ``rvalid`` comes ``READ_LATENCY`` cycles after the address was taken, ``bvalid`` ``WRITE_LATENCY`` after the later of address and data, when
      the other kind is not in the way (one cycle more). A read that is asked for after a write was answered sees it.
    """

    READ_LATENCY = 3 + Bank.LATENCY
    WRITE_LATENCY = 2

    csr: In(AxiLite)
    words: Out(Words)

    def elaborate(self, platform):
        m = Module()
        csr, words = self.csr, self.words
        write_address = Signal(words.word.shape(), reset_less=True)
        write_data = Signal(32, reset_less=True)
        whole = Signal(reset_less=True)
        read_address = Signal(words.word.shape(), reset_less=True)
        # each is held from its transfer until it is used
        address_held = Signal()
        data_held = Signal()
        read_held = Signal()
        answer_in = Signal(1 + Bank.LATENCY)  # the read on its way through the banks
        writing = Signal()
        reading = Signal()

        m.d.comb += [
            csr.awready.eq(~address_held), csr.wready.eq(~data_held), csr.arready.eq(~read_held),
            writing.eq(address_held & data_held & ~csr.bvalid),
            reading.eq(read_held & ~csr.rvalid & ~answer_in.any() & ~writing),
        ]
        with m.If(csr.awvalid & csr.awready):
            m.d.sync += [address_held.eq(1), write_address.eq(csr.awaddr[2:])]
        with m.If(csr.wvalid & csr.wready):
            m.d.sync += [data_held.eq(1), write_data.eq(csr.wdata), whole.eq(csr.wstrb.all())]
        with m.If(csr.arvalid & csr.arready):
            m.d.sync += [read_held.eq(1), read_address.eq(csr.araddr[2:])]

        m.d.sync += [  # the access
            words.write.eq(writing & whole), words.read.eq(reading), words.data.eq(write_data),
            answer_in.eq(answer_in << 1 | reading),
        ]
        with m.If(writing):
            m.d.sync += [words.word.eq(write_address), address_held.eq(0), data_held.eq(0)]
        with m.If(reading):
            m.d.sync += [words.word.eq(read_address), read_held.eq(0)]

        with m.If(csr.bready):  # the answers; bvalid and rvalid are 0 when the next one is set
            m.d.sync += csr.bvalid.eq(0)
        with m.If(writing):
            # after an access of the banks, not before: what the host asks next sees it, since they keep the order
            m.d.sync += [csr.bvalid.eq(1), csr.bresp.eq(Response.SLVERR)]
            with m.If(whole):
                m.d.sync += csr.bresp.eq(Response.OKAY)
        with m.If(csr.rready):
            m.d.sync += csr.rvalid.eq(0)
        with m.If(answer_in[-1]):
            m.d.sync += [csr.rvalid.eq(1), csr.rdata.eq(words.value)]
        m.d.comb += csr.rresp.eq(Response.OKAY)
        return m
