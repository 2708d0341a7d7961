"""Real data: the Nasdaq slice of 2019-12-30, see the data's own description for what it holds."""
import zlib
from collections import Counter, defaultdict

import pytest

from tickgate.spec import itch50
from tickgate.spec.presets import PRESETS
from tickgate.twin import Golden, Symbol
from tickgate_sim.streams import frames

GROUP = (0xE9360C6F, 26477)
FILE = "derived_20191230_book_slice.itch"


def binaryfile(raw):
    """Messages of a BinaryFILE: two bytes of length, then the message."""
    at, messages = 0, []
    while at + 2 <= len(raw):
        length = int.from_bytes(raw[at:at + 2], "big")
        if not length:
            break
        messages.append(raw[at + 2:at + 2 + length])
        at += 2 + length
    return messages


def test_the_first_hour(itch_data):
    """Nearly all of it is of no symbol's book: every message counts by its type."""
    raw = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress((itch_data / "nasdaq_head_251837.truncated.gz").read_bytes())
    messages = binaryfile(raw)
    assert len(messages.pop()) == 33                     # the file ends inside a message
    golden = Golden(PRESETS["demo"], [], [GROUP])
    for data, _ in frames(messages, 6, filters=[GROUP], plain=True).frames:
        golden.frame(data)
    assert {chr(code): n for code, n in golden.type_count.items()} == {
        "S": 2, "R": 8906, "H": 8897, "Y": 8893, "L": 215036, "A": 5609, "F": 36, "D": 2658, "U": 331, "X": 1453, "E": 13, "P": 3}
    assert golden.expected == 251_837 + 1
    assert (golden.take()["kind"] == 4).sum() == 2
    feed = golden.counters["feed"]
    assert feed.pop("other") == 8897 + 8893 + 5609 + 36 + 2658 + 331 + 1453 + 13 + 3
    assert not any(feed.values())


@pytest.fixture(scope="module")
def slice_messages(itch_data):
    return binaryfile((itch_data / FILE).read_bytes())


def test_counts_and_books(slice_messages):
    preset = PRESETS["demo"]
    decoded = [(m[:1].decode(), itch50.BY_CODE[m[:1]].decode(m)) for m in slice_messages]
    busy = Counter(m["stock_locate"] for code, m in decoded if code in "AFECXDU")
    top = [locate for locate, _ in busy.most_common(16)]
    prices = defaultdict(list)
    for code, m in decoded:
        if code in "AF" and m["stock_locate"] in top:
            prices[m["stock_locate"]].append(m["price"])
    middle = {locate: sorted(p)[len(p) // 2] for locate, p in prices.items()}
    symbols = [Symbol(k, locate, max(0, middle[locate] // 100 * 100 - 50 * preset.ticks), 100) for k, locate in enumerate(top)]
    golden = Golden(preset, symbols, [GROUP])
    for data, _ in frames(slice_messages, 5, filters=[GROUP], plain=True).frames:
        golden.frame(data)
    rows = golden.take()

    assert len(slice_messages) == 11_433
    counted = {chr(code): n for code, n in golden.type_count.items()}
    assert {code: counted[code] for code in "AFDUXEPS"} == {"A": 5609, "F": 36, "D": 2658, "U": 331, "X": 1453, "E": 13, "P": 3, "S": 2}
    updates = sum(busy[locate] for locate in top)
    book = golden.counters["book"]
    assert book.pop("outside") > 0
    assert book == {"updates": updates, "unknown_reference": 0, "duplicate_reference": 0, "overfill": 0, "table_full": 0, "wide_reference": 0}
    assert (rows["kind"] == 1).sum() == updates > 1000
    assert not golden.stale
    assert golden.counters["feed"]["short"] == golden.counters["feed"]["longer"] == golden.counters["feed"]["unknown"] == 0
    assert golden.expected == len(slice_messages) + 1

    # the same orders, kept in one dict of all symbols
    orders = {}
    for code, m in decoded:
        if code in "AF":
            orders[m["order_ref"]] = [m["stock_locate"], m["side"], m["price"], m["shares"]]
        elif code in "EX":
            orders[m["order_ref"]][3] -= m["executed_shares"] if code == "E" else m["cancelled_shares"]
            if not orders[m["order_ref"]][3]:
                del orders[m["order_ref"]]
        elif code == "D":
            del orders[m["order_ref"]]
        elif code == "U":
            old = orders.pop(m["original_order_ref"])
            orders[m["new_order_ref"]] = [*old[:2], m["price"], m["shares"]]
    assert len(orders) == 2982
    checked = 0
    for symbol in symbols:
        book = golden.book(symbol.slot)
        for sell, side, levels in ((0, b"B", book.bids), (1, b"S", book.asks)):
            mine = {ref: o for ref, o in orders.items() if o[:2] == [symbol.locate, side]}
            rested = [(ref, q) for depth in (*levels, book.near[sell], book.far[sell]) for ref, q in depth.queue]
            assert sorted(rested) == sorted((ref, o[3]) for ref, o in mine.items())
            for depth in levels:
                assert {mine[ref][2] for ref, _ in depth.queue} == {depth.price}
                checked += 1
    assert checked > 100
