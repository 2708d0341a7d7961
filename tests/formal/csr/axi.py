"""AxiLiteSlave: the handshakes of AXI4-Lite, and one answer for each request."""
from amaranth import Cat, Signal

from tickgate_hdl.csr.axi import AxiLiteSlave
from tickgate_sim.formal import proof

AXI = "tickgate_hdl.csr.axi"


@proof("answers stay, unchanged, until they are taken; no answer without its request; the banks never see a read and a write together", quick=True, mutants=[
    (AXI, "with m.If(csr.bready):", "with m.If(1):"),
    (AXI, "csr.arready.eq(~read_held)", "csr.arready.eq(1)"),
    (AXI, "writing.eq(address_held & data_held & ~csr.bvalid)", "writing.eq(address_held & data_held)"),
])
def handshakes(b):
    slave = b.part(AxiLiteSlave())
    csr, words, m = slave.csr, slave.words, b.m

    def stays(name, valid, ready, *payload):
        stalled = b.before(valid & ~ready, f"{name}_stalled")
        b.prove(f"{name} stays", ~stalled | valid)
        if payload:
            b.prove(f"{name}: its payload stays", ~stalled | (b.before(Cat(*payload), f"{name}_payload") == Cat(*payload)))

    stays("bvalid", csr.bvalid, csr.bready, csr.bresp)
    stays("rvalid", csr.rvalid, csr.rready, csr.rdata, csr.rresp)

    def owed(name, asks, answers):
        """Requests without their answer."""
        count = Signal(3, name=name)
        m.d.sync += count.eq(count + asks - answers)
        return count

    reads = owed("reads", csr.arvalid & csr.arready, csr.rvalid & csr.rready)
    addresses = owed("addresses", csr.awvalid & csr.awready, csr.bvalid & csr.bready)
    datas = owed("datas", csr.wvalid & csr.wready, csr.bvalid & csr.bready)
    accesses = owed("accesses", words.read, csr.rvalid & csr.rready)
    b.prove("no answer to a read that was not asked for", (reads <= 2) & (~csr.rvalid | (reads != 0)))
    b.prove("no answer to a write without its address and data", (addresses <= 2) & (datas <= 2) & (~csr.bvalid | (addresses != 0) & (datas != 0)))
    b.prove("one access of the banks at a time for reads", accesses <= 1)
    b.prove("never a read and a write of the banks together", ~(words.read & words.write))
    b.cover("a read waits behind an answer that is not taken", csr.rvalid & ~csr.rready & (reads == 2))
    b.cover("a write waits behind an answer that is not taken", csr.bvalid & ~csr.bready & (addresses == 2) & (datas == 2))
    b.cover("both kinds are answered at once", csr.rvalid & csr.bvalid)
