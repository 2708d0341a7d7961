"""Book: keys and updates to tops of book. Joins order table, tick division and ladder, and decides what is wrong with a message.

Cycles after the word with the last needed byte (t), the same whatever the line's pace:

    A F      t+1 update · t+3 placed in table and ladder, checked · t+4 top of book
    D E C X  t+1 key · t+6 order found, ladder                    · t+8 top of book
    U        t+2 old order found, taken off the ladder quietly · t+3 tick · t+5 new one placed in the table, checked
             t+6 top of book, old entry retired · t+7 ladder
"""
from amaranth import Module, Mux, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from tickgate.spec import records

from ..feed.events import Op, Symbol, event
from ..stream.join import connect
from .ladder import Ladder, top
from .table import OrderTable
from .ticks import TickIndex

COUNTERS = ("updates", "outside", "unknown_reference", "duplicate_reference", "overfill", "table_full", "wide_reference")


class Book(wiring.Component):
    LATENCY_ADD = 3      # updates of A F to tops
    LATENCY_REPLACE = 5  # updates of U to tops
    LATENCY_REMOVE = 7   # keys of D E C X to tops

    def __init__(self, *, key_layout, symbols, tick_bits, index_bits, reference_bits, tables, ways, count_bits):
        self.slot_bits = slot_bits = max(1, (symbols - 1).bit_length())
        self.tick_bits = tick_bits
        self.table = OrderTable(key_layout=key_layout, tick_bits=tick_bits, index_bits=index_bits, reference_bits=reference_bits, tables=tables, ways=ways)
        self.ladder = Ladder(symbols=symbols, tick_bits=tick_bits, count_bits=count_bits)
        super().__init__({
            "keys": In(stream.Signature(key_layout, always_ready=True)),
            "updates": In(stream.Signature(event(slot_bits), always_ready=True)),
            "abandoned": In(1),
            "load": In(1), "load_slot": In(slot_bits), "load_symbol": In(Symbol),
            "tops": Out(stream.Signature(top(self.ladder.quantity_bits), always_ready=True)),
            "order_price": Out(32),
            "clear": In(1), "clear_row": In(12),
            "events": Out(data.StructLayout({name: 1 for name in COUNTERS}))})

    def elaborate(self, platform):
        m = Module()
        m.submodules.table, m.submodules.ladder = table, ladder = self.table, self.ladder
        m.submodules.ticks = ticks = TickIndex(tick_bits=self.tick_bits)
        connect(m, wiring.flipped(self.keys), table.keys)
        connect(m, ladder.tops, wiring.flipped(self.tops))
        up, last_rank = self.updates.p, (1 << self.tick_bits) - 1
        m.submodules.grids = grids = memory.Memory(shape=34, depth=1 << self.slot_bits, init=[])
        grid_write, grid_read = grids.write_port(), grids.read_port(domain="comb")
        s = self.load_symbol
        m.d.comb += [
            grid_write.en.eq(self.load), grid_write.addr.eq(self.load_slot), grid_write.data.eq(s.base | s.tick << 32), grid_read.addr.eq(up.slot),
            ladder.load.eq(self.load), ladder.load_slot.eq(self.load_slot), ladder.load_base.eq(s.base), ladder.load_tick.eq(s.tick),
            ticks.price.eq(up.price), ticks.base.eq(grid_read.data[:32]), ticks.tick.eq(grid_read.data[32:]),
            table.clear.eq(self.clear), table.clear_row.eq(self.clear_row), ladder.clear.eq(self.clear), ladder.clear_row.eq(self.clear_row),
            table.take.eq(up.qty), self.order_price.eq(ladder.order_price)]

        def line(start, cycles, name):
            """``start`` in each of the following cycles too."""
            stages = [start] + [Signal(name=f"{name}_{k}") for k in range(1, cycles + 1)]
            m.d.sync += [stages[k].eq(stages[k - 1]) for k in range(1, cycles + 1)]
            return stages

        is_add = self.updates.valid & (up.op == Op.ADD)
        is_replace = self.updates.valid & (up.op == Op.REPLACE)
        add, replace = line(is_add, 2, "add"), line(is_replace, 6, "replace")        # [k]: t + 1 + k

        # ---- the old order of a replace
        old_side, old_found, old_wide = Signal(), Signal(), Signal()
        with m.If(table.find & table.replace):
            m.d.sync += [old_side.eq(table.order.side & table.hit), old_found.eq(table.hit), old_wide.eq(table.wide)]

        abandoned = line(self.abandoned, 7, "abandoned")                             # long enough for the old order to have been found

        # ---- where an order rests; an add's fields are still the parser's, a replace's are kept, since the next update may overtake them
        def where(side):
            near = ~ticks.inside & Mux(side, ~ticks.above, ~ticks.below)
            return ticks.inside, near, ~ticks.inside & ~near

        def rank_of(index, side):
            return index ^ Mux(side, 0, last_rank)

        a_inside, a_near, a_far = where(up.side)                                    # at add[2]
        u_inside, u_near, u_far = Signal(), Signal(), Signal()
        u_slot, u_qty, u_price, u_rank = Signal(self.slot_bits), Signal(32), Signal(32), Signal(self.tick_bits)
        with m.If(is_replace):
            m.d.sync += [u_slot.eq(up.slot), u_qty.eq(up.qty), u_price.eq(up.price)]
        with m.If(replace[2]):
            inside, near, far = where(old_side)
            m.d.sync += [u_inside.eq(inside), u_near.eq(near), u_far.eq(far), u_rank.eq(rank_of(ticks.index, old_side))]
        a_rank = rank_of(ticks.index, up.side)
        a_put, u_put = add[2], replace[4] & old_found
        u_rests = Signal()
        with m.If(replace[4]):
            m.d.sync += u_rests.eq(old_found & table.room)
        p = table.put_place
        m.d.comb += [
            table.put.eq(a_put | u_put), table.retire.eq((replace[5] | abandoned[-1]) & old_found),
            p.side.eq(Mux(a_put, up.side, old_side)), p.qty.eq(Mux(a_put, up.qty, u_qty)), p.outside.eq(~Mux(a_put, a_inside, u_inside)),
            p.rank.eq(Mux(a_put, Mux(a_inside, a_rank, a_near), Mux(u_inside, u_rank, u_near)))]

        # ---- ladder operations: removals when found, adds when placed
        op = ladder.op
        removal = table.find
        u_op = replace[6] & u_rests
        overfill = table.hit & ~table.whole & (up.qty > table.order.qty)
        m.d.comb += [
            ladder.next_slot.eq(Mux(table.next_find, table.next_slot, Mux(add[1], up.slot, u_slot))),
            ladder.op_valid.eq(removal & (table.hit | ~table.replace) | a_put & table.room | u_op),
            op.add.eq(~removal), op.quiet.eq(removal & table.replace), op.miss.eq(removal & ~table.hit),
            op.fault.eq(Mux(table.wide, records.WIDE_REFERENCE, Mux(~table.hit, records.UNKNOWN_REFERENCE, Mux(overfill, records.OVERFILL, records.NO_FAULT)))),
            op.side.eq(Mux(removal, table.order.side & table.hit, Mux(a_put, up.side, old_side))),
            op.rank.eq(Mux(removal, table.order.rank, Mux(a_put, Mux(a_inside, a_rank, a_near), Mux(u_inside, u_rank, u_near)))),
            op.outside.eq(Mux(removal, table.order.outside, ~Mux(a_put, a_inside, u_inside))),
            op.price.eq(Mux(a_put, up.price, u_price)), op.qty.eq(Mux(u_op, u_qty, up.qty)),
            op.order_qty.eq(Mux(table.hit, table.order.qty, 0)), op.whole.eq(table.whole)]

        # ---- fast path
        u_fast = replace[3]
        a_check = add[2]                                                             # its second cycle; a replace's is replace[4]
        refused = Mux(table.put_wide, records.WIDE_REFERENCE, Mux(table.duplicate, records.DUPLICATE_REFERENCE, records.TABLE_FULL))
        rests = table.room & (a_check | old_found)
        m.d.comb += [
            ladder.fast_valid.eq(add[1] | u_fast), ladder.fast_kept.eq(u_fast & old_found), ladder.fast_slot.eq(Mux(u_fast, u_slot, up.slot)),
            ladder.fast_side.eq(Mux(u_fast, old_side, up.side)), ladder.fast_price.eq(Mux(u_fast, u_price, up.price)),
            ladder.fast_qty.eq(Mux(u_fast, u_qty, up.qty)),
            ladder.fast_inside.eq(rests & Mux(a_check, a_inside, u_inside)), ladder.fast_near.eq(rests & Mux(a_check, a_near, u_near)),
            ladder.fast_far.eq(rests & Mux(a_check, a_far, u_far)),
            ladder.fast_fault.eq(Mux(~a_check & ~old_found, Mux(old_wide, records.WIDE_REFERENCE, records.UNKNOWN_REFERENCE),
                                     Mux(table.room, records.NO_FAULT, refused)))]

        e, fault = self.events, Signal(4)
        m.d.comb += [fault.eq(ladder.tops.p.fault), e.updates.eq(ladder.tops.valid),
                     e.outside.eq(table.put & table.room & p.outside),
                     *[getattr(e, name).eq(ladder.tops.valid & (fault == code)) for name, (code, _) in records.FAULTS.items() if code]]
        return m
