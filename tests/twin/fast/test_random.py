"""The fast twin against ``Golden``, record by record, on random streams."""
import os
import random

import pytest

from tickgate.spec.itch50 import BY_CODE
from tickgate.spec.moldudp64 import BLOCK
from tickgate.spec.presets import PRESETS
from tickgate.twin import Book
from tickgate_sim.streams import PROFILES, Maker, universe

from .reference import Pair

PER_RUN = 20_000


def run(profile, seed, count):
    """Compare ``count`` messages of a seed."""
    print(f"profile {profile} seed {seed}")
    preset = PRESETS["demo"]
    symbols = universe(preset, seed)
    maker, pair = Maker(seed, preset=preset, symbols=symbols, profile=profile), Pair(s.locate for s in symbols)
    rng = random.Random(f"batches {seed}")
    sent = 0
    while sent < count:
        messages = [m for m in maker.messages(min(rng.randrange(1, PER_RUN), count - sent)) if m]     # an empty one would end a BinaryFILE
        pair.send(messages, seed=f"{seed} {sent}")
        sent += len(messages)
    pair.compare_books()
    return sent


@pytest.mark.parametrize("seed, profile", list(enumerate(PROFILES)))
def test_equal_to_golden(seed, profile):
    assert run(profile, seed, 12_000) == 12_000


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
def test_equal_to_golden_at_length(profile):
    """Ten million messages in all; TICKGATE_TWIN_MESSAGES is another number, TICKGATE_TWIN_SEED the first seed."""
    total, seed = int(os.environ.get("TICKGATE_TWIN_MESSAGES", 10_000_000)), int(os.environ.get("TICKGATE_TWIN_SEED", 1000))
    left = -(-total // len(PROFILES))
    while left > 0:
        left -= run(profile, seed, min(left, 250_000))
        seed += 1


def test_a_message_that_needs_room_counts_once():
    """Longer messages at prices far apart: the ladders grow in between, and the message at which they do comes to the engine twice."""
    add, count = BY_CODE[b"A"], 5000
    messages = [add.encode(stock_locate=7, order_ref=k + 1, side="BS"[k % 2], shares=100, price=1 + 397_003 * k % (1 << 32)) + b"xyz" for k in range(count)]
    book = Book(rows=None)
    book.feed(b"".join(BLOCK.encode(length=len(m)) + m for m in messages))
    assert book.counters["longer"] == book.counters["updates"] == book.live == count
