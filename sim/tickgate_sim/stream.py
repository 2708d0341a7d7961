"""Streams in Amaranth testbenches: put, get, idle, run."""
from amaranth.sim import Simulator

from tickgate.spec.clocks import CORE_HZ


async def put(ctx, port, payload):
    """Offer one payload until it is taken. Works on always-ready streams as well."""
    ctx.set(port.payload, payload)
    ctx.set(port.valid, 1)
    await ctx.tick().until(port.ready)
    ctx.set(port.valid, 0)


async def get(ctx, port):
    """Wait for one payload, take it and return it."""
    ctx.set(port.ready, 1)
    payload, = await ctx.tick().sample(port.payload).until(port.valid)
    ctx.set(port.ready, 0)
    return payload


async def idle(ctx, cycles):
    """Let ``cycles`` cycles pass; none is fine (``tick().repeat(0)`` is an error)."""
    for _ in range(cycles):
        await ctx.tick()


def run(dut, *benches, max_cycles=100_000):
    """Simulate ``dut`` until all benches are through. Raises ``TimeoutError`` when that takes more than ``max_cycles``."""
    async def watchdog(ctx):
        await idle(ctx, max_cycles)
        raise TimeoutError(f"testbench still running after {max_cycles} cycles")

    sim = Simulator(dut)
    sim.add_clock(1 / CORE_HZ)
    for bench in benches:
        sim.add_testbench(bench)
    sim.add_testbench(watchdog, background=True)
    sim.run()
