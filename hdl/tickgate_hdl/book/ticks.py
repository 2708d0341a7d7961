"""Exact division of a price by the tick size, without a DSP.

Tick sizes are 100, 50 and 1 (1e-4 USD): 25 times 4 or 2, or nothing to divide. A multiple of 25 below 25 * 2^n is divided exactly by multiplying with the
inverse of 25 modulo 2^(n + 5), and a product below 2^n means both: on the grid and on the ladder.
"""
from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from tickgate.spec.presets import TICK_SIZES

assert TICK_SIZES == (100, 50, 1)


def times_tick(index, tick):
    """``index`` ticks in 1e-4 USD; ``tick`` is the code."""
    times_25 = (index << 4) + (index << 3) + index
    return Mux(tick == 2, index, Mux(tick == 1, times_25 << 1, times_25 << 2))


class TickIndex(wiring.Component):
    """Ladder index of a price, and where the price lies when it is not on the ladder. LATENCY 2 cycles."""
    LATENCY = 2

    def __init__(self, *, tick_bits):
        self.tick_bits = tick_bits
        super().__init__({
            "price": In(32), "base": In(32), "tick": In(2),  # 1e-4 USD, 1e-4 USD, code
            "index": Out(tick_bits), "inside": Out(1),       # on the grid and on the ladder
            "below": Out(1), "above": Out(1)})               # beyond the ladder, on the grid or not

    def elaborate(self, platform):
        m = Module()
        n = self.tick_bits
        wide = n + 5                                         # 25 * 2^n < 2^wide
        inverse = pow(25, -1, 1 << wide)
        off = Signal(33, reset_less=True)
        tick = Signal(2, reset_less=True)
        m.d.sync += [off.eq(self.price - self.base), tick.eq(self.tick)]                                 # stage 1: subtract
        x = Signal(wide)
        m.d.comb += x.eq(Mux(tick == 0, off[2:], Mux(tick == 1, off[1:], off)))
        grid = Mux(tick == 0, (off[:2] == 0) & (off[wide + 2:] == 0), Mux(tick == 1, (off[0] == 0) & (off[wide + 1:] == 0), off[n:] == 0))

        def times(chunk, shift):
            """The part of x * inverse that one chunk of x brings: a table of LUTs."""
            width = wide - shift
            rows = [((k << shift) * inverse % (1 << wide)) >> shift for k in range(1 << len(chunk))]
            return Cat(*[Const(sum((v >> bit & 1) << k for k, v in enumerate(rows)), len(rows)).bit_select(chunk, 1) for bit in range(width)])

        product = Signal(wide)
        m.d.comb += product.eq(sum((times(x[k:k + 6], k) << k for k in range(0, wide, 6)), Const(0, 1)))
        spans = [size << n for size in TICK_SIZES]
        span = Mux(tick == 0, spans[0], Mux(tick == 1, spans[1], spans[2]))
        plain = tick == 2
        m.d.sync += [self.index.eq(Mux(plain, off[:n], product[:n])),                                    # stage 2: multiply, compare
                     self.inside.eq(grid & (plain | (product[n:] == 0))), self.below.eq(off[32]), self.above.eq(~off[32] & (off[:32] >= span))]
        return m
