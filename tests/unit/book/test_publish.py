"""Records byte by byte: order, flags, states, stale symbols, digests, and slots that are loaded meanwhile."""
from dataclasses import replace

import pytest

from tickgate.spec.presets import PRESETS
from tickgate.spec.records import FLAGS
from tickgate_hdl.book.publish import Publisher
from tickgate_sim.models.book_records import RecordScript
from tickgate_sim.models.hop import play
from tickgate_sim.streams import PROFILES, Maker, universe

SMALL = PRESETS["small"]
EVENTFUL = replace(PROFILES["mixed"], weights=dict(add=20, execute=20, cancel=5, delete=15, replace=15, trade=30, status=60))


@pytest.mark.parametrize("seed, pace", [("publish", dict()), ("publish late", dict(pause=0.3))])
def test_every_record(seed, pace):
    print(f"seed {seed}")
    symbols = universe(SMALL, seed)
    maker = Maker(seed, preset=SMALL, symbols=symbols, profile=EVENTFUL)
    publisher = Publisher(slot_bits=SMALL.slot_bits, quantity_bits=SMALL.quantity_bits)
    script = RecordScript(publisher, {s.locate: s.slot for s in symbols}, [maker.messages(300), maker.messages(60)], seed,
                          quantity_bits=SMALL.quantity_bits, **pace)
    play(publisher, script)
    assert set(FLAGS) | {"top_of_book", "trade", "status", "gap", "load"} <= set(script.seen), script.seen
    assert script.seen["VALID"] > 10 and script.seen["load"] > 10
