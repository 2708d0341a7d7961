"""Gateware = twin on random streams: every profile of messages, clean frames and faulty ones, host memory at ease and stalling.

The long run is marked slow. EQUAL_MESSAGES and EQUAL_SEEDS scale it, EQUAL_FIRST_SEED begins elsewhere.
"""
import os
from collections import Counter

import pytest

from tickgate.spec import records
from tickgate.spec.presets import PRESETS
from tickgate_sim.streams import FAULTS, PROFILES, Maker, frames, universe
from tickgate_sim.virtual.device import VirtualCard

from .pairing import FILTERS, equal

MESSAGES = int(os.environ.get("EQUAL_MESSAGES", 1_000_000))
SEEDS = int(os.environ.get("EQUAL_SEEDS", 24))
FIRST_SEED = int(os.environ.get("EQUAL_FIRST_SEED", 1000))


def _run(preset, profile, seed, messages, *, faults=0.0, stall=0.0, spacing="minimum"):
    print(f"preset {preset}, profile {profile}, seed {seed}, {messages} messages, faults {faults}, stall {stall}, spacing {spacing}")
    sizes = PRESETS[preset]
    symbols = universe(sizes, seed)
    maker = Maker(seed, preset=sizes, symbols=symbols, profile=profile)
    stream = frames(maker.messages(messages), seed, filters=FILTERS, faults=faults)
    with VirtualCard(preset, seed=seed, stall=stall) as device:
        return *equal(device, sizes, symbols, stream.frames, spacing=spacing), stream.log


@pytest.mark.parametrize(("faults", "stall"), [(0.0, 0.0), (0.3, 0.4)])
@pytest.mark.parametrize("profile", PROFILES)
def test_every_profile(profile, faults, stall):
    pair, rows, log = _run("small", profile, 1 + list(PROFILES).index(profile), 5000, faults=faults, stall=stall)
    assert pair.golden.counters["book"]["updates"] > 500
    assert bool(log) == bool(faults) and bool((rows["kind"] == records.GAP).any()) >= (profile != "faults" and bool(faults))


@pytest.mark.parametrize("kind", FAULTS)
def test_each_fault_of_a_frame_alone(kind):
    sizes, seed = PRESETS["small"], 50 + list(FAULTS).index(kind)
    print(f"seed {seed}")
    symbols = universe(sizes, seed)
    messages = Maker(seed, preset=sizes, symbols=symbols, profile="mixed").messages(800)
    stream = frames(messages, seed, filters=FILTERS, faults=0.3, kinds={kind: 1}, per_packet=8)
    assert {name for _, name in stream.log} == {kind}
    with VirtualCard("small", seed=seed) as device:
        equal(device, sizes, symbols, stream.frames)


def test_plain_minimum_frames_back_to_back():
    """The densest there is: one short message a frame, and frames full of the shortest book message."""
    sizes, seed = PRESETS["small"], 70
    print(f"seed {seed}")
    symbols = universe(sizes, seed)
    messages = Maker(seed, preset=sizes, symbols=symbols, profile="sweep").messages(3000)
    for per_packet in (1, 64):
        stream = frames(messages, seed, filters=FILTERS, per_packet=per_packet, plain=True)
        with VirtualCard("small", seed=seed) as device:
            equal(device, sizes, symbols, stream.frames)


def test_spacing_of_the_capture():
    _run("small", "mixed", 80, 1000, spacing="capture")


def test_sizes_of_demo():
    _run("demo", "mixed", 90, 4000, faults=0.05)


@pytest.mark.slow
def test_a_million_messages():
    done, kinds, faults, compared = 0, Counter(), Counter(), 0
    for k in range(SEEDS):
        seed, preset = FIRST_SEED + k, ("small", "demo")[k % 2]
        profile = list(PROFILES)[k // 2 % len(PROFILES)]
        share = (MESSAGES - done) // (SEEDS - k)
        pair, rows, log = _run(preset, profile, seed, share, faults=(0.0, 0.1, 0.4)[k % 3], stall=(0.0, 0.2)[k // 3 % 2])
        done, compared = done + share, compared + pair.check.compared
        kinds.update(rows["kind"].tolist())
        faults.update(rows["detail"][rows["kind"] == records.TOP_OF_BOOK].tolist())
    print(f"{done} messages, {SEEDS} seeds, {compared} records equal, kinds {dict(kinds)}, faults {dict(faults)}")
    assert done == MESSAGES and kinds.keys() == {records.TOP_OF_BOOK, records.TRADE, records.GAP, records.STATUS}
    assert len(faults) >= 5
