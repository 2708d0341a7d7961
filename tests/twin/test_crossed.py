"""book/publish: books that come to be locked or crossed, when that counts, and what the policy makes of it."""
import gzip

import pytest

from tickgate.capture import sample_path
from tickgate.spec.presets import PRESETS
from tickgate.spec.records import CROSSED, CROSSED_BOOK, LOCKED_BOOK, OVERFILL, PHASES, STALE, TOP_OF_BOOK, TRADING, VALID, state_of
from tickgate.spec.registers import PUBLISH
from tickgate.twin import Golden
from tickgate.twin.unbounded import unbounded
from tickgate_sim.streams import frames

GROUP = (0xE9360C65, 26477)
BASE = 1_000_000
WHEN_CROSSED, WHEN_LOCKED = (PUBLISH["stale_when"].mask(name) for name in ("crossed", "locked"))


@pytest.fixture
def market(bench, make_message):
    """A bench with short forms; symbol 1 in continuous trading, and a bid at 100.10."""
    class Market:
        golden, sent = bench.golden, 0

        def send(self, code, locate=11, **fields):
            return bench.send(make_message(code, locate, **fields))[0]

        def add(self, side, ticks, shares=10):
            """A new order; its record. Its reference is the number of orders so far."""
            self.sent += 1
            return self.send("A", order_ref=self.sent, side=side, shares=shares, price=BASE + 100 * ticks)

        def delete(self, reference):
            return self.send("D", order_ref=reference)

        def count(self):
            return tuple(bench.golden.counters["publish"][name] for name in ("crossed", "locked"))

    it = Market()
    it.send("S", 0, event_code="Q")
    it.send("H", trading_state="T")
    it.add("B", 10)
    return it


def is_met(row):
    return bool(row["flags"] & CROSSED)


def test_counts_once_until_it_is_apart_again(market):
    assert is_met(market.add("S", 9)) and market.count() == (1, 0)
    assert is_met(market.add("S", 8)) and is_met(market.delete(3)) and market.count() == (1, 0)
    assert not is_met(market.delete(2)) and market.count() == (1, 0)
    assert is_met(market.add("S", 9)) and market.count() == (2, 0)


def test_from_locked_to_crossed_counts_both_and_back_nothing(market):
    assert is_met(market.add("S", 10)) and market.count() == (0, 1)
    assert is_met(market.add("S", 9)) and market.count() == (1, 1)
    assert is_met(market.delete(3)) and market.count() == (1, 1)
    assert is_met(market.add("S", 9)) and market.count() == (2, 1)


@pytest.mark.parametrize("code, fields", [
    ("S", dict(event_code="O")), ("S", dict(event_code="S")), ("S", dict(event_code="M")), ("S", dict(event_code="E")), ("S", dict(event_code="C")),
    ("H", dict(trading_state="H")), ("H", dict(trading_state="P")), ("H", dict(trading_state="Q")), ("H", dict(trading_state="?")),
    ("h", dict(market_code="Q", halt_action="H"))])
def test_legal_outside_continuous_trading(market, code, fields):
    market.golden.stale_when = WHEN_CROSSED | WHEN_LOCKED
    market.send(code, **fields)
    row = market.add("S", 9)
    assert (row["detail"], row["flags"] & (VALID | CROSSED | STALE)) == (0, VALID | CROSSED) and market.count() == (0, 0)


def test_what_was_crossed_before_trading_began_may_be_taken_apart(market):
    """As in an opening cross: the phase comes first, then the executions that uncross the book, level by level."""
    market.golden.stale_when = WHEN_CROSSED | WHEN_LOCKED
    market.send("S", 0, event_code="S")
    for ticks in (9, 10, 11):
        market.add("S", ticks)
    market.send("S", 0, event_code="Q")
    for reference, left in ((2, True), (3, False)):       # crossed, locked, apart
        row = market.send("C", order_ref=reference, executed_shares=10, printable="N", execution_price=BASE + 900)
        assert is_met(row) == left and not row["flags"] & STALE
    assert market.count() == (0, 0)
    assert market.add("S", 9)["detail"] == CROSSED_BOOK and market.count() == (1, 0)


@pytest.mark.parametrize("ticks, stale_when, detail", [
    (9, 0, 0), (9, WHEN_LOCKED, 0), (9, WHEN_CROSSED, CROSSED_BOOK), (9, WHEN_CROSSED | WHEN_LOCKED, CROSSED_BOOK),
    (10, 0, 0), (10, WHEN_CROSSED, 0), (10, WHEN_LOCKED, LOCKED_BOOK), (10, WHEN_CROSSED | WHEN_LOCKED, LOCKED_BOOK)])
def test_policy(market, ticks, stale_when, detail):
    market.golden.stale_when = stale_when
    for row in (market.add("S", ticks), market.add("S", 20), market.send("P", side="B")):
        assert bool(row["flags"] & STALE) == bool(detail)
    assert market.golden.stale == ({1} if detail else set()) and market.count() == ((1, 0) if ticks < 10 else (0, 1))
    market.golden.stale_when = stale_when
    assert market.delete(2)["detail"] == 0
    assert market.add("S", ticks)["detail"] == detail


def test_the_messages_own_fault_comes_first(market):
    """An order off the ladder's grid hides the best; when it goes, the book is seen to be crossed."""
    market.golden.stale_when = WHEN_CROSSED
    market.send("A", order_ref=9, side="S", shares=5, price=BASE + 850)
    assert not is_met(market.add("S", 9)) and market.count() == (0, 0)
    row = market.send("E", order_ref=9, executed_shares=6)
    assert (row["detail"], is_met(row)) == (OVERFILL, True) and market.count() == (1, 0)


def test_the_default_is_to_count(market):
    assert market.golden.stale_when == PUBLISH["stale_when"].reset == Golden(PRESETS["small"], [], []).stale_when


def test_the_shipped_sample_keeps_its_books():
    """Crossed before its opening cross, and taken apart by it when the market is open already: no episode, whatever the policy."""
    golden = unbounded(range(1, 17), [GROUP])
    golden.stale_when = WHEN_CROSSED | WHEN_LOCKED
    raw, messages, at = gzip.decompress(sample_path().read_bytes()), [], 0
    while len(messages) < 7500:                           # the last opening cross is at 6907
        at += 2 + len(messages[-1]) if messages else 0
        messages.append(raw[at + 2:at + 2 + int.from_bytes(raw[at:at + 2], "big")])
    for frame, _ in frames(messages, 0, filters=[GROUP], plain=True).frames:
        golden.frame(frame)
    rows = golden.take()
    met = rows[(rows["kind"] == TOP_OF_BOOK) & (rows["flags"] & CROSSED != 0)]
    assert len(met) > 5000 and (met["state"] == state_of(TRADING["T"], 0, PHASES["Q"])).any()
    assert golden.counters["publish"] == {"crossed": 0, "locked": 0} and not golden.stale
