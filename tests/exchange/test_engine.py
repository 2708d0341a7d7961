"""The matching engine: its rules one by one, and random days whose ITCH gives the engine's book after every message."""
import random
from collections import Counter

import pytest

from tickgate.exchange.auction import clearing
from tickgate.exchange.orders import Owner

from .watch import Watched, churn


class Listener(Owner):
    """An owner that writes down what it hears."""

    def __init__(self, name="client", self_match="trade"):
        super().__init__(name, self_match)
        self.heard = []

    def accepted(self, order, live):
        super().accepted(order, live)
        self.heard.append(("accepted", order.ticket, live))

    def replaced(self, old, new, live):
        super().replaced(old, new, live)
        self.heard.append(("replaced", new.ticket, new.shares, live))

    def canceled(self, order, shares, reason):
        super().canceled(order, shares, reason)
        self.heard.append(("canceled", order.ticket, shares, reason))

    def self_matched(self, order, shares, prevented, price, liquidity):
        super().self_matched(order, shares, prevented, price, liquidity)
        self.heard.append(("self_matched", order.ticket, shares, prevented, price))

    def executed(self, order, shares, price, liquidity, match):
        super().executed(order, shares, price, liquidity, match)
        self.heard.append(("executed", order.ticket, shares, price, liquidity))

    def broken(self, order, trade, reason):
        super().broken(order, trade, reason)
        self.heard.append(("broken", order.ticket, trade.match, reason))

    def take(self):
        """What was heard since the last time."""
        heard, self.heard = self.heard, []
        return heard


@pytest.fixture
def market():
    """A watched engine in continuous trading."""
    watched = Watched()
    for code in "OSQ":
        watched.engine.phase(code)
    watched.messages.clear()
    return watched


def test_price_then_visible_then_time(market):
    me = Listener()
    for ticket, (price, visible) in enumerate(((10_000, True), (10_100, False), (10_000, False), (10_100, True), (10_100, True), (10_200, True))):
        market.enter("ALFA", 1, 100, price, me, visible=visible, ticket=ticket)
    assert [ticket for what, ticket, _ in me.take()] == list(range(6))
    market.enter("ALFA", 0, 450, 10_100, ioc=True)
    assert me.take() == [("executed", 0, 100, 10_000, "added"), ("executed", 2, 100, 10_000, "hidden_added"), ("executed", 3, 100, 10_100, "added"),
                         ("executed", 4, 100, 10_100, "added"), ("executed", 1, 50, 10_100, "hidden_added")]
    assert [code for code, _ in market.decoded()] == list("AAAAEPEEP")
    hidden = market.decoded("P")[0][1]
    assert (hidden["order_ref"], hidden["side"], hidden["shares"], hidden["price"]) == (0, b"B", 100, 10_000)
    assert me.position["ALFA"] == -450 and market.crowd.position["ALFA"] == 450 and market.engine.volume["ALFA"] == 450


def test_what_is_left_rests_or_goes(market):
    me = Listener()
    market.enter("ALFA", 1, 100, 10_000)
    market.enter("ALFA", 0, 150, 10_100, me, ticket="rests")
    market.enter("ALFA", 1, 30, 10_000, me, ticket="ioc", ioc=True)
    market.enter("ALFA", 1, 100, 10_200, me, ticket="alone", ioc=True)
    assert me.take() == [("accepted", "rests", True), ("executed", "rests", 100, 10_000, "removed"), ("accepted", "ioc", True),
                         ("executed", "rests", 30, 10_100, "added"), ("executed", "ioc", 30, 10_100, "removed"), ("accepted", "alone", True),
                         ("canceled", "alone", 100, "ioc")]
    assert market.engine.books["ALFA"].depth(0) == [(10_100, 20, 1)]


