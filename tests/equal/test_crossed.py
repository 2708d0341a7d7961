"""Gateware = twin on books that come to be locked and crossed in continuous trading, with every policy of ``publish.stale_when``."""
from dataclasses import replace

import numpy as np
import pytest

from tickgate.app.pair import Pair
from tickgate.spec import itch50, records
from tickgate.spec.presets import PRESETS
from tickgate.spec.registers import PUBLISH
from tickgate_sim.streams import PROFILES, Maker, frames, universe
from tickgate_sim.virtual.device import VirtualCard

from .pairing import FILTERS, Batch

MESSAGES = 2000
CALM = replace(PROFILES["mixed"], weights={**PROFILES["mixed"].weights, "status": 0}, levels=6, apart=0.9, crowd=6)   # trading goes on


@pytest.mark.parametrize("stale_when", range(1 << PUBLISH["stale_when"].width))
def test_every_policy(stale_when):
    sizes, seed = PRESETS["small"], 300 + stale_when
    print(f"seed {seed}")
    symbols = universe(sizes, seed)
    opening = [itch50.BY_CODE[b"S"].encode(event_code=records.CONTINUOUS_PHASE),
               *(itch50.BY_CODE[b"H"].encode(stock_locate=s.locate, trading_state=records.CONTINUOUS_STATE) for s in symbols)]
    stream = frames(opening + Maker(seed, preset=sizes, symbols=symbols, profile=CALM).messages(MESSAGES), seed, filters=FILTERS)
    with VirtualCard("small", seed=seed) as device:
        pair = Pair(device, sizes, symbols, FILTERS)
        pair.card.publish.stale_when = pair.golden.stale_when = stale_when
        rows = np.concatenate([rows for _, _, rows in pair.run([Batch.of(stream.frames)])])
        assert pair.failure is None and pair.difference is None, pair.difference
        assert not (texts := pair.final()), "\n".join(texts)
        counted = pair.counters()["publish"]
    details = rows["detail"][rows["kind"] == records.TOP_OF_BOOK]
    for name, (code, _) in records.BOOK_FAULTS.items():
        asked = bool(stale_when & PUBLISH["stale_when"].mask(name))
        assert counted[name] >= 5 and (details == code).sum() == counted[name] * asked
    stale = (rows["flags"] & records.STALE) != 0
    assert stale.any() == bool(stale_when) and pair.check.compared == len(rows) > MESSAGES // 2
