"""The order table against a dictionary: found, changed, placed, refused, with messages as close as they can come."""
from dataclasses import replace

import pytest

from tickgate.spec import itch50
from tickgate.spec.presets import Preset
from tickgate_hdl.book.table import OrderTable
from tickgate_sim.models.book import key_layout
from tickgate_sim.models.book_table import TableScript, new_table
from tickgate_sim.models.hop import play
from tickgate_sim.streams import PROFILES, Maker, universe

NARROW = Preset(name="narrow", symbols=2, tick_bits=6, index_bits=4, reference_bits=36, tables=2, ways=2)    # 64 orders: full in no time
SINGLE = Preset(name="single", symbols=1, tick_bits=6, index_bits=5, reference_bits=64, tables=3, ways=1)


# with a crossing, memories are so far away that a read misses what the message before it writes, and with 5 the one before that
@pytest.mark.parametrize("preset, profile, pace, crossing, seen", [
    (NARROW, "storm", dict(), 0, {"hit", "part", "placed"}),
    (NARROW, "faults", dict(cuts=0.1), 0, {"hit", "miss", "wide", "duplicate", "put_wide", "placed"}),
    (NARROW, "full", dict(pause=0.05), 0, {"full", "miss", "placed"}),
    (NARROW, "collide", dict(pause=0.3, cuts=0.2), 0, {"full", "hit", "placed"}),
    (SINGLE, "collide", dict(), 0, {"full", "hit", "placed"}),
    (SINGLE, "collide", dict(), 1, {"full", "hit", "placed"}),
    (NARROW, "storm", dict(), 2, {"hit", "part", "placed"}),
    (NARROW, "faults", dict(cuts=0.1, pause=0.05), 3, {"hit", "miss", "wide", "duplicate", "put_wide", "placed"}),
    (NARROW, "full", dict(), 5, {"full", "miss", "placed"}),
], ids=lambda x: getattr(x, "name", x if isinstance(x, str | int) else ""))
def test_equals_dictionary(preset, profile, pace, crossing, seen):
    seed = f"table {preset.name} {profile}"
    print(f"seed {seed}")
    symbols = universe(preset, seed)
    messages = Maker(seed, preset=preset, symbols=symbols, profile=replace(PROFILES[profile], crowd=40)).messages(300)
    script = TableScript(preset, {s.locate: s.slot for s in symbols}, messages, seed, crossing=crossing, **pace)
    play(new_table(preset, crossing), script)
    assert seen <= set(script.seen), script.seen


@pytest.mark.parametrize("crossing", [0, 1, 3, 6])
def test_messages_of_one_order_back_to_back(crossing):
    """Its entry is written in the cycle in which the next message reads it, or in the one before, by the alignment; with a crossing, later than that."""
    def message(code, **fields):
        return itch50.BY_CODE[code].encode(stock_locate=1, **fields)

    messages = []
    for k in range(1, 30):
        messages.append(message(b"A", order_ref=k, side="B", shares=1000, price=1))
        messages += [message(b"X", order_ref=k, cancelled_shares=1) for _ in range(k % 4)]
        messages += [message(b"U", original_order_ref=k, new_order_ref=k, shares=1, price=1)] * (k % 3 == 0)      # refused: it is live
        messages += [message(b"U", original_order_ref=k, new_order_ref=1000 + k, shares=1, price=1)] * (k % 3 == 1)
        messages += [message(b"D", order_ref=reference) for reference in (k, 1000 + k, k)]
    script = TableScript(NARROW, {1: 1}, messages, "back to back", crossing=crossing)
    play(new_table(NARROW, crossing), script)
    assert script.seen["duplicate"] > 5 and script.seen["miss"] > 20 and script.seen["hit"] > 50
    assert not script.live


def test_crossing_cannot_be_negative():
    with pytest.raises(ValueError, match="0 or more registers, not -1"):
        OrderTable(key_layout=key_layout(NARROW), tick_bits=6, index_bits=4, reference_bits=36, tables=2, ways=2, crossing=-1)
