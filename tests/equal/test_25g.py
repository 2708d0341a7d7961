"""Gateware = twin with 8 bytes a cycle: all records, times on the wire too, while the queue holds; and what a line that is too fast for it comes to."""
import pytest

from tickgate.app.pair import Pair
from tickgate.spec import records
from tickgate.spec.presets import PRESETS
from tickgate_sim.streams import PROFILES, Maker, frames, universe
from tickgate_sim.virtual.device import VirtualCard

from .pairing import FILTERS, Batch, equal

SIZES = PRESETS["small25"]


@pytest.mark.parametrize("faults", [0.0, 0.3])
@pytest.mark.parametrize("profile", PROFILES)
def test_bursts_that_the_queue_holds(profile, faults):
    """A frame each microsecond, at the full rate."""
    seed = 200 + list(PROFILES).index(profile)
    print(f"seed {seed}, profile {profile}, faults {faults}")
    symbols = universe(SIZES, seed)
    messages = Maker(seed, preset=SIZES, symbols=symbols, profile=profile).messages(1500)
    stream = frames(messages, seed, filters=FILTERS, faults=faults)
    with VirtualCard(SIZES.name, seed=seed) as device:
        pair, rows = equal(device, SIZES, symbols, stream.frames, spacing="capture")
        assert pair.card.counters()["net"]["overflow"] == 0 and len(rows) > 500


def test_a_line_that_is_too_fast():
    """Frames back to back for longer than the queue holds: some are lost, each is counted, its messages are missed, and no book passes for good afterwards."""
    seed = 210
    print(f"seed {seed}")
    symbols = universe(SIZES, seed)
    messages = Maker(seed, preset=SIZES, symbols=symbols, profile="sweep").messages(3000)
    stream = frames(messages, seed, filters=FILTERS, plain=True)
    with VirtualCard(SIZES.name, seed=seed) as device:
        pair = Pair(device, SIZES, symbols, FILTERS, 1, check=False)
        rows = [row for _, _, part in pair.run([Batch.of(stream.frames)]) for row in part]
        counts, expected = pair.card.counters(), pair.card.mold.expected
    net, mold = counts["net"], counts["mold"]
    dropped = net["overflow"] - net["bad_fcs"]                  # the others were cut
    assert dropped > 10 and net["frames"] == len(stream.frames) - dropped
    first_gap = next(k for k, row in enumerate(rows) if row["kind"] == records.GAP)
    assert first_gap > 50 and all(row["flags"] & records.STALE for row in rows[first_gap:])
    # each number was handed on or missed; those of a cut frame both
    assert 0 < mold["missing"] < len(messages) and mold["messages"] + mold["missing"] >= expected - 1 > len(messages) // 2
