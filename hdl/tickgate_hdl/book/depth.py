"""Depth: the best levels of a symbol, read beside the path, whose ports it uses only in cycles that no message needs.

    wait until no operation of the symbol is under way ─► for each side: groups ─► next group's ticks ─► next tick's level ─► …
An operation of the symbol meanwhile begins the walk anew, so what is shown was the book at one moment: after ``tops`` tops of book since reset (modulo
2^32). A walk takes some 7 to 15 cycles a level, when the ports are free. Only a symbol whose messages never leave that long a pause can keep it from
ending; ``tries`` counts. When the memories are cleared it begins anew too.

Assumptions: an operation of a symbol changes its memories within SETTLE cycles after it, the add half of a replace comes within SETTLE cycles after the
remove half; a word asked for in a cycle with ``…_taken`` is there after the memory's latency.
"""
from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from ..stream.logic import delay, encode, lowest
from .ticks import times_tick

SETTLE = 16   # cycles


def depth_port(*, slot_bits, quantity_bits, count_bits, levels):
    """Requests and results, seen from who asks. ``start`` with ``slot`` begins, whatever was under way; ``busy`` until the result is there: ``bids`` and
    ``asks`` that exist, at most ``levels`` each, and the one that ``show`` names ({side, number}, 0 the best), two cycles later."""
    return wiring.Signature({
        "start": Out(1), "slot": Out(slot_bits), "busy": In(1),
        "tries": In(16),     # walks that it took
        "tops": In(32),      # the book was this after so many tops of book
        "bids": In(range(levels + 1)), "asks": In(range(levels + 1)), "show": Out(1 + (levels - 1).bit_length()),
        "price": In(32), "qty": In(quantity_bits), "orders": In(count_bits)})   # 1e-4 USD, shares


#: What is being done, a bit each.
IDLE, SETTLE_DOWN, SIDE, GROUPS, ASK_TICKS, TICKS, ASK_LEVEL = (1 << k for k in range(7))


