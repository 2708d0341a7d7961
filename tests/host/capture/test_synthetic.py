"""The made-up day keeps the rules of a real one, and the shipped sample is what the generator makes."""
import gzip
from collections import Counter

import pytest

from tickgate.capture import open_capture, sample_path, scan
from tickgate.capture.synthetic import CHEAP, NAMES, OPEN, SAMPLE, STUB_ASK, day
from tickgate.spec import itch50


def decoded(raw):
    at, out = 0, []
    while size := int.from_bytes(raw[at:at + 2], "big"):
        layout = itch50.BY_CODE[raw[at + 2:at + 3]]
        assert layout.size == size
        out.append(layout.decode(raw, at + 2))
        at += 2 + size
    assert at + 2 == len(raw)
    return out


@pytest.fixture(scope="module")
def sample():
    return gzip.decompress(sample_path().read_bytes())


def check(messages):
    """Follow every order; returns what happened."""
    live, last, newest, seen, matches, halted = {}, 0, 0, Counter(), set(), set()
    for m in messages:
        code, locate = m["type"], m["stock_locate"]
        assert last <= m["timestamp"] < 86_400 * 10 ** 9
        last = m["timestamp"]
        seen[code.decode()] += 1
        reference = m.get("order_ref", m.get("original_order_ref"))
        if "match_number" in m and code != b"B":
            assert m["match_number"] not in matches
            matches.add(m["match_number"])
        if code == b"B":
            assert m["match_number"] in matches
        if code == b"H":
            (halted.add if m["trading_state"] == b"P" else halted.discard)(locate)
        if code in b"AF":
            assert reference > newest and m["shares"] > 0 and m["price"] > 0
            newest = reference
            live[reference] = [locate, m["side"], m["shares"], m["price"]]
        elif code in b"ECXDU":
            order = live[reference]
            assert order[0] == locate
            taken = m.get("executed_shares", m.get("cancelled_shares"))
            assert code not in b"ECU" or locate not in halted
            if code == b"U":
                assert m["new_order_ref"] > newest and m["shares"] > 0 and m["price"] > 0
                newest = m["new_order_ref"]
                live[newest] = [locate, order[1], m["shares"], m["price"]]
            if taken is not None:
                assert 0 < taken <= order[2] and (code != b"X" or taken < order[2])
                order[2] -= taken
            if taken is None or not order[2]:
                del live[reference]
    best = {}
    for locate, side, _, price in live.values():
        best.setdefault((locate, side), []).append(price)
    for locate in {k for k, _ in best}:   # nothing is crossed after the closing cross
        assert max(best.get((locate, b"B"), [0])) < min(best.get((locate, b"S"), [1 << 32]))
    return seen, live


def test_shipped_sample_is_what_the_generator_makes(sample):
    assert day(**SAMPLE) == sample
    assert sample_path().stat().st_size < 900_000
    assert scan(open_capture(sample_path())).total == SAMPLE["messages"]


def test_shipped_sample_is_a_whole_day(sample):
    messages = decoded(sample)
    seen, live = check(messages)
    assert set(seen) == set("SRHYLVJAFECXDUPQBI") and all(seen[code] >= 300 for code in "AFECXDUP")
    assert [m["event_code"] for m in messages if m["type"] == b"S"] == [b"O", b"S", b"Q", b"M", b"E", b"C"]
    assert [m["trading_state"] for m in messages if m["type"] == b"H" and m["timestamp"] > OPEN] == [b"P", b"Q", b"T"]
    crosses = Counter(m["cross_type"] for m in messages if m["type"] == b"Q")
    assert crosses == {b"O": 16, b"C": 16, b"H": 1}
    assert any(m["shares"] for m in messages if m["type"] == b"Q")
    assert sum(price == STUB_ASK for *_, price in live.values()) > 10


def test_window_of_each_symbol_holds_nearly_all_orders(sample):
    result = scan(open_capture(sample_path()))
    assert sorted(result.symbols.values()) == sorted(NAMES)
    inside, orders = Counter(), Counter()
    windows = {k: result.window(k, 4096) for k in result.symbols}
    for m in decoded(sample):
        if "price" in m and m["type"] != b"P":
            base, tick = windows[m["stock_locate"]]
            orders[m["stock_locate"]] += 1
            inside[m["stock_locate"]] += base <= m["price"] < base + 4096 * tick and not m["price"] % tick
    assert len(orders) == 16
    for locate, (_, tick) in windows.items():
        assert tick == (1 if locate == CHEAP + 1 else 100)
        assert inside[locate] >= 0.97 * orders[locate]


@pytest.mark.parametrize("seed,symbols,count", [(7, 1, 60), (8, 3, 1000), (9, 40, 4000)])
def test_days_of_other_sizes(seed, symbols, count):
    messages = decoded(day(seed, symbols, count))
    seen, _ = check(messages)
    assert len(messages) == count and seen["R"] == symbols
    assert day(seed, symbols, count) != day(seed + 1, symbols, count)


def test_a_day_that_is_too_small_is_refused():
    with pytest.raises(ValueError, match="60 messages for each"):
        day(1, 2, 119)
