"""Exact division of a price by the tick size, without a DSP: where an order rests.

Tick sizes are 100, 50 and 1 (1e-4 USD): 25 times 4 or 2, or nothing to divide. A multiple of 25 below 25 * 2^n is divided exactly by multiplying with the
inverse of 25 modulo 2^(n + 5), and a product below 2^n means both: on the grid and on the ladder.
"""
from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from tickgate.spec.presets import TICK_SIZES

from ..stream.logic import all_ones

assert TICK_SIZES == (100, 50, 1)


def times_tick(index, tick):
    """``index`` ticks in 1e-4 USD; ``tick`` is the code."""
    times_25 = (index << 4) + (index << 3) + index
    return Mux(tick == 2, index, Mux(tick == 1, times_25 << 1, times_25 << 2))


class TickIndex(wiring.Component):
    """The rank of a price on the ladder, or where the price lies when it has none. LATENCY 2 cycles from price to rank, 1 from side."""
    LATENCY = 2

    def __init__(self, *, tick_bits):
        self.tick_bits = tick_bits
        super().__init__({
            "price": In(32), "base": In(32), "tick": In(2),  # 1e-4 USD, 1e-4 USD, code
            "side": In(1),                                   # a cycle later
            "rank": Out(tick_bits), "inside": Out(1),        # on the grid and on the ladder
            "far": Out(1)})                                  # beyond the ladder, where no price is better than one on it

    def elaborate(self, platform):
        m = Module()
        n = self.tick_bits
        wide = n + 5                                         # 25 * 2^n < 2^wide
        inverse = pow(25, -1, 1 << wide)
        off, x, tick = Signal(33, reset_less=True), Signal(wide, reset_less=True), Signal(2, reset_less=True)    # x: 0 when there is nothing to divide
        difference = self.price - self.base
        m.d.sync += [off.eq(difference), tick.eq(self.tick),                                             # stage 1: subtract
                     x.eq(Mux(self.tick == 0, difference[2:], Mux(self.tick == 1, difference[1:], 0)))]
        grid = Mux(tick == 0, (off[:2] == 0) & (off[wide + 2:] == 0), Mux(tick == 1, (off[0] == 0) & (off[wide + 1:] == 0), off[n:] == 0))
        above = (off[:32] >= Mux(tick == 0, TICK_SIZES[0] << n, Mux(tick == 1, TICK_SIZES[1] << n, TICK_SIZES[2] << n))) & ~off[32]

        def times(factor, shift, bits=6):
            """What a chunk of x brings to x * factor, without the zeros below: a table of LUTs."""
            chunk, width = x[shift:shift + bits], wide - shift
            rows = [((k << shift) * factor % (1 << wide)) >> shift for k in range(1 << len(chunk))]
            return Cat(*[Const(sum((v >> bit & 1) << k for k, v in enumerate(rows)), len(rows)).bit_select(chunk, 1) for bit in range(width)])

        product = Signal(wide)                               # but for the chunk from bit 12 on: what it brings must make the product 0 there
        m.d.comb += product.eq(times(inverse, 0) + (times(inverse, 6) << 6))
        high = Cat(Const(0, 12 - n), times(-inverse, 12)) if wide > 12 else Const(0, wide - n)
        m.d.sync += [self.rank.eq(Mux(tick == 2, off[:n], product[:n]) ^ Mux(self.side, 0, (1 << n) - 1)),   # stage 2: multiply, compare
                     self.inside.eq(all_ones(Cat(grid, *[a == b for a, b in zip(product[n:], high, strict=True)]))),
                     self.far.eq(Mux(self.side, above, off[32]))]
        return m