class Depth(wiring.Component):
    """``levels``: shown a side. ``bits_latency``, ``levels_latency``: of the memories, cycles."""

    def __init__(self, *, slot_bits, tick_bits, quantity_bits, count_bits, levels, bits_latency=1, levels_latency=3):
        self.slot_bits, self.tick_bits, self.quantity_bits, self.count_bits = slot_bits, tick_bits, quantity_bits, count_bits
        self.levels, self.bits_latency, self.levels_latency = levels, bits_latency, levels_latency
        self.number_bits = (levels - 1).bit_length()
        group_bits = tick_bits // 2
        super().__init__({
            "host": In(depth_port(slot_bits=slot_bits, quantity_bits=quantity_bits, count_bits=count_bits, levels=levels)),
            # of the ladder: operations as they begin, published tops, and its memories
            "op": In(1), "op_slot": In(slot_bits), "top": In(1), "clear": In(1),
            "at": Out(slot_bits), "groups": In(data.ArrayLayout(1 << group_bits, 2)), "base": In(32), "tick": In(2),   # of slot ``at``, combinational
            "side": Out(1), "bits_address": Out(slot_bits + group_bits), "bits_taken": In(1), "bits_word": In(1 << group_bits),
            "level_address": Out(slot_bits + tick_bits), "level_taken": In(1),
            "level_word": In(data.StructLayout({"qty": quantity_bits, "count": count_bits}))})

    def elaborate(self, platform):
        m, host = Module(), self.host
        tick_bits, group_bits = self.tick_bits, self.tick_bits // 2
        side, number = self.side, Signal(range(self.levels + 1))
        slot = Signal(self.slot_bits)
        groups, ticks = Signal(1 << group_bits, reset_less=True), Signal(1 << group_bits, reset_less=True)   # those not walked yet
        group, tick = Signal(group_bits, reset_less=True), Signal(group_bits, reset_less=True)
        rank = Cat(tick, group)
        published = Signal(32)
        with m.If(self.top):
            m.d.sync += published.eq(published + 1)
        again = Signal()                                       # the walk begins anew
        m.d.sync += again.eq(host.start | host.busy & (self.clear | self.op & (self.op_slot == slot)))

        m.submodules.result = result = memory.Memory(
            shape=data.StructLayout({"price": 32, "qty": self.quantity_bits, "count": self.count_bits}), depth=2 << self.number_bits, init=[])
        write, read = result.write_port(), result.read_port()
        m.d.comb += [read.addr.eq(host.show), self.at.eq(slot)]
        m.d.sync += [host.price.eq(read.data.price), host.qty.eq(read.data.qty), host.orders.eq(read.data.count)]

        # the price of ``rank``, two registers later: there is time
        index = Signal(tick_bits)
        m.d.comb += index.eq(rank ^ Mux(side, 0, (1 << tick_bits) - 1))
        part = delay(m, times_tick(index, self.tick), 1, "part")[0]
        price = delay(m, (self.base + part)[:32], 1, "price")[0]
        m.d.comb += [self.bits_address.eq(Cat(group, slot)), self.level_address.eq(Cat(rank, slot)),
                     write.addr.eq(Cat(number[:self.number_bits], side)), write.data.price.eq(price), write.data.qty.eq(self.level_word.qty),
                     write.data.count.eq(self.level_word.count)]

        # the walk: a bit for each state, and for how long it has been in it, so that nothing here is deep
        state, waited = Signal(7, init=IDLE), Signal(SETTLE + 1)
        at = {name: (state & name).any() for name in (SETTLE_DOWN, SIDE, GROUPS, ASK_TICKS, TICKS, ASK_LEVEL)}
        asked_bits, asked_level = Signal(self.bits_latency), Signal(self.levels_latency)     # words under way
        search = Signal(1 << group_bits)                       # one search serves groups and ticks; it takes two cycles
        m.d.comb += search.eq(Mux(at[TICKS], ticks, groups))
        parts, some = (delay(m, x, 1, n)[0] for x, n in zip(lowest(search), ("parts", "some")))
        found = encode(parts, group_bits)
        rest = delay(m, search & (search - 1)[:len(search)], 1, "rest")[0]
        full = Signal()
        m.d.sync += full.eq(number == self.levels)
        goes_on = some & ~full

        def go(next_state):
            return [state.eq(next_state), waited.eq(1), asked_bits.eq(0), asked_level.eq(0)]

        m.d.sync += [waited.eq(waited << 1), asked_bits.eq(Cat(at[ASK_TICKS] & self.bits_taken, asked_bits)),
                     asked_level.eq(Cat(at[ASK_LEVEL] & self.level_taken, asked_level))]
        with m.If(again):
            m.d.sync += [side.eq(0), number.eq(0), host.tries.eq(host.tries + (host.tries != 0xFFFF)), *go(SETTLE_DOWN)]
        with m.Elif(at[SETTLE_DOWN] & waited[SETTLE]):
            m.d.sync += [host.tops.eq(published), *go(SIDE)]
        with m.Elif(at[SIDE]):
            m.d.sync += [groups.eq(Mux(side, self.groups[1], self.groups[0])), *go(GROUPS)]
        with m.Elif(at[GROUPS] & waited[2]):
            with m.If(goes_on):
                m.d.sync += [group.eq(found), groups.eq(rest), *go(ASK_TICKS)]
            with m.Elif(side):
                m.d.sync += [host.asks.eq(number), host.busy.eq(0), *go(IDLE)]
            with m.Else():
                m.d.sync += [host.bids.eq(number), side.eq(1), number.eq(0), *go(SIDE)]
        with m.Elif(at[ASK_TICKS] & asked_bits[-1]):
            m.d.sync += [ticks.eq(self.bits_word), *go(TICKS)]
        with m.Elif(at[TICKS] & waited[2]):
            with m.If(goes_on):
                m.d.sync += [tick.eq(found), ticks.eq(rest), *go(ASK_LEVEL)]
            with m.Else():
                m.d.sync += go(GROUPS)
        with m.Elif(at[ASK_LEVEL] & asked_level[-1]):
            m.d.comb += write.en.eq(1)
            m.d.sync += [number.eq(number + 1), *go(TICKS)]
        with m.If(host.start):
            m.d.sync += [slot.eq(host.slot), host.busy.eq(1), host.tries.eq(0)]
        return m
