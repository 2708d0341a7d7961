"""The event ring against its model: places, lap bits, sequence numbers and every cause of a drop."""
import random

import pytest

from tickgate.spec import records
from tickgate.spec.registers import RING
from tickgate_hdl.book.record import KINDS, Record
from tickgate_hdl.dma.ring import EventRing
from tickgate_sim.models.ring import RingModel
from tickgate_sim.stream import run

COUNTERS = [r.name for r in RING.registers if r.access == "count"]


def record_of(raw):
    return Record.from_bits(int.from_bytes(raw, "little"))


def bench(ring, drive, *, cycles, ready=lambda cycle: 1, base=0x1_0000_0040, size_log2=3, enable=1):
    """Drive ``ring`` for some cycles and hold everything it does to the model; returns the model and the writes taken."""
    model = RingModel(credit_latency=ring.CREDIT_LATENCY, waiting=ring.waiting)
    model.base, model.size_log2, model.enable = base, size_log2, enable
    counts, taken = dict.fromkeys(COUNTERS, 0), []

    async def body(ctx):
        for name in ("base", "size_log2", "enable"):
            ctx.set(getattr(ring.registers, name), getattr(model, name))
        for _ in range(4):  # the size takes its way
            model.cycle()
            await ctx.tick()
        for cycle in range(cycles):
            raw = drive(cycle, model)
            ctx.set(ring.records.valid, raw is not None)
            ctx.set(ring.records.payload, record_of(raw or rng_record(cycle)))
            ctx.set(ring.writes.ready, ready(cycle))
            ctx.set(ring.registers.enable, model.enable)
            ctx.set(ring.registers.credit, model.credit)
            assert ctx.get(ring.registers.written) == model.written
            for name in COUNTERS:
                counts[name] += ctx.get(getattr(ring.registers, name))
            left = ctx.get(ring.writes.valid) and ctx.get(ring.writes.ready)
            if left:
                write = ctx.get(ring.writes.payload)
                taken.append((write.address, write.data.to_bytes(records.SIZE, "little")))
            model.cycle(raw, left)
            assert counts == {name: model.counts[name] for name in COUNTERS}
            await ctx.tick()

    run(ring, body)
    expected = list(model.expected)
    assert taken == expected[:len(taken)] and len(taken) >= len(expected) - ring.waiting
    assert taken, "nothing was compared"
    return model, taken


def rng_record(seed):
    return random.Random(seed).randbytes(records.SIZE)


def test_latency_is_as_documented():
    ring, seen = EventRing(waiting=2), []

    async def body(ctx):
        ctx.set(ring.registers.enable, 1)
        for _ in range(4):
            await ctx.tick()
        ctx.set(ring.records.valid, 1)
        await ctx.tick()
        ctx.set(ring.records.valid, 0)
        for _ in range(ring.LATENCY + 2):
            seen.append(ctx.get(ring.writes.valid))
            await ctx.tick()

    run(ring, body)
    assert seen == [cycle >= ring.LATENCY for cycle in range(1, ring.LATENCY + 3)]


def test_credit_counts_after_its_latency():
    """The first record that gets a place again is the one CREDIT_LATENCY cycles after the credit."""
    def drive(cycle, model):
        model.credit = 1 if cycle >= 10 else 0
        return rng_record(cycle)

    ring = EventRing(waiting=8)
    _, taken = bench(ring, drive, cycles=20, size_log2=0)
    sequences = [int(records.COMMON.decode(raw)["sequence"]) for _, raw in taken]
    assert sequences == [0, 10 + ring.CREDIT_LATENCY]


@pytest.mark.parametrize("size_log2", [0, 1, 3])
@pytest.mark.parametrize("profile", ["full", "busy", "both"])
def test_wraps_and_drops_as_model(size_log2, profile):
    seed = f"{size_log2} {profile}"
    print(f"seed {seed}")
    rng = random.Random(seed)
    ready_often, credit_often = {"full": (0.9, 0.05), "busy": (0.2, 1.0), "both": (0.3, 0.2)}[profile]

    def drive(cycle, model):
        if rng.random() < credit_often:  # the host takes what it has seen, or less
            model.credit = (model.credit + rng.randint(0, (model.written - model.waiting - model.credit) % 2**32)) % 2**32
        model.enable = cycle % 300 >= 40
        return rng.randbytes(records.SIZE) if rng.random() < 0.6 else None

    ring = EventRing(waiting=2 if profile == "busy" else 4)
    model, taken = bench(ring, drive, cycles=900, ready=lambda cycle: rng.random() < ready_often, size_log2=size_log2,
                         base=0x1_FFFF_FF80)  # the ring lies across 2^33
    laps = len(taken) >> size_log2
    assert laps >= 4 and model.counts["dropped_off"] > 10
    if profile != "busy" or size_log2 == 0:
        assert model.counts["dropped_full"] > 10
    if profile != "full" and 1 << size_log2 > ring.waiting:
        assert model.counts["dropped_busy"] > 10


def test_back_to_back_records_all_get_a_place():
    def drive(cycle, model):
        model.credit = max(0, model.written - 3)
        return rng_record(cycle)

    model, taken = bench(EventRing(), drive, cycles=200, size_log2=4)
    assert model.counts["records"] == model.written == 200 and len(taken) >= 200 - EventRing.LATENCY - 1


def test_waiting_records_are_32_when_the_host_port_stands_still():
    model, _ = bench(EventRing(), lambda cycle, model: rng_record(cycle) if cycle < 50 else None, cycles=120,
                     ready=lambda cycle: cycle >= 60, size_log2=10)
    assert (model.written, model.counts["dropped_busy"]) == (32, 18)


def test_memory_as_the_host_sees_it():
    """Over zeroed memory, the lap bit alone tells which places hold something new, lap after lap."""
    size_log2, memory = 2, bytearray(4 * records.SIZE)

    def drive(cycle, model):
        model.credit = max(0, model.written - 2)
        return rng_record(cycle) if cycle % 3 == 0 else None

    _, taken = bench(EventRing(), drive, cycles=120, size_log2=size_log2, base=0)
    for k, (address, raw) in enumerate(taken):
        lap = k >> size_log2 & 1
        assert memory[address + records.SIZE - 1] >> 7 == lap  # old
        memory[address:address + records.SIZE] = raw
        assert memory[address + records.SIZE - 1] >> 7 == 1 - lap  # new
    assert len(taken) > 30


def test_kinds_have_the_bits_of_the_record():
    assert all(layout.size == Record.size == 8 * records.SIZE for layout in KINDS.values())
    for name, layout in KINDS.items():
        for field in records.COMMON.fields:
            if field.name != "body":
                assert layout[field.name] == Record[field.name], f"{name}.{field.name}"
