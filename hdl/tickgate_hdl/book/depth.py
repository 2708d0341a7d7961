"""Depth: the best levels of a symbol, read beside the path, whose ports it uses only in cycles that no message needs.

    wait until no operation of the symbol is under way ─► for each side: groups ─► next group's ticks ─► next tick's level ─► …
An operation of the symbol meanwhile begins the walk anew, so what is shown was the book at one moment: after ``tops`` tops of book since reset (modulo
2^32). A walk takes at most about 24 cycles a level. Only a symbol whose messages never leave that long a pause can keep it from ending; ``tries`` counts.

Assumptions: an operation of a symbol changes its memories within SETTLE cycles after it, the add half of a replace comes within SETTLE cycles after the
remove half; a word asked for in a cycle with ``…_taken`` is there after the memory's latency.
"""
from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, enum, memory, wiring
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


class Walk(enum.Enum, shape=4):
    """What is being done."""
    IDLE = 0
    SETTLE = 1
    SIDE = 2
    GROUPS = 3
    ASK_TICKS = 4
    TAKE_TICKS = 5
    TICKS = 6
    ASK_LEVEL = 7
    TAKE_LEVEL = 8


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
            "op": In(1), "op_slot": In(slot_bits), "top": In(1),
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
        disturbed = self.op & (self.op_slot == slot)

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

        search = Signal(1 << group_bits)                       # one search serves groups and ticks
        searching_ticks = Signal()
        m.d.comb += search.eq(Mux(searching_ticks, ticks, groups))
        parts, some = (delay(m, x, 1, n)[0] for x, n in zip(lowest(search), ("parts", "some")))
        found = encode(parts, group_bits)
        rest = delay(m, search & (search - 1)[:len(search)], 1, "rest")[0]
        wait = Signal(range(max(SETTLE, self.levels_latency, self.bits_latency) + 1))
        m.d.sync += wait.eq(wait + 1)

        state = Signal(Walk)

        def go(next_state):
            return [state.eq(next_state), wait.eq(0)]

        with m.Switch(state):
            with m.Case(Walk.IDLE):
                pass
            with m.Case(Walk.SETTLE):
                with m.If(wait == SETTLE):
                    m.d.sync += [side.eq(0), number.eq(0), host.tops.eq(published), *go(Walk.SIDE)]
            with m.Case(Walk.SIDE):
                m.d.sync += [groups.eq(Mux(side, self.groups[1], self.groups[0])), *go(Walk.GROUPS)]
            with m.Case(Walk.GROUPS):                          # the search takes two cycles
                with m.If(wait == 1):
                    with m.If(some & (number != self.levels)):
                        m.d.sync += [group.eq(found), groups.eq(rest), *go(Walk.ASK_TICKS)]
                    with m.Elif(side):
                        m.d.sync += [host.asks.eq(number), host.busy.eq(0), *go(Walk.IDLE)]
                    with m.Else():
                        m.d.sync += [host.bids.eq(number), side.eq(1), number.eq(0), *go(Walk.SIDE)]
            with m.Case(Walk.ASK_TICKS):
                with m.If(self.bits_taken):
                    m.d.sync += go(Walk.TAKE_TICKS)
            with m.Case(Walk.TAKE_TICKS):
                with m.If(wait == self.bits_latency - 1):
                    m.d.sync += [ticks.eq(self.bits_word), *go(Walk.TICKS)]
            with m.Case(Walk.TICKS):
                m.d.comb += searching_ticks.eq(1)
                with m.If(wait == 1):
                    with m.If(some & (number != self.levels)):
                        m.d.sync += [tick.eq(found), ticks.eq(rest), *go(Walk.ASK_LEVEL)]
                    with m.Else():
                        m.d.sync += go(Walk.GROUPS)
            with m.Case(Walk.ASK_LEVEL):
                with m.If(self.level_taken):
                    m.d.sync += go(Walk.TAKE_LEVEL)
            with m.Case(Walk.TAKE_LEVEL):
                with m.If(wait == self.levels_latency - 1):
                    m.d.comb += write.en.eq(1)
                    m.d.sync += [number.eq(number + 1), *go(Walk.TICKS)]
        # what begins the walk anew comes last, so that it wins
        with m.If(host.start):
            m.d.sync += [slot.eq(host.slot), host.busy.eq(1), host.tries.eq(1), *go(Walk.SETTLE)]
        with m.Elif(host.busy & disturbed):
            m.d.sync += [host.tries.eq(host.tries + (host.tries != 0xFFFF)), *go(Walk.SETTLE)]
        return m
