"""Event ring: numbers the records and writes them into a ring in host memory."""
from amaranth import C, Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from tickgate.spec import records
from tickgate.spec.registers import RING

from ..book.record import Record
from ..csr.fields import fields
from ..stream.join import connect
from ..stream.logic import equal
from ..stream.queue import Queue


class HostWrite(data.Struct):
    """One write of 64 bytes to host memory, byte 0 of the data in bits 7:0."""

    address: unsigned(64)  # bytes, a multiple of 64
    data: unsigned(8 * records.SIZE)


class EventRing(wiring.Component):
    """Every record of ``records`` gets a sequence number and, if possible, the next place in the ring; then it is offered at ``writes``.

    The path is never stalled: ``records`` is always ready, one record a cycle. ``sequence`` and the lap bit are set here, the rest of the record
    passes as it is. Each record counts in ``records``; one that gets no place counts once more, by the first of these that holds, and is gone:

    1. ``dropped_off``: the ring is not enabled.
    2. ``dropped_full``: the host has not taken enough: ``written - credit`` is 2^size_log2.
    3. ``dropped_busy``: ``waiting`` records have a place but the host port has not taken them.

    Place number ``written`` (from 0, modulo 2^32) is at ``base + 64 * (written mod 2^size_log2)``. The lap bit is 1 in the first lap after reset, 0
    in the second, and so on; so over zeroed memory it tells new records from old ones. ``base`` is rounded down to a multiple of 64. ``base`` and
    ``size_log2`` must not change while the ring is enabled. Credit counts ``CREDIT_LATENCY`` cycles after it came.

    ``LATENCY`` cycles from a record to its write being offered, when none waits.
    """

    LATENCY = 2 + Queue.LATENCY
    CREDIT_LATENCY = 2

    def __init__(self, *, waiting=32):
        self.waiting = waiting
        super().__init__({
            "records": In(stream.Signature(Record, always_ready=True)),
            "writes": Out(stream.Signature(HostWrite)),
            "registers": In(fields(RING)),
        })

    def elaborate(self, platform):
        m = Module()
        # places are reserved before the queue, so it never refuses
        m.submodules.queue = queue = Queue(HostWrite, depth=self.waiting)
        registers = self.registers
        sequence = Signal(64)
        written = Signal(32)
        after = Signal(32, init=1)  # written + 1
        size = Signal(32)           # records
        limit = Signal(32)          # `written` with which the ring is full
        full = Signal(init=1)
        waiting = Signal(range(self.waiting + 1))
        place = Signal()
        leave = Signal()

        m.d.comb += [
            registers.written.eq(written), registers.records.eq(self.records.valid),
            leave.eq(self.writes.valid & self.writes.ready),
        ]
        with m.If(self.records.valid):
            with m.If(~registers.enable):
                m.d.comb += registers.dropped_off.eq(1)
            with m.Elif(full):
                m.d.comb += registers.dropped_full.eq(1)
            with m.Elif(waiting == self.waiting):
                m.d.comb += registers.dropped_busy.eq(1)
            with m.Else():
                m.d.comb += place.eq(1)
            m.d.sync += sequence.eq(sequence + 1)
        with m.If(place):
            m.d.sync += [written.eq(after), after.eq(after + 1)]
        m.d.sync += [
            waiting.eq(waiting + place - leave),
            size.eq(1 << registers.size_log2), limit.eq(registers.credit + size),
            full.eq(Mux(place, equal(after, limit), equal(written, limit))),  # one cycle ahead: it is of the `written` beside it
        ]

        record = Signal(Record, reset_less=True)
        offset = Signal(32, reset_less=True)  # records from the start of the ring
        lap = Signal(reset_less=True)
        placed = Signal()
        m.d.sync += [  # stage 1: number, and find the place
            record.eq(self.records.payload), record.sequence.eq(sequence),
            offset.eq(written & (size - 1)), lap.eq(~(written & size).any()),
            placed.eq(place),
        ]

        finished = Signal(Record)
        write = Signal(HostWrite, reset_less=True)
        write_valid = Signal()
        m.d.comb += [finished.eq(record), finished.number[-1].eq(lap)]  # the last bit of the last byte
        m.d.sync += [  # stage 2: address and lap bit
            write.address.eq(Cat(C(0, 6), registers.base[6:] + offset)), write.data.eq(finished),
            write_valid.eq(placed),
        ]
        m.d.comb += [queue.i.payload.eq(write), queue.i.valid.eq(write_valid)]
        connect(m, wiring.flipped(self.writes), queue.o)
        return m