@pytest.mark.parametrize(("order", "why"), [
    (dict(shares=0), "invalid_quantity"), (dict(shares=1_000_000), "invalid_quantity"), (dict(price=0), "invalid_price"),
    (dict(price=10_001), "invalid_price"), (dict(price=1_999_999_901), "invalid_price"), (dict(market=True), "invalid_price"),
    (dict(symbol="NONE"), "invalid_symbol"), (dict(cross="O"), "invalid_cross_order"), (dict(cross="H"), "invalid_cross_order"),
    (dict(cross="S"), "invalid_cross_order"), (dict(cross="C", post_only=True), "invalid_cross_order"),
])
def test_refused(market, order, why):
    assert market.engine.enter(market.order(**{"symbol": "ALFA", "sell": 0, "shares": 100, "price": 10_000, **order})) == why
    assert not market.messages and not market.crowd.shares


def test_prices_at_the_edges_are_taken(market):
    for price in (1, 9999, 10_000, 1_999_999_900):
        market.enter("ALFA", 0, 1, price)
        market.engine.cancel(next(market.engine.books["ALFA"].orders()))


def test_replace(market):
    me = Listener()
    first = market.enter("ALFA", 0, 300, 10_000, me, ticket=1)
    market.enter("ALFA", 1, 100, 10_000)
    me.take()
    second = market.order("ALFA", 0, 500, 9900, me, ticket=2)
    assert market.engine.replace(first, second) is None
    assert me.take() == [("replaced", 2, 400, True)] and not first.live       # 100 of the chain's 500 were executed
    assert [code for code, _ in market.decoded()] == list("AEU")
    hidden = market.order("ALFA", 0, 500, 9900, me, ticket=3, visible=False)
    market.engine.replace(second, hidden)
    market.engine.replace(hidden, shown := market.order("ALFA", 0, 500, 9900, me, ticket=4))
    assert [code for code, _ in market.decoded()] == list("AEUDA")
    market.enter("ALFA", 1, 50, 10_000)
    market.engine.replace(shown, taker := market.order("ALFA", 0, 500, 10_000, me, ticket=5))
    assert [code for code, _ in market.decoded()] == list("AEUDAADEA") and taker.shares == 350
    me.take()
    assert market.engine.replace(taker, market.order("ALFA", 0, 150, 10_000, me, ticket=6)) == "canceled"       # as many as were executed
    assert me.take() == [("canceled", 5, 350, "user")]
    last = market.enter("ALFA", 0, 300, 10_000, me, ticket=7)
    assert market.engine.replace(last, market.order("ALFA", 0, 300, 10_001, me, ticket=8)) == "canceled" and not last.live


def test_cancel_modify_renew(market):
    me = Listener()
    one, two = (market.enter("ALFA", 0, 100, 10_000, me, ticket=t) for t in (1, 2))
    me.take()
    assert market.engine.cancel(one, 40) is None and market.engine.cancel(one, 40) == "nothing" and market.engine.modify(one, 50) == "nothing"
    assert market.engine.modify(one, 30) is None
    assert me.take() == [("canceled", 1, 60, "user")]
    book = market.engine.books["ALFA"]
    assert book.queue(0, 10_000) == [(one.reference, 30), (two.reference, 100)]      # both kept their places
    market.engine.renew(one)
    assert book.queue(0, 10_000) == [(two.reference, 100), (one.reference, 30)] and one.reference > two.reference
    assert market.engine.cancel(two) is None and not two.live
    assert [code for code, _ in market.decoded()] == list("AAXXUD")


def test_post_only_never_takes(market):
    me = Listener()
    market.enter("ALFA", 1, 100, 10_100)
    market.enter("ALFA", 0, 100, 10_100, me, ticket=1, post_only=True)
    market.enter("ALFA", 0, 100, 10_000, me, ticket=2, post_only=True)
    assert me.take() == [("accepted", 1, False), ("accepted", 2, True)]
    assert me.shares["gone", "ALFA", 0] == 100 and market.engine.volume["ALFA"] == 0


@pytest.mark.parametrize(("how", "expected"), [
    ("trade", [("executed", 1, 100, 10_000, "added"), ("executed", 2, 100, 10_000, "removed")]),
    ("oldest", [("self_matched", 1, 100, 100, 10_000)]),
    ("newest", [("self_matched", 2, 250, 100, 10_000)]),
    ("decrement", [("self_matched", 1, 100, 100, 10_000), ("self_matched", 2, 100, 100, 10_000)]),
])
def test_self_match(market, how, expected):
    me = Listener(self_match=how)
    market.enter("ALFA", 1, 100, 10_000, me, ticket=1)
    market.enter("ALFA", 1, 100, 10_000)
    me.take()
    taker = market.enter("ALFA", 0, 250, 10_000, me, ticket=2)
    rest = [] if how == "newest" else [("executed", 2, 100, 10_000, "removed")]
    assert me.take() == [("accepted", 2, True), *expected, *rest]
    assert taker.shares == {"trade": 50, "oldest": 150, "newest": 0, "decrement": 50}[how]


