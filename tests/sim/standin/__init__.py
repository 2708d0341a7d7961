"""A core with the ports of the real one, to test the virtual card with: every word it gets becomes a host write that says when and what."""
from pathlib import Path

from amaranth.hdl import Instance, Module, Mux, Signal
from amaranth.lib import data, fifo, stream, wiring
from amaranth.lib.wiring import In, Out

SCRATCH, BASE_LOW, BASE_HIGH, NOISE = 0x000, 0x004, 0x008, 0x00C
SILENT, REFUSING = 0xFF8, 0xFFC


class FrameWord(data.Struct):
    data: 32
    first: 1
    last: 1
    count: 3
    error: 1


class HostWrite(data.Struct):
    address: 64
    data: 512


class Word(data.Struct):
    """What a host write says; the rest of its 64 bytes is zero."""

    time_ns: 64
    data: 32
    first: 8
    last: 8
    count: 8
    error: 8


class Csr(wiring.Signature):
    def __init__(self):
        super().__init__({
            "awvalid": In(1), "awready": Out(1), "awaddr": In(12), "wvalid": In(1), "wready": Out(1), "wdata": In(32), "wstrb": In(4),
            "bvalid": Out(1), "bready": In(1), "bresp": Out(2),
            "arvalid": In(1), "arready": Out(1), "araddr": In(12), "rvalid": Out(1), "rready": In(1), "rdata": Out(32), "rresp": Out(2)})


class Recorder(wiring.Component):
    """Writes word n to the address in BASE_LOW and BASE_HIGH plus 64 n. Takes the data of a register write, all four bytes or none, before its address."""

    def __init__(self, preset):
        super().__init__({"rx": In(stream.Signature(FrameWord)), "time_ns": In(64), "csr": Out(Csr()), "writes": Out(stream.Signature(HostWrite))})

    def elaborate(self, platform):
        assert platform == "verilator"
        m = Module()
        m.submodules.queue = queue = fifo.SyncFIFOBuffered(width=Word.as_shape().size, depth=1024)
        word, base, index, rx = data.View(Word, Signal(Word.as_shape().size)), Signal(64), Signal(58), self.rx.payload
        m.d.comb += [
            self.rx.ready.eq(1),
            word.time_ns.eq(self.time_ns), word.data.eq(rx.data), word.first.eq(rx.first), word.last.eq(rx.last), word.count.eq(rx.count),
            word.error.eq(rx.error),
            queue.w_en.eq(self.rx.valid), queue.w_data.eq(word.as_value()),
            self.writes.valid.eq(queue.r_rdy), queue.r_en.eq(self.writes.ready),
            self.writes.payload.address.eq(base + (index << 6)), self.writes.payload.data.eq(queue.r_data),
        ]
        with m.If(self.writes.valid & self.writes.ready):
            m.d.sync += index.eq(index + 1)

        csr, noise, scratch = self.csr, Signal(32), Signal(32)
        m.submodules.noise = Instance("noise", o_value=noise)
        m.d.comb += [csr.wready.eq(csr.wvalid), csr.awready.eq(csr.awvalid & ~csr.wvalid & ~csr.bvalid), csr.arready.eq(~csr.rvalid)]
        value = Signal(32)
        with m.If(csr.wvalid & (csr.wstrb == 0xF)):
            m.d.sync += value.eq(csr.wdata)
        with m.If(csr.bready):
            m.d.sync += csr.bvalid.eq(0)
        with m.If(csr.awvalid & csr.awready):
            m.d.sync += [csr.bvalid.eq(csr.awaddr != SILENT), csr.bresp.eq(Mux(csr.awaddr == REFUSING, 2, 0))]
            with m.Switch(csr.awaddr):
                with m.Case(SCRATCH):
                    m.d.sync += scratch.eq(value)
                with m.Case(BASE_LOW):
                    m.d.sync += base[:32].eq(value)
                with m.Case(BASE_HIGH):
                    m.d.sync += base[32:].eq(value)
        with m.If(csr.rready):
            m.d.sync += csr.rvalid.eq(0)
        with m.If(csr.arvalid & csr.arready):
            m.d.sync += [csr.rvalid.eq(csr.araddr != SILENT), csr.rresp.eq(Mux(csr.araddr == REFUSING, 2, 0))]
            with m.Switch(csr.araddr):
                with m.Case(SCRATCH):
                    m.d.sync += csr.rdata.eq(scratch)
                with m.Case(NOISE):
                    m.d.sync += csr.rdata.eq(noise)
        return m


def verilog_sources():
    return [Path(__file__).with_name("noise.v")]
