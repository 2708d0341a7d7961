"""Random streams: the twin against a book that scans lists."""
from dataclasses import replace

import pytest

from tickgate.spec import itch50
from tickgate.spec.presets import PRESETS, Preset
from tickgate.spec.records import RECORDS
from tickgate.twin import Golden
from tickgate_sim.streams import PROFILES, Maker, frames, universe

GROUP = (0xE9360C65, 26477)
NARROW = Preset(name="narrow", symbols=2, tick_bits=6, index_bits=4, reference_bits=36, tables=2, ways=2)    # 64 orders: full in no time


def book_records(rows):
    """Records of book messages as dicts."""
    layout = RECORDS["top_of_book"]
    return [{**layout.decode(raw), "kind": "top_of_book"} for raw in (row.tobytes() for row in rows if row["kind"] == layout.code[0])]


@pytest.mark.parametrize("preset, profile, seed, count", [
    *((PRESETS["small"], name, seed, 1200) for seed, name in enumerate(PROFILES)),
    (NARROW, "mixed", 21, 1500), (NARROW, "faults", 22, 1500), (NARROW, "full", 23, 1500), (NARROW, "storm", 24, 1500), (NARROW, "collide", 25, 1500),
], ids=lambda x: getattr(x, "name", str(x)))
def test_equal_to_brute_force(brute, preset, profile, seed, count):
    print(f"profile {profile} seed {seed}")
    symbols = universe(preset, seed)
    shape = replace(PROFILES[profile], crowd=min(PROFILES[profile].crowd, 60 if preset is NARROW else 40), short=0.0, longer=0.0)
    messages = Maker(seed, preset=preset, symbols=symbols, profile=shape).messages(count)
    golden, scan = Golden(preset, symbols, [GROUP]), brute(preset, symbols)
    for data, _ in frames(messages, seed, filters=[GROUP]).frames:
        golden.frame(data)
    got = book_records(golden.take())
    compared, faults = 0, set()
    for message in messages:
        layout = itch50.BY_CODE.get(message[:1])
        if layout is None or len(message) < layout.size or message[0] not in itch50.BOOK_TYPES:
            continue
        want = scan.apply(message)
        if want is None:
            continue
        row = got[compared]
        context = f"record {compared}, {message.hex()}, fault {want['detail']}"
        assert {name: row[name] for name in want} == want, context
        assert row["digest"] == scan.digest(row["slot"], row), context
        compared += 1
        faults.add(want["detail"])
    assert compared == len(got) > count // 2
    assert golden.counters["book"]["outside"] == scan.outside
    assert golden.stale == scan.stale
    assert golden.live == len(scan.orders)
    for symbol in symbols:
        check_depth(golden.book(symbol.slot), [o for o in scan.orders if o[0] == symbol.slot], lambda price, s=symbol: scan.place(s, price))
    if preset is NARROW and profile in ("full", "collide"):
        assert 4 in faults
    if profile == "faults":
        assert {0, 1, 2, 3} <= faults


def check_depth(book, orders, place):
    """Every level and queue of a snapshot against a list of orders, oldest first."""
    for sell, levels in ((0, book.bids), (1, book.asks)):
        mine = [o for o in orders if o[2] == sell]
        prices = sorted({o[3] for o in mine if isinstance(place(o[3]), int)}, reverse=not sell)
        assert [d.price for d in levels] == prices
        for depth in levels:
            queue = [(o[1], o[4]) for o in mine if o[3] == depth.price]
            assert (depth.queue, depth.count, depth.quantity) == (queue, len(queue), sum(q for _, q in queue))
        outside = [(o[1], o[4]) for o in mine if not isinstance(place(o[3]), int)]
        assert sorted(book.near[sell].queue + book.far[sell].queue) == sorted(outside)


@pytest.mark.parametrize("seed", range(4))
def test_every_frame_is_accounted_for(seed):
    """With all faults on the line: drops, packets and messages add up, and records come in sequence."""
    print(f"seed {seed}")
    preset = PRESETS["small"]
    symbols = universe(preset, seed)
    stream = frames(Maker(seed, preset=preset, symbols=symbols, profile="faults").messages(3000), seed, filters=[GROUP, (0xEF000001, 1)], faults=0.3)
    golden = Golden(preset, symbols, [GROUP, (0xEF000001, 1)])
    for data, bad_fcs in stream.frames:
        golden.frame(data, bad_fcs)
    rows, counters = golden.take(), golden.counters
    net, mold, feed, book = (counters[k] for k in ("net", "mold", "feed", "book"))
    assert net["frames"] == len(stream.frames)
    assert net["frames"] == sum(n for name, n in net.items() if name not in ("frames", "bad_fcs"))
    assert net["datagrams"] == mold["packets"] + mold["heartbeats"] + mold["ends"] + mold["runts"]
    assert net["bad_fcs"] == sum(bad for _, bad in stream.frames)
    assert rows["sequence"].tolist() == list(range(len(rows)))
    kinds = rows["kind"].tolist()
    assert kinds.count(1) == book["updates"] > 500
    gaps = [chr(d) for d in rows["detail"][rows["kind"] == 3]]
    assert gaps.count("G") == mold["gaps"] > 0
    assert gaps.count("S") == mold["sessions"]
    assert gaps.count("F") == mold["suspect"] > 0
    assert 0 < gaps.count("L") <= mold["overruns"]
    assert mold["messages"] >= sum(golden.type_count.values()) + feed["empty"]
    wire = golden.origins()
    assert all(0 <= o["wire_offset"] < len(stream.frames[o["frame_index"]][0]) for o in wire)
