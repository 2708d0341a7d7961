"""Gateware = twin at full size: random streams, and days that fill the order table."""
import os
from pathlib import Path

import pytest

from bench.generate import day
from tickgate.app.progress import Silent
from tickgate.app.replay import Job, play, prepare
from tickgate.spec.presets import PRESETS
from tickgate_sim.streams import Maker, frames, universe
from tickgate_sim.virtual.device import VirtualCard

from .pairing import FILTERS, equal

LARGE = [name for name, preset in PRESETS.items() if preset.orders >= 1 << 18]
DAY = int(os.environ.get("EQUAL_DAY", 5_000_000))      # messages


@pytest.mark.parametrize("profile", ["mixed", "collide", "faults"])
@pytest.mark.parametrize("preset", LARGE)
def test_random(preset, profile):
    seed = 300 + LARGE.index(preset)
    print(f"preset {preset}, profile {profile}, seed {seed}")
    sizes = PRESETS[preset]
    symbols = universe(sizes, seed)
    stream = frames(Maker(seed, preset=sizes, symbols=symbols, profile=profile).messages(12_000), seed, filters=FILTERS, faults=0.1)
    with VirtualCard(preset, seed=seed) as device:
        pair, rows = equal(device, sizes, symbols, stream.frames)
    assert pair.golden.counters["book"]["updates"] > 5_000


@pytest.mark.slow
@pytest.mark.parametrize("preset", LARGE)
def test_day_with_a_full_table(preset, tmp_path):
    """As many live orders as the preset promises, less a twentieth, and nothing is lost."""
    sizes = PRESETS[preset]
    live = sizes.orders * 19 // 20 // sizes.symbols
    messages = max(DAY, sizes.symbols * (live + 100))
    path = Path(tmp_path, "day.itch")
    path.write_bytes(day(messages, sizes.symbols, 7, live))
    plan = prepare(Job(capture=path, preset=preset, symbols=f"top:{sizes.symbols}"))
    with VirtualCard(preset) as device:
        found, _ = play(plan, device, Silent())
    print(f"{preset}: {found['messages_total']:,} messages, {found['compared']:,} records, {found['kcycles_per_s']:.0f} kcycle/s, seconds {found['seconds']}")
    assert found["status"] == "equal", "\n".join(found["differences"])
    assert found["compared"] == found["records"] > messages * 9 // 10 and found["dropped"] == 0 and not found["faults"]