def test_halt_and_reopening(market):
    engine, me = market.engine, Listener()
    book = engine.books["ALFA"]
    resting = market.enter("ALFA", 1, 100, 10_000)
    engine.halt(book, "H", "T1")
    assert engine.enter(market.order("ALFA", 0, 1, 10_000)) == "halted"
    market.enter("ALFA", 0, 60, 1, me, cross="H", market=True, ticket="market")
    engine.halt(book, "Q")
    assert engine.enter(market.order("ALFA", 0, 1, 10_000, ioc=True)) == "halted"
    market.enter("ALFA", 0, 100, 10_200, me, ticket="limit")
    assert book.depth(0)[0][0] > book.depth(1)[0][0]                       # crossed, as it may be now
    engine.freeze(book, "H")
    engine.resume(book)
    assert [h for h in me.take() if h[0] != "accepted"] == [("executed", "market", 60, 10_000, "halt"), ("executed", "limit", 40, 10_000, "halt")]
    assert not resting.live and book.depth(0) == [(10_200, 60, 1)] and book.state == "T"
    assert [code for code, _ in market.decoded()] == list("AHHAICCCQH")
    cross = market.decoded("Q")[0][1]
    assert (cross["shares"], cross["cross_price"], cross["cross_type"]) == (100, 10_000, b"H")
    assert all(m["printable"] == b"N" and m["execution_price"] == 10_000 for _, m in market.decoded("C"))


def test_orders_of_a_cross_that_is_near():
    market, me = Watched(), Listener()
    engine = market.engine
    for code in "OS":
        engine.phase(code)
    book = engine.books["ALFA"]
    one, two = (market.enter("ALFA", 0, shares, 10_000, me, cross="O", ticket=t) for t, shares in ((1, 100), (2, 200)))
    assert engine.cancel(two, 150) is None
    engine.freeze(book, "O")
    assert engine.enter(market.order("ALFA", 0, 100, 10_000, cross="O")) == "invalid_cross_order"
    assert engine.replace(one, market.order("ALFA", 0, 100, 9900, me)) == "cancel_not_allowed"
    assert engine.cancel(one) == "pending" and engine.cancel(one) == "refused"
    assert engine.replace(one, market.order("ALFA", 0, 100, 9900, me)) == "cancel_pending"
    market.enter("ALFA", 1, 30, 9000)
    me.take()
    engine.phase("Q")
    assert me.take() == [("executed", 1, 30, 9000, "opening"), ("canceled", 1, 70, "user"), ("canceled", 2, 150, "cross")]


def test_the_day_ends():
    market, me = Watched(), Listener()
    engine = market.engine
    engine.phase("O")
    assert engine.enter(market.order("ALFA", 0, 1, 10_000)) == "destination_closed"
    for code in "SQ":
        engine.phase(code)
    market.enter("ALFA", 0, 100, 10_000, me, ticket="day")
    market.enter("ALFA", 0, 100, 10_000, me, ticket="timed", expires=engine.now + 5)
    market.enter("ALFA", 1, 40, 1, me, cross="C", market=True, ticket="close")
    me.take()
    engine.advance(engine.now + 5)
    engine.phase("M")
    assert me.take() == [("canceled", "timed", 100, "timeout"), ("executed", "day", 40, 10_000, "closing"), ("executed", "close", 40, 10_000, "closing"),
                         ("canceled", "day", 60, "timeout")]
    market.enter("ALFA", 0, 100, 10_000, me, ticket="late")
    assert me.take() == [("accepted", "late", False)]
    for wrong in ("M", "Q", "X", ""):
        with pytest.raises(ValueError, match="phase"):
            engine.phase(wrong)
    for code in "EC":
        engine.phase(code)
    assert engine.enter(market.order("ALFA", 0, 1, 10_000)) == "destination_closed"


