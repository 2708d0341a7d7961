"""Ten levels of every symbol, read from the card between the batches of a random stream, against the twin's book at that moment."""
import pytest

from tickgate.app.pair import Pair
from tickgate.card import CardError, read_depth
from tickgate.spec.presets import PRESETS
from tickgate.spec.registers import DEPTH_LEVELS
from tickgate_sim.streams import Maker, frames, universe
from tickgate_sim.virtual.device import VirtualCard

from .pairing import FILTERS, Batch


def levels(side):
    """Of the twin: (price, shares, orders), best first."""
    prices = side.prices if side.sell else side.prices[::-1]
    return [(price, side.levels[price].quantity, len(side.levels[price].orders)) for price in prices[:DEPTH_LEVELS]]


@pytest.mark.parametrize("name, profile", [("small", "mixed"), ("small", "wide"), ("small", "sparse"), ("small", "faults"), ("wide", "wide")])
def test_depth_of_all_symbols(name, profile):
    preset, seed = PRESETS[name], 400
    print(f"preset {name}, profile {profile}, seed {seed}")
    symbols = universe(preset, seed, 4)
    stream = frames(Maker(seed, preset=preset, symbols=symbols, profile=profile).messages(4000), seed, filters=FILTERS).frames
    compared = most = 0
    with VirtualCard(name, seed=seed) as device:
        pair = Pair(device, preset, symbols, FILTERS)
        for k, _ in enumerate(pair.run([Batch.of(stream[k:k + 40]) for k in range(0, len(stream), 40)])):
            assert not pair.over
            tops = pair.golden.counters["book"]["updates"]       # each gives a top of book
            for symbol in symbols if k % 3 == 0 else symbols[:1]:
                depth = read_depth(pair.card, symbol.slot)
                sides = [levels(side) for side in pair.golden.slots[symbol.slot].book.sides]
                assert [list(map(tuple, rows.tolist())) for rows in (depth.bids, depth.asks)] == sides, f"slot {symbol.slot}, after {tops} tops of book"
                assert depth.tops == tops and 1 <= pair.card.depth.tries <= 3
                compared += len(sides[0]) + len(sides[1])
                most = max(most, *map(len, sides))
        assert not pair.final()
    assert compared > 100 and most == (DEPTH_LEVELS if profile != "sparse" else 7)


def test_unknown_slot_is_refused():
    with VirtualCard("small") as device:
        pair = Pair(device, PRESETS["small"], universe(PRESETS["small"], 1), FILTERS)
        with pytest.raises(CardError, match="symbol slot 4: the card has 4, from 0"):
            read_depth(pair.card, 4)
