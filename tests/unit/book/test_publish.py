"""Records byte by byte: order, flags, states, stale symbols, digests, and slots that are loaded meanwhile."""
from collections import Counter
from dataclasses import replace
from itertools import pairwise, product

import pytest

from tickgate.spec import commands, itch50
from tickgate.spec.moldudp64 import BLOCK
from tickgate.spec.presets import PRESETS
from tickgate.spec.records import BOOK_FAULTS, FLAGS
from tickgate_hdl.book.book import Book
from tickgate_hdl.book.publish import SPACING, Publisher
from tickgate_sim.models.book_records import RecordScript
from tickgate_sim.models.hop import play
from tickgate_sim.models.wire import LANES
from tickgate_sim.streams import PROFILES, Maker, universe

SMALL = PRESETS["small"]
EVENTFUL = replace(PROFILES["mixed"], weights=dict(add=20, execute=20, cancel=5, delete=15, replace=15, trade=30, status=60))


@pytest.mark.parametrize("seed, pause", [("publish 1", 0.0), ("publish 2", 0.1)])
def test_whatever_is_beside_valid(seed, pause):
    """Few records, and inputs that are random where they say nothing (the digest is slow to simulate then)."""
    every_record(RecordScript, seed, pause, [20, 8])


def test_every_record():
    seen = every_record(CalmScript, "publish 43", 0.05, [50, 50, 50, 50], late=2)      # a round for each value of stale_when
    assert {*FLAGS, "gap", "distrust", *(f"fault {name}" for name in BOOK_FAULTS)} <= set(seen), seen
    assert seen["VALID"] > 10 and seen["load"] > 8
    assert all(seen[f"{name} in continuous trading"] > seen[f"fault {name}"] for name in BOOK_FAULTS), seen
    hold, arm, base = (commands.LETTERS[kind] for kind in (commands.HOLD, commands.ARM, commands.BASE))
    assert {(hold, True), (arm, True), (arm, False), (base, 0), (base, commands.REFUSED)} <= set(seen) and seen["arm beside distrust"], seen


def test_distances():
    """Whatever follows whatever, at any lane and at line rate: records keep the order of messages, and those of a slot their distance. DUE is no longer
    than that takes."""
    tops = {**dict.fromkeys(b"AF", Book.LATENCY_ADD), **dict.fromkeys(b"DECX", Book.LATENCY_REMOVE), ord("U"): Book.LATENCY_REPLACE}
    distances = Counter()

    def block(code):
        """What a block gives: (last byte that it waits for, cycles from its word to the join, whether the join says something of a slot)."""
        if code is None:                                      # too short: its header tells, 3 cycles after its first byte, and gives a gap
            yield 0, 3 + Publisher.DUE, True
            return
        yield BLOCK.size + itch50.NEEDED[code] - 1, tops.get(code[0], Publisher.DUE), code not in itch50.MARKET_WIDE
        if code == b"C":
            yield BLOCK.size + itch50.BY_CODE[code]["execution_price"].end - 1, Publisher.DUE, True

    blocks = [(code, itch50.BY_CODE[code].size) for code in itch50.NEEDED] + [(None, size) for size in range(1, 40)]
    for (first, size), (second, _), lane in product(blocks, blocks, range(LANES)):
        if first or second:                                   # there is one such gap a datagram
            joins = [((start + byte) // LANES + cycles, is_slot) for start, code in ((lane, first), (lane + BLOCK.size + size, second))
                     for byte, cycles, is_slot in block(code)]
            for (a, a_slot), (b, b_slot) in pairwise(joins):
                assert a < b, (first, second, lane)
                distances[b - a] += a_slot and b_slot
    assert min(distance for distance, n in distances.items() if n) == SPACING


@pytest.mark.parametrize("late", [-1, Book.LATENCY_ADD])
def test_a_context_that_comes_too_late_is_refused(late):
    with pytest.raises(ValueError, match=f"late must be 0 to 2, not {late}"):
        Publisher(slot_bits=2, quantity_bits=40, late=late)


class CalmScript(RecordScript):
    resting = RecordScript.resting | {"tops.payload": 0, "contexts.payload": 0, "gaps.payload": 0, "order_price": 0}


def every_record(script, seed, pause, counts, late=0):
    print(f"seed {seed}")
    symbols = universe(SMALL, seed)
    maker = Maker(seed, preset=SMALL, symbols=symbols, profile=EVENTFUL)
    publisher = Publisher(slot_bits=SMALL.slot_bits, quantity_bits=SMALL.quantity_bits, late=late)
    script = script(publisher, {s.locate: s.slot for s in symbols}, [maker.messages(count) for count in counts], seed,
                    quantity_bits=SMALL.quantity_bits, late=late, pause=pause)
    play(publisher, script)
    assert {"top_of_book", "trade", "status"} <= set(script.seen), script.seen
    return script.seen
