"""The order table against a dictionary: found, changed, placed, refused, with messages as close as they can come."""
from dataclasses import replace

import pytest

from tickgate.spec import itch50
from tickgate.spec.presets import Preset
from tickgate_sim.models.book_table import TableScript, new_table
from tickgate_sim.models.hop import play
from tickgate_sim.streams import PROFILES, Maker, universe

NARROW = Preset(name="narrow", symbols=2, tick_bits=6, index_bits=4, reference_bits=36, tables=2, ways=2)    # 64 orders: full in no time
SINGLE = Preset(name="single", symbols=1, tick_bits=6, index_bits=5, reference_bits=64, tables=3, ways=1)


@pytest.mark.parametrize("preset, profile, pace, seen", [
    (NARROW, "storm", dict(), {"hit", "part", "placed"}),
    (NARROW, "faults", dict(cuts=0.1), {"hit", "miss", "wide", "duplicate", "put_wide", "placed"}),
    (NARROW, "full", dict(pause=0.05), {"full", "miss", "placed"}),
    (NARROW, "collide", dict(pause=0.3, cuts=0.2), {"full", "hit", "placed"}),
    (SINGLE, "collide", dict(), {"full", "hit", "placed"}),
], ids=lambda x: getattr(x, "name", x if isinstance(x, str) else ""))
def test_equals_dictionary(preset, profile, pace, seen):
    seed = f"table {preset.name} {profile}"
    print(f"seed {seed}")
    symbols = universe(preset, seed)
    messages = Maker(seed, preset=preset, symbols=symbols, profile=replace(PROFILES[profile], crowd=40)).messages(300)
    script = TableScript(preset, {s.locate: s.slot for s in symbols}, messages, seed, **pace)
    play(new_table(preset), script)
    assert seen <= set(script.seen), script.seen


def test_messages_of_one_order_back_to_back():
    """Its entry is written in the cycle in which the next message reads it, or in the one before, by the alignment."""
    def message(code, **fields):
        return itch50.BY_CODE[code].encode(stock_locate=1, **fields)

    messages = []
    for k in range(1, 30):
        messages.append(message(b"A", order_ref=k, side="B", shares=1000, price=1))
        messages += [message(b"X", order_ref=k, cancelled_shares=1) for _ in range(k % 4)]
        messages += [message(b"U", original_order_ref=k, new_order_ref=k, shares=1, price=1)] * (k % 3 == 0)      # refused: it is live
        messages += [message(b"U", original_order_ref=k, new_order_ref=1000 + k, shares=1, price=1)] * (k % 3 == 1)
        messages += [message(b"D", order_ref=reference) for reference in (k, 1000 + k, k)]
    script = TableScript(NARROW, {1: 1}, messages, "back to back")
    play(new_table(NARROW), script)
    assert script.seen["duplicate"] > 5 and script.seen["miss"] > 20 and script.seen["hit"] > 50
    assert not script.live
