"""The event ring in Verilog against its model: many laps with a stalling host port, late credit, and spells of being full, busy and off."""
import random

import cocotb
from amaranth import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge

from tickgate.spec import records
from tickgate.spec.registers import RING
from tickgate_hdl.book.record import Record
from tickgate_hdl.csr.fields import fields
from tickgate_hdl.dma.ring import EventRing, HostWrite
from tickgate_sim.models.ring import RingModel
from tickgate_sim.rtl import simulate

COUNTERS = [r.name for r in RING.registers if r.access == "count"]


class RingTop(wiring.Component):
    """The ring with a ready port, which the Verilog back end wants of a top."""

    records: In(stream.Signature(Record))
    writes: Out(stream.Signature(HostWrite))
    registers: In(fields(RING))

    def elaborate(self, platform):
        m = Module()
        m.submodules.ring = ring = EventRing()
        m.d.comb += [ring.records.valid.eq(self.records.valid), ring.records.payload.eq(self.records.payload),
                     self.records.ready.eq(ring.records.ready)]
        wiring.connect(m, wiring.flipped(self.writes), ring.writes)
        wiring.connect(m, wiring.flipped(self.registers), ring.registers)
        return m


@cocotb.test(timeout_time=200, timeout_unit="us")
async def places_and_drops_as_model(dut):
    rng = random.Random(cocotb.RANDOM_SEED)
    model = RingModel(credit_latency=EventRing.CREDIT_LATENCY, waiting=32)
    model.base, model.size_log2, model.enable = 0x12_FFFF_F800, 6, 1
    for name in ("records__valid", "records__payload", "writes__ready", "registers__credit", "rst"):
        getattr(dut, name).value = 0
    for name in ("base", "size_log2", "enable"):
        getattr(dut, f"registers__{name}").value = getattr(model, name)
    Clock(dut.clk, 4, unit="ns").start()
    dut.rst.value = 1
    await RisingEdge(dut.clk)
    dut.rst.value = 0
    for _ in range(5):
        model.cycle()
        await RisingEdge(dut.clk)

    counts, taken = dict.fromkeys(COUNTERS, 0), 0
    for cycle in range(8_000):
        if cycle % 250 == 0:  # spells: who is slow?
            record_often, ready_often, credit_often = (rng.choice((0.05, 0.5, 1.0)) for _ in range(3))
            model.enable = rng.random() < 0.9
        raw = rng.randbytes(records.SIZE) if rng.random() < record_often else None
        if rng.random() < credit_often / 20:
            model.credit = (model.credit + rng.randint(0, taken - model.credit)) % 2**32
        dut.records__valid.value = raw is not None
        dut.records__payload.value = int.from_bytes(raw or rng.randbytes(records.SIZE), "little")
        dut.writes__ready.value = rng.random() < ready_often
        dut.registers__enable.value = model.enable
        dut.registers__credit.value = model.credit
        await ReadOnly()
        assert dut.records__ready.value, "the path was stalled"
        for name in COUNTERS:
            counts[name] += int(getattr(dut, f"registers__{name}").value)
        left = bool(dut.writes__valid.value and dut.writes__ready.value)
        if left:
            write = int(dut.writes__payload.value)
            address, data = model.expected.popleft()
            assert HostWrite.from_bits(write) == HostWrite.const(dict(address=address, data=int.from_bytes(data, "little")))
            taken += 1
        model.cycle(raw, left)
        await RisingEdge(dut.clk)
    assert counts == {name: model.counts[name] for name in COUNTERS}
    assert taken > 4 << model.size_log2, "too few laps"
    assert all(counts[name] > 20 for name in COUNTERS), counts


def test_event_ring_rtl():
    simulate(RingTop(), __file__)
