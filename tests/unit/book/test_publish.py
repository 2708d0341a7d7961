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


@pytest.mark.parametrize("seed, pause", [("publish 1", 0.0), ("publish 2", 0.1)])
def test_whatever_is_beside_valid(seed, pause):
    """Few records, and inputs that are random where they say nothing (the digest is slow to simulate then)."""
    every_record(RecordScript, seed, pause, [20, 8])


def test_every_record():
    seen = every_record(CalmScript, "publish 3", 0.05, [150, 40])
    assert {*FLAGS, "gap", "distrust"} <= set(seen), seen
    assert seen["VALID"] > 20 and seen["load"] > 8


class CalmScript(RecordScript):
    resting = RecordScript.resting | {"tops.payload": 0, "contexts.payload": 0, "gaps.payload": 0, "order_price": 0}


def every_record(script, seed, pause, counts):
    print(f"seed {seed}")
    symbols = universe(SMALL, seed)
    maker = Maker(seed, preset=SMALL, symbols=symbols, profile=EVENTFUL)
    publisher = Publisher(slot_bits=SMALL.slot_bits, quantity_bits=SMALL.quantity_bits)
    script = script(publisher, {s.locate: s.slot for s in symbols}, [maker.messages(count) for count in counts], seed,
                    quantity_bits=SMALL.quantity_bits, pause=pause)
    play(publisher, script)
    assert {"top_of_book", "trade", "status"} <= set(script.seen), script.seen
    return script.seen
