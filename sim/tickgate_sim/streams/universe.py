"""Symbols to track."""
import random

from tickgate.spec.presets import TICK_SIZES
from tickgate.twin import Symbol


def universe(preset, seed, count=None):
    """``count`` symbols (default: all slots of the preset) at shuffled slots, with random locates, bases and tick sizes.

    The first one's ladder starts at 0 and the second one's ends where prices end, so that arithmetic which is one bit short shows.
    """
    rng = random.Random(f"universe {seed}")
    count = preset.symbols if count is None else count
    slots = rng.sample(range(preset.symbols), count)
    locates = rng.sample(range(1, 1 << 16), count)
    symbols = []
    for k, (slot, locate) in enumerate(zip(slots, locates)):
        tick = TICK_SIZES[0] if k % 3 != 2 else rng.choice(TICK_SIZES[1:])
        span = tick * preset.ticks
        base = 0 if k == 0 else (1 << 32) - span if k == 1 else rng.randrange(0, 5_000_000, tick)
        symbols.append(Symbol(slot, locate, base, tick, f"T{k}"))
    return symbols
