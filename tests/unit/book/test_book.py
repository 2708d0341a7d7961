"""The whole hop ``book`` against the twin's book: every top of book in its cycle, whatever the line's pace."""
from dataclasses import replace

import pytest

from tickgate.spec.presets import Preset
from tickgate_sim.models.book import BookScript, new_book
from tickgate_sim.models.hop import play
from tickgate_sim.streams import PROFILES, Maker, universe

NARROW = Preset(name="narrow", symbols=2, tick_bits=6, index_bits=4, reference_bits=36, tables=2, ways=2)   # 64 orders: full in no time


@pytest.mark.parametrize("profile, pause, cuts", [("storm", 0.0, 0.0), ("sparse", 0.0, 0.0), ("faults", 0.0, 0.1), ("full", 0.05, 0.0), ("collide", 0.3, 0.2)])
def test_equals_twin(profile, pause, cuts):
    seed = f"book {profile}"
    print(f"seed {seed}")
    symbols = universe(NARROW, seed)
    maker = Maker(seed, preset=NARROW, symbols=symbols, profile=replace(PROFILES[profile], crowd=min(PROFILES[profile].crowd, 100)))
    script = BookScript(NARROW, symbols, [maker.messages(150), maker.messages(30)], seed, pause=pause, cuts=cuts)
    play(new_book(NARROW), script)
    assert sum(script.kinds.values()) > 100
    if profile == "faults":
        assert {fault for _, fault in (k for k in script.kinds if k != "abandoned")} >= {0, 1, 2, 3} and script.kinds["abandoned"]
