"""TickIndex: exact for every price, base and tick size."""
from amaranth import Const, Mux, Signal

from tickgate.spec.presets import TICK_SIZES
from tickgate_hdl.book.ticks import TickIndex
from tickgate_sim.formal import proof

TICKS = "tickgate_hdl.book.ticks"


@proof("a price is inside, with its rank, exactly if it is base + index * tick for an index of the ladder; far is right too, for both sides",
       engine="ind", depth=TickIndex.LATENCY + 1, mutants=[
    (TICKS, "(off[:2] == 0)", "(off[0] == 0)"),
    (TICKS, "inverse = pow(25, -1, 1 << wide)", "inverse = pow(25, -1, 1 << wide - 1)"),
    (TICKS, "TICK_SIZES[1] << n", "TICK_SIZES[1] << n - 1"),
])
def exact(b):
    """All prices and bases of 32 bits, all tick sizes, ladders of 4096 ticks; ``guess`` is any index, so no other index can be right."""
    bits = 12
    ticks = b.part(TickIndex(tick_bits=bits))
    b.assume(ticks.tick < len(TICK_SIZES))
    price, base, tick = (b.before(getattr(ticks, name), name, TickIndex.LATENCY) for name in ("price", "base", "tick"))
    side = b.before(ticks.side, "side")
    started = b.before(Const(1), "started", TickIndex.LATENCY)

    def times(index):
        return Mux(tick == 0, index * TICK_SIZES[0], Mux(tick == 1, index * TICK_SIZES[1], index * TICK_SIZES[2]))

    off, span, guess, index = Signal(33), Signal(32), b.free("guess", bits), Signal(bits)
    b.m.d.comb += [off.eq(price - base), span.eq(times(Const(1 << bits))), index.eq(ticks.rank ^ Mux(side, 0, (1 << bits) - 1))]
    b.prove("inside: price = base + index * tick", ~(started & ticks.inside) | (off == times(index)))
    b.prove("price = base + guess * tick: inside, and the index is the guess", ~(started & (off == times(guess))) | ticks.inside & (index == guess))
    b.prove("far: above of a sell, below of a buy", ~started | (ticks.far == Mux(side, (price >= base) & (off[:32] >= span), price < base)))
    for k, size in enumerate(TICK_SIZES):
        b.cover(f"inside, tick {size}", started & ticks.inside & (tick == k) & (index > 1 << bits - 1))
    b.cover("far", started & ticks.far & side)