def test_bust(market):
    me = Listener()
    market.enter("ALFA", 1, 100, 10_000)
    market.enter("ALFA", 0, 60, 10_000, me, ticket=1)
    assert me.position["ALFA"] == 60
    match = market.engine.match
    assert market.engine.bust(match, "consent") and not market.engine.bust(match) and not market.engine.bust(99)
    assert me.heard[-1] == ("broken", 1, match, "consent") and me.position["ALFA"] == market.crowd.position["ALFA"] == 0
    assert market.decoded("B")[0][1]["match_number"] == match


class Side:
    """An order as ``clearing`` sees it."""

    def __init__(self, sell, price, shares):
        self.sell, self.market, self.price, self.shares = sell, price is None, price, shares


@pytest.mark.parametrize(("orders", "reference", "expected"), [
    ([], 100, (0, 0, 0)),
    ([(0, 100, 10)], 0, (0, 0, 10)),
    ([(0, 100, 10), (1, 101, 10)], 0, (0, 0, 0)),
    ([(0, 102, 10), (1, 100, 10)], 0, (100, 10, 0)),                        # nothing left at both: the lowest
    ([(0, 102, 10), (1, 100, 10)], 103, (102, 10, 0)),                      # nearest to the reference
    ([(0, 102, 10), (0, 101, 5), (1, 100, 12)], 102, (101, 12, 3)),         # 102 would trade 10 only
    ([(0, 102, 10), (0, 101, 5), (1, 100, 12), (1, 101, 2)], 100, (101, 14, 1)),   # 100 trades 12
    ([(0, 102, 10), (0, 100, 5), (1, 100, 10)], 0, (102, 10, 0)),           # 100 would leave 5 buyers
    ([(0, None, 10), (1, None, 4)], 55, (55, 4, 6)),
    ([(0, None, 10), (1, None, 4)], 0, (0, 0, 6)),
    ([(0, None, 10), (1, 200, 4), (1, 210, 4)], 0, (210, 8, 2)),
])
def test_clearing_price(orders, reference, expected):
    assert clearing([Side(*order) for order in orders], reference) == expected


def test_clearing_price_by_trying_every_price():
    tried = 0
    for seed in range(40):
        rng = random.Random(seed)
        orders = [Side(rng.randrange(2), rng.choice((None, *range(95, 106))), rng.randrange(1, 9)) for _ in range(rng.randrange(2, 14))]
        found = clearing(orders, 100)
        volume = 0
        for price in range(90, 111):
            demand, supply = (sum(o.shares for o in orders if o.sell == side and (o.market or (o.price <= price if side else o.price >= price)))
                              for side in (0, 1))
            volume = max(volume, min(demand, supply))
        assert found.shares == volume, f"seed {seed}"
        tried += volume > 0
    assert tried > 20


@pytest.mark.parametrize("seed", range(4))
def test_random_days(seed):
    print(f"seed {seed}")
    market = Watched()
    owners = [market.crowd, Listener("trades"), *(Listener(how, how) for how in ("oldest", "newest", "decrement"))]
    churn(market, seed, 3000, owners)
    seen = Counter(code for code, _ in market.decoded())
    assert market.compared > 1000 and all(seen[code] for code in "SRHYAFECXDUPQBI"), seen
    engine = market.engine
    assert not any(list(book.orders()) for book in engine.books.values())
    for symbol in engine.books:
        bought, sold = (sum(owner.shares["executed", symbol, sell] for owner in owners) for sell in (0, 1))
        assert bought == sold == engine.volume[symbol] > 0
        locate = engine.books[symbol].locate
        printed = sum(m["shares"] if code in "PQ" else m["executed_shares"] for code, m in market.decoded("EPQ") if m["stock_locate"] == locate)
        assert printed == engine.volume[symbol]
        assert sum(owner.position[symbol] for owner in owners) == 0
    for owner in owners:
        for key in {key[1:] for key in owner.shares}:
            assert owner.shares["entered", *key] == owner.shares["executed", *key] + owner.shares["gone", *key]
