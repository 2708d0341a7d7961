"""A bank with every kind of register, one word and two, against what ``tickgate.spec.registers`` promises."""
import random

import pytest

from tickgate.spec.registers import BLOCKS, Block, Register
from tickgate_hdl.csr.bank import Bank
from tickgate_sim.stream import idle, run

BLOCK = Block("test", 0x140, 0x40, (
    Register("limit", "rw", 20, reset=0xABCDE, unit="shares"),
    Register("start", "rw", 50, reset=0x2_0000_0001, unit="messages"),
    Register("load", "wo", 8, unit="slot"),
    Register("far", "wo", 40, unit="slot"),
    Register("state", "ro", 13, unit="bits"),
    Register("now", "ro", 64, unit="ns"),
    Register("events", "count", 48, unit="events", step=3),
    Register("few", "count", 4, unit="events"),
))
AT = {r.name: address for address, r in BLOCK.offsets()}


async def write(ctx, bank, address, value):
    ctx.set(bank.words.word, address // 4)
    ctx.set(bank.words.data, value)
    ctx.set(bank.words.write, 1)
    await ctx.tick()
    ctx.set(bank.words.write, 0)


async def read(ctx, bank, address):
    ctx.set(bank.words.word, address // 4)
    ctx.set(bank.words.read, 1)
    await ctx.tick()
    ctx.set(bank.words.read, 0)
    for _ in range(bank.LATENCY - 1):
        await ctx.tick()
    return ctx.get(bank.words.value)


async def read64(ctx, bank, address):
    low = await read(ctx, bank, address)
    return low | await read(ctx, bank, address + 4) << 32


def bench(body):
    dut = Bank(BLOCK)

    async def wrapped(ctx):
        await body(ctx, dut, dut.fields)

    run(dut, wrapped)


def test_reset_values():
    async def body(ctx, bank, f):
        assert ctx.get(f.limit) == 0xABCDE and ctx.get(f.start) == 0x2_0000_0001
        assert await read(ctx, bank, AT["limit"]) == 0xABCDE
        assert await read64(ctx, bank, AT["start"]) == 0x2_0000_0001

    bench(body)


def test_write_shows_after_its_latency_and_is_cut_to_its_width():
    async def body(ctx, bank, f):
        await write(ctx, bank, AT["limit"], 0xFFF12345)
        for _ in range(bank.WRITE_LATENCY - 1):
            assert ctx.get(f.limit) == 0xABCDE
            await ctx.tick()
        assert ctx.get(f.limit) == 0x12345
        assert await read(ctx, bank, AT["limit"]) == 0x12345

    bench(body)


def test_high_word_takes_both():
    async def body(ctx, bank, f):
        await write(ctx, bank, AT["start"], 0x11111111)
        await idle(ctx, 4)
        assert ctx.get(f.start) == 0x2_0000_0001 == await read64(ctx, bank, AT["start"])
        await write(ctx, bank, AT["start"] + 4, 0x00022222)
        await idle(ctx, 4)
        assert ctx.get(f.start) == 0x22222_11111111 & (1 << 50) - 1 == await read64(ctx, bank, AT["start"])
        await write(ctx, bank, AT["start"] + 4, 3)  # the low word is kept
        await idle(ctx, 4)
        assert ctx.get(f.start) == 0x3_11111111

    bench(body)


def test_low_word_keeps_the_high_one():
    async def body(ctx, bank, f):
        ctx.set(f.now, 0x1_FFFFFFFF)
        low = await read(ctx, bank, AT["now"])
        ctx.set(f.now, 0x2_00000000)
        await read(ctx, bank, AT["limit"])  # of one word: keeps nothing
        assert (low, await read(ctx, bank, AT["now"] + 4)) == (0xFFFFFFFF, 1)
        assert await read64(ctx, bank, AT["now"]) == 0x2_00000000

    bench(body)


@pytest.mark.parametrize("name, value", [("load", 0xA5), ("far", 0x77_12345678)])
def test_strobe_is_one_cycle_with_the_value(name, value):
    async def body(ctx, bank, f):
        seen = []
        port, strobe = getattr(f, name), getattr(f, f"{name}_strobe")
        words = (value & 0xFFFFFFFF, value >> 32)[:1 + (value >> 32 > 0)]
        for k, word in enumerate(words):
            await write(ctx, bank, AT[name] + 4 * k, word)
        for _ in range(6):
            seen.append((ctx.get(strobe), ctx.get(port)))
            await ctx.tick()
        assert seen == [(cycle == bank.WRITE_LATENCY, value if cycle >= bank.WRITE_LATENCY else 0) for cycle in range(1, 7)]
        assert await read64(ctx, bank, AT[name]) == 0

    bench(body)


def test_counters_lose_nothing_and_wrap():
    rng = random.Random(5)
    steps = [(rng.randrange(8), rng.randrange(2)) for _ in range(400)]

    async def body(ctx, bank, f):
        total = few = 0
        for k, (step, one) in enumerate(steps):
            ctx.set(f.events, step)
            ctx.set(f.few, one)
            if k % 50 == 30:
                before = total + step  # events up to the cycle of the read
                ctx.set(bank.words.word, AT["events"] // 4)
                ctx.set(bank.words.read, 1)
            if k % 50 == 30 + bank.LATENCY:
                assert ctx.get(bank.words.value) == before
            await ctx.tick()
            ctx.set(bank.words.read, 0)
            total, few = total + step, few + one
        ctx.set(f.events, 0)
        ctx.set(f.few, 0)
        await idle(ctx, 2)
        assert few > 15 and total > 400
        assert await read64(ctx, bank, AT["events"]) == total
        assert await read(ctx, bank, AT["few"]) == few % 16

    bench(body)


def test_foreign_and_unused_addresses_do_nothing():
    async def body(ctx, bank, f):
        ctx.set(f.state, 0x1FFF)
        for address in (AT["few"] + 4, 0x17C, AT["limit"] - 0x40, AT["limit"] + 0x40, AT["limit"] + 0x200):
            await write(ctx, bank, address, 1)
            assert await read(ctx, bank, address) == 0
        await write(ctx, bank, AT["state"], 1)  # read only
        assert await read(ctx, bank, AT["state"]) == 0x1FFF
        assert await read(ctx, bank, AT["limit"]) == 0xABCDE
        await ctx.tick()
        assert ctx.get(bank.words.value) == 0  # gone after one cycle, so that banks can be joined

    bench(body)


def test_one_access_a_cycle():
    async def body(ctx, bank, f):
        ctx.set(f.state, 0x123)
        got = []
        for address in (AT["limit"], AT["state"], AT["start"], AT["start"] + 4, *[None] * bank.LATENCY):
            ctx.set(bank.words.read, address is not None)
            ctx.set(bank.words.word, (address or 0) // 4)
            _, _, value = await ctx.tick().sample(bank.words.value)
            got.append(value)
        assert got[bank.LATENCY:] == [0xABCDE, 0x123, 1, 2]

    bench(body)


def test_members_follow_the_table():
    for block in BLOCKS:
        f = Bank(block).fields
        for register in block.registers:
            assert len(getattr(f, register.name)) == (register.step if register.access == "count" else register.width)
            assert hasattr(f, f"{register.name}_strobe") == (register.access == "wo")


def test_tables_that_cannot_be_decoded_are_refused():
    with pytest.raises(ValueError, match="power of two"):
        Bank(Block("odd", 0x20, 0x40, ()))
    with pytest.raises(ValueError, match="strobe"):
        Bank(Block("twice", 0, 0x40, (Register("a", "wo", 1, unit="flag"), Register("a_strobe", "ro", 1, unit="flag"))))
