import random

import pytest

from tickgate_hdl.stream.queue import Queue
from tickgate_sim.stream import get, idle, put, run


def test_latency_is_as_documented_and_payload_holds():
    dut, seen = Queue(8, depth=2), []

    async def bench(ctx):  # ready stays low
        await put(ctx, dut.i, 7)
        for _ in range(dut.LATENCY + 3):
            seen.append((ctx.get(dut.o.valid), ctx.get(dut.o.payload)))
            await ctx.tick()

    run(dut, bench)
    assert [valid for valid, _ in seen] == [cycle >= dut.LATENCY for cycle in range(1, dut.LATENCY + 4)]
    assert {payload for valid, payload in seen if valid} == {7}


@pytest.mark.parametrize("depth", [2, 8])
def test_holds_depth_and_one_more(depth):
    dut, taken = Queue(8, depth=depth), []

    async def bench(ctx):
        ctx.set(dut.i.valid, 1)
        for _ in range(3 * depth + 4):
            taken.append(ctx.get(dut.i.ready))
            await ctx.tick()

    run(dut, bench)
    assert sum(taken) == depth + 1


@pytest.mark.parametrize("depth, gap, stall", [(2, 0, 3), (2, 3, 0), (4, 0, 0), (8, 2, 2)])
def test_order_is_kept(depth, gap, stall):
    seed = depth << 8 | gap << 4 | stall
    print(f"seed {seed}")
    dut, rng, got = Queue(16, depth=depth), random.Random(seed), []
    sent = [rng.randrange(1 << 16) for _ in range(120)]

    async def source(ctx):
        for payload in sent:
            await idle(ctx, rng.randint(0, gap))
            await put(ctx, dut.i, payload)

    async def sink(ctx):
        for _ in sent:
            await idle(ctx, rng.randint(0, stall))
            got.append(await get(ctx, dut.o))

    run(dut, source, sink)
    assert got == sent


def test_one_payload_a_cycle():
    dut, got = Queue(16, depth=4), []

    async def source(ctx):
        for k in range(50):
            await put(ctx, dut.i, k)

    async def sink(ctx):
        ctx.set(dut.o.ready, 1)
        for _ in range(50 + dut.LATENCY):
            _, _, valid, payload = await ctx.tick().sample(dut.o.valid, dut.o.payload)
            if valid:
                got.append(payload)

    run(dut, source, sink)
    assert got == list(range(50))


@pytest.mark.parametrize("depth", [0, 1, 3, 12])
def test_depth_must_be_a_power_of_two(depth):
    with pytest.raises(ValueError, match=f"not {depth}"):
        Queue(8, depth=depth)
