"""The order table's room: fast hashes equal the declared ones; losses begin where they should."""
import random

import pytest

from tickgate.spec.hashing import bucket
from tickgate.spec.presets import PRESETS, Preset
from tickgate.twin.capacity import Capacity

ODD = Preset(name="odd", symbols=1, tick_bits=6, index_bits=9, reference_bits=43, tables=3)
FEW = Preset(name="few", symbols=1, tick_bits=6, index_bits=4, reference_bits=12, tables=1, ways=1)


@pytest.mark.parametrize("preset", [*PRESETS.values(), ODD, FEW], ids=lambda p: p.name)
def test_hashes(preset):
    rng, capacity = random.Random(3), Capacity(preset)
    bits = preset.reference_bits
    for reference in [0, 1, (1 << bits) - 1, *(1 << k for k in range(bits)), *(rng.getrandbits(rng.choice((7, bits))) for _ in range(300))]:
        assert capacity.buckets(reference) == [bucket(reference, k, preset.index_bits, bits) for k in range(preset.tables)]


def test_emptiest_first_lowest_on_ties():
    capacity = Capacity(PRESETS["small"])
    same = [(k << 40) | 9 for k in range(11)]             # one bucket in each subtable
    rooms = [capacity.take(reference) for reference in same]
    assert [room[0] for room in rooms[:10]] == [0, 1, 2, 3, 4] * 2
    assert rooms[10] is None
    capacity.give_back(rooms[3])
    capacity.give_back(rooms[6])
    assert [capacity.take(same[0])[0] for _ in range(2)] == [1, 3]
    assert capacity.take(same[0]) is None
    assert capacity.live == 10


@pytest.mark.parametrize("name", ["dense", "random"])
def test_no_loss_below_the_promised_load(name):
    """``Preset.orders`` fit: filled, then churned."""
    seed = 11
    print(f"seed {seed}")
    preset, rng = PRESETS["small"], random.Random(seed)
    capacity, live, reference = Capacity(preset), [], 5
    for _ in range(20_000):
        reference = reference + rng.choice((1, 1, 2, 7)) if name == "dense" else rng.getrandbits(64)
        if len(live) == preset.orders:
            capacity.give_back(live.pop(rng.randrange(len(live))))
        room = capacity.take(reference)
        assert room is not None
        live.append(room)
    assert capacity.live == preset.orders
