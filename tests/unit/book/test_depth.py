"""Depth reader against a book of plain dictionaries, with memories whose ports are often taken and messages that disturb it."""
import random

import pytest
from amaranth.sim import Simulator

from tickgate.spec.presets import TICK_SIZES
from tickgate_hdl.book.depth import SETTLE, Depth

SLOT_BITS, TICK_BITS, GROUP_BITS = 1, 8, 4
SHAPE = dict(slot_bits=SLOT_BITS, tick_bits=TICK_BITS, quantity_bits=40, count_bits=8, levels=10)


def made_book(rng, fill):
    """{(slot, side): {rank: (qty, count)}}"""
    return {(slot, side): {rank: (rng.getrandbits(40), rng.randrange(1, 256)) for rank in range(1 << TICK_BITS) if rng.random() < fill}
            for slot in range(1 << SLOT_BITS) for side in range(2)}


def expected(book, slot, side, base, tick, levels):
    """(price, qty, count), best first."""
    ranks = sorted(book[slot, side])[:levels]
    return [(base + tick * (rank if side else (1 << TICK_BITS) - 1 - rank), *book[slot, side][rank]) for rank in ranks]


class Memories:
    """Bitmaps and levels behind busy ports; answers the reader as the ladder does."""

    def __init__(self, dut, book, rng, busy):
        self.dut, self.book, self.rng, self.busy = dut, book, rng, busy
        self.pipe_bits, self.pipe_levels = [0] * dut.bits_latency, [(0, 0)] * dut.levels_latency
        self.ops = {}           # cycle -> slot of an operation that begins then

    def bitmap(self, slot, side, group):
        return sum(1 << rank % 16 for rank in self.book[slot, side] if rank >> GROUP_BITS == group)

    async def run(self, ctx):
        dut, rng = self.dut, self.rng
        for cycle in range(1 << 20):
            slot = ctx.get(dut.at)
            groups = [sum(1 << g for g in range(16) if self.bitmap(slot, side, g)) for side in range(2)]
            ctx.set(dut.groups, groups)
            ctx.set(dut.bits_word, self.pipe_bits[-1])
            ctx.set(dut.level_word, dict(zip(("qty", "count"), self.pipe_levels[-1])))
            bits_taken, level_taken = rng.random() >= self.busy, rng.random() >= self.busy
            ctx.set(dut.bits_taken, bits_taken)
            ctx.set(dut.level_taken, level_taken)
            ctx.set(dut.op, cycle in self.ops)
            ctx.set(dut.op_slot, self.ops.get(cycle, 0))
            ctx.set(dut.top, cycle in self.ops)
            self.cycle = cycle
            at, level = ctx.get(dut.bits_address), ctx.get(dut.level_address)
            garbage = rng.getrandbits(16), (rng.getrandbits(40), rng.getrandbits(8))     # of a port that served another
            word = self.bitmap(at >> 4, ctx.get(dut.side), at & 15) if bits_taken else garbage[0]
            value = self.book[level >> 8, ctx.get(dut.side)].get(level & 255, (0, 0)) if level_taken else garbage[1]
            self.pipe_bits, self.pipe_levels = [word, *self.pipe_bits[:-1]], [value, *self.pipe_levels[:-1]]
            await ctx.tick()


async def result(ctx, dut):
    """(bids, asks) as the registers show them."""
    sides = []
    for side, count in enumerate((ctx.get(dut.host.bids), ctx.get(dut.host.asks))):
        rows = []
        for k in range(count):
            ctx.set(dut.host.show, side << dut.number_bits | k)
            await ctx.tick().repeat(2)
            rows.append((ctx.get(dut.host.price), ctx.get(dut.host.qty), ctx.get(dut.host.orders)))
        sides.append(rows)
    return sides


def play(dut, book, seed, body, busy=0.6):
    memories = Memories(dut, book, random.Random(seed), busy)
    simulator = Simulator(dut)
    simulator.add_clock(3e-9)

    async def main(ctx):
        await body(ctx, memories)

    simulator.add_testbench(memories.run, background=True)
    simulator.add_testbench(main)
    simulator.run()


async def walk(ctx, dut, slot, cycles=4000):
    ctx.set(dut.host.slot, slot)
    ctx.set(dut.host.start, 1)
    await ctx.tick()
    ctx.set(dut.host.start, 0)
    for _ in range(cycles):
        if not ctx.get(dut.host.busy):
            return
        await ctx.tick()
    raise AssertionError("the walk does not end")


@pytest.mark.parametrize("fill", [0.0, 0.004, 0.02, 0.5, 1.0])
@pytest.mark.parametrize("tick", range(3))
def test_levels_of_each_side(fill, tick):
    seed = f"depth {fill} {tick}"
    print(f"seed {seed}")
    rng = random.Random(seed)
    book, base = made_book(rng, fill), rng.randrange(1 << 31)
    dut = Depth(**SHAPE)
    compared = []

    async def body(ctx, memories):
        ctx.set(dut.base, base)
        ctx.set(dut.tick, tick)
        for slot in (0, 1, 0):
            await walk(ctx, dut, slot)
            assert await result(ctx, dut) == [expected(book, slot, side, base, TICK_SIZES[tick], 10) for side in range(2)]
            assert ctx.get(dut.host.tries) == 1
            compared.append(slot)

    play(dut, book, seed, body)
    assert len(compared) == 3


def test_message_of_the_symbol_begins_it_anew():
    rng = random.Random("anew")
    book = made_book(rng, 0.1)
    dut = Depth(**SHAPE)

    async def body(ctx, memories):
        now = memories.cycle
        memories.ops = {now + 5: 1, now + 60: 0, now + 100: 1, now + 101: 0}      # of slot 1: at 5, and in the middle of the walk

        async def change():
            for _ in range(102):
                await ctx.tick()
            book[1, 0] = {7: (5, 6)}

        ctx.set(dut.host.slot, 1)
        ctx.set(dut.host.start, 1)
        await ctx.tick()
        ctx.set(dut.host.start, 0)
        await change()
        assert ctx.get(dut.host.busy)
        while ctx.get(dut.host.busy):
            await ctx.tick()
        bids, asks = await result(ctx, dut)
        assert bids == [((255 - 7) * 100, 5, 6)] and asks == expected(book, 1, 1, 0, 100, 10)
        assert ctx.get(dut.host.tries) == 3 and ctx.get(dut.host.tops) == 4                 # of all symbols

    play(dut, book, 1, body)


def test_never_ends_while_messages_come_all_the_time_but_can_be_asked_for_another():
    book = made_book(random.Random("storm"), 0.2)
    dut = Depth(**SHAPE)

    async def body(ctx, memories):
        memories.ops = dict.fromkeys(range(0, 1 << 20, SETTLE - 1), 0)
        ctx.set(dut.host.start, 1)
        await ctx.tick()
        ctx.set(dut.host.start, 0)
        for _ in range(3000):
            await ctx.tick()
            assert ctx.get(dut.host.busy)
        assert ctx.get(dut.host.tries) > 100
        await walk(ctx, dut, 1)
        assert await result(ctx, dut) == [expected(book, 1, side, 0, 100, 10) for side in range(2)]

    play(dut, book, 2, body)
