"""Book: keys and updates to tops of book. Joins order table, tick division and ladder, and decides what is wrong with a message.

Cycles after the word with the last needed byte (t), the same whatever the line's pace:

    A F      t+1 update · t+3 tick, checked · t+4 top of book · t+5 placed in the table · t+7 ladder
    D E C X  t+1 key · t+6 order found, ladder · t+8 top of book
    U        t+2 old order found, taken off the ladder quietly · t+3 tick · t+5 new one placed in the table, checked
             t+6 top of book, old entry retired · t+7 ladder

With ``crossing`` (see table.py) updates wait 2 * crossing cycles here, so that all of these but the keys come as much later.
"""
from amaranth import Module, Mux, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from tickgate.spec import records
from tickgate.spec.registers import DEPTH_LEVELS

from ..feed.events import Op, Symbol, event
from ..stream.join import connect
from ..stream.logic import delay
from .depth import depth_port
from .ladder import Ladder, addition, top
from .table import OrderTable
from .ticks import TickIndex

COUNTERS = ("updates", "outside", "unknown_reference", "duplicate_reference", "overfill", "table_full", "wide_reference")


class Book(wiring.Component):
    LATENCY_ADD = 3      # updates of A F to tops
    LATENCY_REPLACE = 5  # updates of U to tops
    LATENCY_REMOVE = 7   # keys of D E C X to tops; all three without crossing, those of an instance are its own

    def __init__(self, *, key_layout, symbols, tick_bits, index_bits, reference_bits, tables, ways, count_bits, crossing=0):
        self.slot_bits = slot_bits = max(1, (symbols - 1).bit_length())
        self.tick_bits = tick_bits
        self.table = OrderTable(key_layout=key_layout, tick_bits=tick_bits, index_bits=index_bits, reference_bits=reference_bits, tables=tables, ways=ways,
                                crossing=crossing)
        self.late = 2 * crossing
        self.LATENCY_ADD, self.LATENCY_REPLACE, self.LATENCY_REMOVE = (
            cycles + self.late for cycles in (Book.LATENCY_ADD, Book.LATENCY_REPLACE, Book.LATENCY_REMOVE))
        self.ladder = Ladder(symbols=symbols, tick_bits=tick_bits, count_bits=count_bits)
        super().__init__({
            "keys": In(stream.Signature(key_layout, always_ready=True)),
            "updates": In(stream.Signature(event(slot_bits), always_ready=True)),
            "abandoned": In(1),
            "load": In(1), "load_slot": In(slot_bits), "load_symbol": In(Symbol),
            "tops": Out(stream.Signature(top(self.ladder.quantity_bits), always_ready=True)),
            "order_price": Out(32),
            "depth": In(depth_port(slot_bits=slot_bits, quantity_bits=self.ladder.quantity_bits, count_bits=count_bits, levels=DEPTH_LEVELS)),
            "clear": In(1), "clear_row": In(12),
            "events": Out(data.StructLayout({name: 1 for name in COUNTERS}))})

    def elaborate(self, platform):
        m = Module()
        m.submodules.table, m.submodules.ladder = table, ladder = self.table, self.ladder
        m.submodules.ticks = ticks = TickIndex(tick_bits=self.tick_bits)
        connect(m, wiring.flipped(self.keys), table.keys)
        connect(m, ladder.tops, wiring.flipped(self.tops))
        connect(m, wiring.flipped(self.depth), ladder.depth)

        def line(start, cycles, name):
            """``start`` in each of the following cycles too."""
            stages = [start] + [Signal(name=f"{name}_{k}") for k in range(1, cycles + 1)]
            m.d.sync += [stages[k].eq(stages[k - 1]) for k in range(1, cycles + 1)]
            return stages

        up, updates, is_abandoned = self.updates.p, self.updates.valid, self.abandoned
        if self.late:
            up = event(self.slot_bits)(delay(m, up.as_value(), self.late, "update")[-1])
            updates, is_abandoned = line(updates, self.late, "updates")[-1], line(is_abandoned, self.late, "is_abandoned")[-1]

        qty = Signal(32, reset_less=True)                                            # it holds long enough for a cycle more
        m.d.sync += qty.eq(up.qty)

        # ---- the host's: a cycle later, near the memories
        clear, clear_row, load, load_slot, s = Signal(), Signal.like(self.clear_row), Signal(), Signal.like(self.load_slot), Signal(Symbol)
        m.d.sync += [clear.eq(self.clear), clear_row.eq(self.clear_row), load.eq(self.load), load_slot.eq(self.load_slot), s.eq(self.load_symbol)]
        m.submodules.grids = grids = memory.Memory(shape=34, depth=1 << self.slot_bits, init=[])
        grid_write, grid_read = grids.write_port(), grids.read_port(domain="comb")
        m.d.comb += [
            grid_write.en.eq(load), grid_write.addr.eq(load_slot), grid_write.data.eq(s.base | s.tick << 32), grid_read.addr.eq(up.slot),
            ladder.load.eq(load), ladder.load_slot.eq(load_slot), ladder.load_base.eq(s.base), ladder.load_tick.eq(s.tick),
            ticks.price.eq(up.price), ticks.base.eq(grid_read.data[:32]), ticks.tick.eq(grid_read.data[32:]),
            table.clear.eq(clear), table.clear_row.eq(clear_row), ladder.clear.eq(clear), ladder.clear_row.eq(clear_row),
            table.take.eq(qty), self.order_price.eq(ladder.order_price)]

        add = line(updates & (up.op == Op.ADD), 2, "add")                            # [k]: t + 1 + k
        replace = line(updates & (up.op == Op.REPLACE), 4, "replace")
        abandoned = line(is_abandoned, 6, "abandoned")                               # long enough for the old order to have been found

        # ---- the old order of a replace
        old_side, old_found, old_wide = Signal(), Signal(), Signal()
        with m.If(table.find & table.replace):
            m.d.sync += [old_side.eq(table.order.side), old_found.eq(table.hit), old_wide.eq(table.wide)]
        retire = Signal()
        m.d.sync += retire.eq((replace[4] | abandoned[6]) & old_found)

        # ---- where a new order rests: known at t+3 of A F, at t+4 of U, since its side comes from the old order; kept, since the next update may overtake it
        m.d.comb += ticks.side.eq(Mux(add[1], up.side, old_side))
        near = ~ticks.inside & ~ticks.far
        new, new_slot = Signal(addition(self.tick_bits), reset_less=True), Signal(self.slot_bits, reset_less=True)
        with m.If(add[2] | replace[3]):
            m.d.sync += [new_slot.eq(up.slot), new.side.eq(Mux(add[2], up.side, old_side)), new.outside.eq(~ticks.inside), new.price.eq(up.price),
                         new.qty.eq(up.qty), new.rank.eq(Mux(ticks.inside, ticks.rank, near))]
        comes = line(add[2] | replace[2] & old_found, 2, "comes")                    # [k]: t + 3 + k
        placed = line(comes[2] & table.room, 2, "placed")                            # [k]: t + 5 + k
        m.d.comb += [
            table.put.eq(comes[2]), *[getattr(table.put_place, name).eq(getattr(new, name)) for name in table.put_place.shape().members],
            table.retire.eq(retire), ladder.adds.valid.eq(placed[2]), ladder.adds.p.eq(new)]

        # ---- removals, when found
        gone, order = ladder.removals.p, table.order
        fault = Mux(table.wide, records.WIDE_REFERENCE, Mux(~table.hit, records.UNKNOWN_REFERENCE, Mux(
            ~table.whole & (qty > order.qty), records.OVERFILL, records.NO_FAULT)))
        m.d.comb += [
            ladder.next_slot.eq(Mux(table.next_find, table.next_slot, new_slot)),
            ladder.removals.valid.eq(table.find & (table.hit | ~table.replace)), gone.quiet.eq(table.replace), gone.miss.eq(~table.hit), gone.fault.eq(fault),
            gone.side.eq(order.side), gone.rank.eq(order.rank), gone.outside.eq(order.outside), gone.qty.eq(qty), gone.order_qty.eq(order.qty),
            gone.whole.eq(table.whole)]

        # ---- fast path of A F from t+2, of U from t+4, each checked a cycle later
        asks = Signal()                                                              # it rests if there is room
        m.d.sync += [ladder.fast_valid.eq(add[0] | replace[2]), ladder.fast_asks.eq(add[0] | replace[2] & old_found), asks.eq(ladder.fast_asks),
                     ladder.fast_kept.eq(replace[2] & old_found), ladder.fast_slot.eq(up.slot), ladder.fast_side.eq(Mux(replace[2], old_side, up.side)),
                     ladder.fast_price.eq(up.price)]
        refused = Mux(table.put_wide, records.WIDE_REFERENCE, Mux(table.duplicate, records.DUPLICATE_REFERENCE, records.TABLE_FULL))
        m.d.comb += [
            ladder.fast_qty.eq(qty), ladder.fast_inside.eq(table.room & ticks.inside),
            ladder.fast_near.eq(table.room & near), ladder.fast_far.eq(table.room & ticks.far),
            ladder.fast_fault.eq(Mux(asks, Mux(table.room, records.NO_FAULT, refused),
                                     Mux(old_wide, records.WIDE_REFERENCE, records.UNKNOWN_REFERENCE)))]

        # ---- counters, a cycle later
        e, top_fault = self.events, ladder.tops.p.fault
        m.d.sync += [e.updates.eq(ladder.tops.valid), e.outside.eq(placed[1] & new.outside),
                     *[getattr(e, name).eq(ladder.tops.valid & (top_fault == code)) for name, (code, _) in records.FAULTS.items() if code]]
        return m
