"""The whole hop ``book`` against the twin's book: every top of book in its cycle, whatever the line's pace."""
from dataclasses import replace

import pytest

from tickgate.spec import itch50
from tickgate.spec.presets import Preset
from tickgate.spec.records import NO_FAULT, UNKNOWN_REFERENCE
from tickgate_sim.models.book import BookScript, new_book
from tickgate_sim.models.hop import play
from tickgate_sim.streams import PROFILES, Maker, universe

NARROW = Preset(name="narrow", symbols=2, tick_bits=6, index_bits=4, reference_bits=36, tables=2, ways=2)   # 64 orders: full in no time


@pytest.mark.parametrize("profile, pause, cuts, crossing", [
    ("storm", 0.0, 0.0, 0), ("sparse", 0.0, 0.0, 0), ("faults", 0.0, 0.1, 0), ("full", 0.05, 0.0, 0), ("collide", 0.3, 0.2, 0),
    ("storm", 0.0, 0.0, 2), ("faults", 0.0, 0.2, 3)])
def test_equals_twin(profile, pause, cuts, crossing):
    seed = f"book {profile}"
    print(f"seed {seed}")
    symbols = universe(NARROW, seed)
    maker = Maker(seed, preset=NARROW, symbols=symbols, profile=replace(PROFILES[profile], crowd=min(PROFILES[profile].crowd, 100)))
    script = BookScript(NARROW, symbols, [maker.messages(150), maker.messages(30)], seed, pause=pause, cuts=cuts, crossing=crossing)
    play(new_book(NARROW, crossing), script)
    assert sum(script.kinds.values()) > 100
    if profile == "faults":
        assert {fault for _, fault in (k for k in script.kinds if k != "abandoned")} >= {0, 1, 2, 3} and script.kinds["abandoned"]


@pytest.mark.parametrize("crossing", [0, 3])
def test_replace_that_is_cut_costs_the_old_order(crossing):
    """It is in neither ladder nor table any more: its reference is unknown, and free."""
    symbol, messages = universe(NARROW, "cut", 1)[0], []
    for k in range(1, 12):
        def message(code, **fields):
            return itch50.BY_CODE[code].encode(stock_locate=symbol.locate, **fields)

        price = symbol.base + symbol.tick * k
        messages += [message(b"A", order_ref=k, side="BS"[k % 2], shares=k, price=price),
                     message(b"U", original_order_ref=k, new_order_ref=100 + k, shares=1, price=price)]
        messages += [message(b"D", order_ref=100 + k), message(b"D", order_ref=k)] * (k % 2)
        messages += [message(b"A", order_ref=k, side="B", shares=k, price=price)]
    script = BookScript(NARROW, [symbol], [messages], "cut", cuts=1.0, crossing=crossing)
    play(new_book(NARROW, crossing), script)
    assert script.kinds == {"abandoned": 11, ("A", NO_FAULT): 22, ("D", UNKNOWN_REFERENCE): 12}
