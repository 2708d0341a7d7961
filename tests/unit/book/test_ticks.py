"""Prices to ticks: every tick of the ladder, everything beside them, and the ends of the number range."""
import random

import pytest
from amaranth import Module, Signal
from amaranth.sim import Simulator

from tickgate.spec.presets import TICK_SIZES
from tickgate_hdl.book.ticks import TickIndex, times_tick
from tickgate_sim.models.hop import Script, play

TOP = (1 << 32) - 1


class Ticks(Script):
    """A price a cycle, as (price, base, code of the tick size), of either side."""

    def __init__(self, tick_bits, cases, seed):
        super().__init__(seed, len(cases) + TickIndex.LATENCY + 1)
        self.inside = 0
        for cycle, (price, base, code) in enumerate(cases):
            side = self.rng.randrange(2)
            self.drive(cycle, {"price": price, "base": base, "tick": code})
            self.drive(cycle + 1, {"side": side})
            tick, span = TICK_SIZES[code], TICK_SIZES[code] << tick_bits
            inside = base <= price < base + span and (price - base) % tick == 0
            want = {"inside": int(inside), "far": int(price >= base + span if side else price < base)}
            if inside:
                index = (price - base) // tick
                want["rank"] = index if side else (1 << tick_bits) - 1 - index
            self.expect(cycle + TickIndex.LATENCY, want)
            self.inside += inside


def bases(tick_bits, code):
    span = TICK_SIZES[code] << tick_bits
    return 0, 1, 1_234_567, TOP + 1 - span, TOP - span // 2, TOP    # the last two ladders end where no price is


@pytest.mark.parametrize("code", range(len(TICK_SIZES)))
def test_every_price_around_a_small_ladder(code):
    span = TICK_SIZES[code] << 4
    cases = [(price, base, code) for base in bases(4, code)[1:4] for price in range(max(0, base - 30), min(TOP, base + span + 30) + 1)]
    script = Ticks(4, cases, "small ladder")
    play(TickIndex(tick_bits=4), script)
    assert script.inside == 3 * 16


@pytest.mark.parametrize("code", range(len(TICK_SIZES)))
def test_every_tick_of_a_large_ladder(code):
    tick, base = TICK_SIZES[code], bases(12, code)[3]
    script = Ticks(12, [(base + tick * k, base, code) for k in range(1 << 12)], "every tick")
    play(TickIndex(tick_bits=12), script)
    assert script.inside == 1 << 12


def test_any_price_base_and_tick_size():
    """One a cycle, with all the numbers changing."""
    print("seed any price")
    rng, cases = random.Random("any price"), []
    for _ in range(3000):
        code = rng.randrange(len(TICK_SIZES))
        tick, span = TICK_SIZES[code], TICK_SIZES[code] << 12
        base = rng.choice((*bases(12, code), rng.getrandbits(32)))
        price = rng.choice((rng.getrandbits(32), 0, TOP, base, base - 1, base - tick, base + span, base + span - 1, base + span - tick,
                            base + rng.randrange(span), base + tick * rng.randrange(1 << 12),
                            base + tick * rng.randrange(1 << 12) + rng.choice((1, -1, 2, 25, 50)),
                            base + (rng.randrange(span) | 1 << rng.randrange(20, 32))))
        cases.append((min(TOP, max(0, price)), base, code))
    script = Ticks(12, cases, "any price")
    play(TickIndex(tick_bits=12), script)
    assert script.inside > 200


def test_times_tick():
    m, index, code, out = Module(), Signal(12), Signal(2), Signal(32)
    m.d.comb += out.eq(times_tick(index, code))

    async def bench(ctx):
        for c, tick in enumerate(TICK_SIZES):
            ctx.set(code, c)
            for k in range(1 << 12):
                ctx.set(index, k)
                assert ctx.get(out) == k * tick

    sim = Simulator(m)
    sim.add_testbench(bench)
    sim.run()
