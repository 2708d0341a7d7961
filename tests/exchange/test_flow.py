"""Orders of others: made up, and those of a capture; the feed gives the engine's book after every message of both."""
from collections import Counter

from tickgate.capture.synthetic import day
from tickgate.exchange import Exchange, conserved
from tickgate.exchange.flow import Captured, Generated
from tickgate.spec import itch50
from tickgate.spec.moldudp64 import BLOCK
from tickgate.twin import Book

from .watch import Watched


def watched(symbols, seed=0):
    """An exchange whose feed is followed by the twin."""
    exchange, watch = Exchange(symbols, seed=seed), Watched(symbols, every=50)
    publish = exchange.engine.publish.sink

    def sink(time_ns, message):
        publish(time_ns, message)
        watch.take(time_ns, message)

    watch.engine, exchange.engine.publish.sink = exchange.engine, sink
    return exchange, watch


def blocks(data):
    at = 0
    while length := BLOCK.decode(data, at)["length"]:
        yield data[at + BLOCK.size:at + BLOCK.size + length]
        at += BLOCK.size + length


def test_made_up():
    seed = 4
    exchange, watch = watched(("ALFA", "BRAVO", "CHARLIE"), seed)
    flow = Generated(exchange, seed)
    for code in "OS":
        exchange.phase(code)
    flow.seed_books()
    exchange.phase("Q")
    for _ in range(2000):
        exchange.advance(exchange.now + 1000)
        flow.step()
    assert watch.compared > 1500
    seen = Counter(m[:1].decode() for m in exchange.feed.messages)
    assert all(seen[code] > 20 for code in "AEXDUP"), seen
    for book in exchange.engine.books.values():
        assert all(5 < len(list(side.levels)) for side in book.sides) and book.depth(0)[0][0] < book.depth(1)[0][0]
    exchange.finish()
    assert conserved(exchange) == []


def play(exchange, data):
    """A BinaryFILE through ``Captured``."""
    flow = Captured(exchange)
    for message in blocks(data):
        exchange.advance(int.from_bytes(message[5:11], "big"))
        flow.apply(message)
    return flow


def test_made_up_day_as_a_capture():
    names = ("ALFA", "BRAVO", "CHARLIE")
    exchange, watch = watched(names)
    flow = play(exchange, day(3, 3, 3000))
    assert flow.applied > 2000 and watch.compared > 2000 and exchange.engine.day == "C"
    seen = Counter(m[:1].decode() for m in exchange.feed.messages)
    assert seen["Q"] == 7 and seen["S"] == 6 and seen["E"] > 50 and seen["U"] > 100, seen       # two crosses each, and one after the halt
    assert conserved(exchange) == []


def test_without_members_the_books_are_those_of_the_capture():
    """A day on which nothing trades: what was added, cut down, replaced and deleted gives the same books, message by message."""
    symbols = ("ALFA", "BRAVO")
    exchange, watch = watched(symbols)
    flow, real, seen = Captured(exchange), Book(rows=None), Counter()
    for message in blocks(day(5, 2, 2000, mix={"E": 0}, auctions=False, halts=0)):
        values = itch50.BY_CODE[message[:1]].decode(message)
        if values.get("event_code") == b"M":
            break
        exchange.advance(values["timestamp"])
        flow.apply(message)
        real.feed(BLOCK.encode(length=len(message)) + message)
        seen[message[:1].decode()] += 1
        if message[:1] in (b"A", b"F", b"X", b"U", b"D"):
            book = list(exchange.engine.books.values())[values["stock_locate"] - 1]
            for sell, side in enumerate("BS"):
                assert real[book.name].depth(side)[["price", "quantity", "count"]].tolist() == book.depth(sell), message
    assert all(seen[code] > 20 for code in "AFXUD") and watch.compared > 1000
    published = Counter(m[:1].decode() for m in exchange.feed.messages)
    assert {code: published[code] for code in "AFXUDEP"} == {code: seen[code] for code in "AFXUDEP"}


def test_symbols_that_are_not_traded_are_left_out():
    exchange = Exchange(["BRAVO"])
    flow = play(exchange, day(3, 3, 2000))
    assert flow.left_out > 1000 and flow.applied > 300 and exchange.engine.volume["BRAVO"] > 0 and conserved(exchange) == []


def test_an_execution_of_the_capture_takes_what_stands_first():
    exchange = Exchange(["ALFA"])
    flow = Captured(exchange)
    for code in "OSQ":
        exchange.phase(code)

    def apply(code, **values):
        flow.apply(itch50.BY_CODE[code].encode(stock_locate=7, **values))

    apply(b"R", stock="ALFA")
    apply(b"A", order_ref=1, side="B", shares=50, stock="ALFA", price=10_100)        # somebody whom the capture does not know would stand here
    apply(b"A", order_ref=2, side="B", shares=100, stock="ALFA", price=10_000)
    apply(b"E", order_ref=2, executed_shares=90)
    book = exchange.engine.books["ALFA"]
    assert book.depth(0) == [(10_000, 60, 1)] and exchange.engine.volume["ALFA"] == 90 and book.depth(1) == []
    apply(b"U", original_order_ref=2, new_order_ref=3, shares=80, price=9900)        # 80 open, whatever was executed before
    assert book.depth(0) == [(9900, 80, 1)]
    apply(b"C", order_ref=3, executed_shares=30, printable="N", execution_price=9900)
    apply(b"D", order_ref=2)
    assert flow.left_out == 2 and book.depth(0) == [(9900, 80, 1)]
    apply(b"C", order_ref=3, executed_shares=30, printable="Y", execution_price=9900)
    apply(b"D", order_ref=3)
    assert book.depth(0) == [] and exchange.engine.volume["ALFA"] == 120
