"""EventRing: never beyond the host's credit, every record numbered, no hole that is not counted."""
from amaranth import Cat, Const, Mux, Signal

from tickgate_hdl.dma.ring import EventRing
from tickgate_sim.formal import proof

RING = "tickgate_hdl.dma.ring"
WAITING = 2


@proof("no place is written that the host has not freed; a record has a place or counts as dropped, for one cause; writes come in the order of places, "
       "each to its own, with the record's number and the lap bit", engine="bmc3", depth=18, mutants=[
    (RING, "full.eq(Mux(place, equal(after, limit), equal(written, limit)))", "full.eq(equal(written, limit))"),
    (RING, "with m.Elif(waiting == self.waiting):", "with m.Elif(waiting == self.waiting + 1):"),
    (RING, "m.d.sync += sequence.eq(sequence + 1)", "m.d.sync += sequence.eq(sequence + ~registers.dropped_full)"),
    (RING, "lap.eq(~(written & size).any())", "lap.eq(~written[0])"),
])
def places(b):
    """Rings of 1, 2, 4 or 2^20 records, 2 that wait; the host frees places at any time, but only what was written, and sets the size before it enables."""
    m = b.m
    ring = b.part(EventRing(waiting=WAITING))
    r, record = ring.registers, ring.records.p
    size_log2 = b.fixed("log2", len(r.size_log2))
    b.assume((size_log2 <= 2) | (size_log2 == 20))
    b.drive(r.size_log2, size_log2)
    base = b.fixed("where", 64)
    b.drive(r.base, base)
    placed = ring.records.valid & ~r.dropped_off & ~r.dropped_full & ~r.dropped_busy
    frees, used, credit = b.free("frees"), Signal(32), Signal(32)
    freed = frees & (used != 0)
    m.d.sync += [used.eq(used + placed - freed), credit.eq(credit + freed)]
    b.drive(r.credit, credit)
    settled = b.before(Const(1), "settled", EventRing.CREDIT_LATENCY)
    b.assume(settled | ~r.enable)
    b.prove("never beyond the credit", used <= Const(1, 33) << size_log2)
    b.prove("written: what has a place", r.written == credit + used)
    b.prove("each record has a place or one cause", Cat(placed, r.dropped_off, r.dropped_full, r.dropped_busy)
            == Mux(ring.records.valid, Mux(~r.enable, 2, Mux(r.dropped_full, 4, Mux(r.dropped_busy, 8, 1))), 0))
    # one record, any one, is followed: its number and its place
    number, ahead, waits = Signal(8), Signal(4), Signal(4)          # of the next record; of placed ones that have not left, before the followed one
    pick, followed, kind, mine, place = b.free("pick"), Signal(), Signal(8), Signal(8), Signal(32)
    leaves = ring.writes.valid & ring.writes.ready
    m.d.sync += [number.eq(number + ring.records.valid), waits.eq(waits + placed - leaves)]
    with m.If(pick & placed & ~followed):
        m.d.sync += [followed.eq(1), kind.eq(record.kind), mine.eq(number), place.eq(r.written), ahead.eq(waits - leaves)]
    with m.Elif(followed & leaves):
        m.d.sync += [ahead.eq(ahead - 1), followed.eq(ahead != 0)]
    out, its = Signal(record.shape()), followed & (ahead == 0) & ring.writes.valid
    m.d.comb += out.eq(ring.writes.payload.data)
    b.prove("nothing is written that did not come", ~ring.writes.valid | (waits != 0))
    b.prove("to its place", ~its | (ring.writes.payload.address == Cat(Const(0, 6), base[6:] + (place & ((1 << size_log2) - 1)[:32]))[:64]))
    b.prove("with its number, kind and lap", ~its | (out.sequence == mine) & (out.kind == kind) & (out.number[-1] == ~(place >> size_log2)[0]))
    b.prove("never more than wait", waits <= WAITING)
    b.cover("full", r.dropped_full & (size_log2 == 1))
    b.cover("busy", r.dropped_busy)
    b.cover("second lap", its & ~out.number[-1])
    b.cover("a hole", its & (out.sequence == 3) & (place == 2))
