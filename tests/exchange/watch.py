"""An engine whose feed is followed by the fast twin: after every single message the twin's book must be the engine's visible one."""
import random

from tickgate.exchange.engine import Engine
from tickgate.exchange.orders import Order, Owner
from tickgate.exchange.publisher import Publisher
from tickgate.spec import itch50
from tickgate.spec.moldudp64 import BLOCK
from tickgate.twin import Book

LOCATE = itch50.BY_CODE[b"A"]["stock_locate"]


class Watched:
    """``engine`` with an owner ``crowd``; ``messages`` is what was published, ``compared`` how many books were: all levels after each message, and order by
    order after each ``every`` of them."""

    def __init__(self, symbols=("ALFA", "BRAVO"), every=1):
        self.twin, self.messages, self.compared, self.every = Book(rows=None), [], 0, every
        self.engine = Engine(symbols, Publisher(self.take))
        self.crowd = Owner("crowd")

    def take(self, time_ns, message):
        """The publisher's sink."""
        self.messages.append(message)
        self.twin.feed(BLOCK.encode(length=len(message)) + message)
        locate = int.from_bytes(message[LOCATE.offset:LOCATE.end], "big")
        if locate:
            self.compare(list(self.engine.books.values())[locate - 1])

    def compare(self, book):
        twin = self.twin[book.locate]
        for sell, side in enumerate("BS"):
            levels, where = book.depth(sell), f"message {len(self.messages)}: {self.messages[-1]}"
            assert twin.depth(side)[["price", "quantity", "count"]].tolist() == levels, where
            if self.compared % self.every == 0:
                mine = [(reference, price, shares) for price, _, _ in levels for reference, shares in book.queue(sell, price)]
                assert twin.orders(side)[["reference", "price", "quantity"]].tolist() == mine, where
        assert not twin.stale
        self.compared += 1

    def order(self, symbol, sell, shares, price, owner=None, **how):
        return Order(owner=owner or self.crowd, book=self.engine.books.get(symbol), sell=sell, shares=shares, price=price, **how)

    def enter(self, symbol, sell, shares, price, owner=None, **how):
        """A new order that is taken."""
        order = self.order(symbol, sell, shares, price, owner, **how)
        why = self.engine.enter(order)
        assert why is None, why
        return order

    def decoded(self, types=None):
        """Messages as (type, fields), those of some types or all."""
        return [(m[:1].decode(), itch50.BY_CODE[m[:1]].decode(m)) for m in self.messages if types is None or m[:1].decode() in types]


def random_order(watched, rng, owner, symbol, middle):
    """An order of any kind near the middle; it may be impossible."""
    engine, sell = watched.engine, rng.randrange(2)
    price = 100 * max(1, middle + rng.randrange(-12, 13) + (rng.randrange(6) if sell else -rng.randrange(6)))
    how = {"visible": rng.random() < 0.8, "attribution": rng.choice((b"", b"", b"MKRA"))}
    kind = rng.random()
    if kind < 0.15:
        how["ioc"] = True
    elif kind < 0.25:
        how["post_only"] = True
    elif kind < 0.35:
        how["cross"], how["market"] = rng.choice("OCH"), rng.random() < 0.5
    elif kind < 0.40:
        how["expires"] = engine.now + rng.randrange(1, 200_000)
    shares = rng.choice((0, 1_000_000)) if rng.random() < 0.02 else rng.choice((1, 50, 100, 100, 200, 300, 777))
    if rng.random() < 0.02:
        price = rng.choice((0, price + 1, 2_000_000_100))
    return watched.order(symbol, sell, shares, price, owner, **how)


def churn(watched, seed, steps, owners):
    """A whole day of anything that can happen, in ``steps`` steps."""
    rng, engine = random.Random(seed), watched.engine
    known = []
    plan = {0: "O", steps // 50: "S", steps // 6: "Q", steps * 5 // 6: "M", steps * 9 // 10: "E", steps - 1: "C"}
    for step in range(steps):
        engine.advance(engine.now + rng.randrange(1, 20_000))
        if step in plan:
            engine.phase(plan[step])
        symbol = rng.choice(list(engine.books))
        book, act = engine.books[symbol], rng.random()
        order = known[rng.randrange(max(0, len(known) - 60), len(known))] if known else None
        if act < 0.55 or order is None:
            new = random_order(watched, rng, rng.choice(owners), symbol, 1000)
            if engine.enter(new) is None:
                known.append(new)
        elif act < 0.72:
            if order.live:
                engine.cancel(order, rng.choice((0, 0, 50)))
        elif act < 0.90:
            if order.live:
                new = random_order(watched, rng, order.owner, order.symbol, 1000)
                new.sell, new.cross = order.sell, order.cross
                if engine.replace(order, new) is None:
                    known.append(new)
        elif act < 0.93:
            if order.live:
                engine.modify(order, rng.choice((1, 60)))
        elif act < 0.95:
            if order.live:
                engine.renew(order)
        elif act < 0.97:
            engine.bust(rng.randrange(engine.match + 1))
        elif act < 0.985:
            if book.state == "T":
                engine.halt(book, rng.choice("HP"), "T1")
            elif book.state in "HP":
                engine.halt(book, "Q")
            else:
                engine.resume(book)
        else:
            engine.freeze(book, rng.choice("OCH"))
