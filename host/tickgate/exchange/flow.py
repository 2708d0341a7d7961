"""Orders of others: made up from a seed, or those of a capture."""
import random

from tickgate.spec import itch50
from tickgate.spec.presets import TICK_SIZES

from .orders import Order

CENT = TICK_SIZES[0]
FEW, MANY = 12, 400          # resting orders of a symbol below which it only grows, above which it only shrinks
HALF_LEVELS = 20             # ticks from the middle within which orders come


class Generated:
    """A market that a seed makes up: ``step`` does one thing in one symbol. Prices walk around a middle of 10 to 60 USD."""

    def __init__(self, exchange, seed=0):
        self.exchange, self.random = exchange, random.Random(f"{seed} flow")
        self._books = list(exchange.engine.books.values())
        self._middle = {book.name: CENT * self.random.randrange(1000, 6000) for book in self._books}
        self._orders = {book.name: [] for book in self._books}

    def seed_books(self, orders=20):
        """Some orders on both sides of every book."""
        for book in self._books:
            for _ in range(orders):
                self._add(book)

    def step(self):
        """One act: an order, a cancel, a replacement, an execution."""
        rng, book = self.random, self.random.choice(self._books)
        name = book.name
        if rng.randrange(8) == 0:
            self._middle[name] = max(CENT * HALF_LEVELS * 2, self._middle[name] + CENT * rng.randrange(-1, 2))
        resting = self._orders[name]
        if len(resting) > 4 * MANY:
            resting[:] = [order for order in resting if order.live]
        order = resting.pop(rng.randrange(len(resting))) if len(resting) > FEW else None
        act = rng.randrange(100)
        if order is None or not order.live or act < 45 and len(resting) < MANY:
            if order is not None and order.live:
                resting.append(order)
            self._add(book)
        elif act < 75:
            self.exchange.engine.cancel(order, order.shares // 2 if act < 50 and order.shares > 1 else 0)
            if order.live:
                resting.append(order)
        elif act < 85:
            new = Order(owner=order.owner, book=book, sell=order.sell, shares=order.done + self._shares(), price=self._price(book, order.sell))
            self.exchange.engine.replace(order, new)
            if new.live:
                resting.append(new)
        else:
            resting.append(order)
            self._enter(book, rng.randrange(2), self._shares(), self._middle[name], reach=HALF_LEVELS, ioc=True)
        self.exchange.settle()

    def _shares(self):
        return 100 * self.random.randrange(1, 6) if self.random.randrange(4) else self.random.randrange(1, 100)

    def _price(self, book, sell):
        away = CENT * min(self.random.randrange(HALF_LEVELS), self.random.randrange(HALF_LEVELS))
        return self._middle[book.name] + (away if sell else -away - CENT)

    def _add(self, book):
        sell = self.random.randrange(2)
        order = self._enter(book, sell, self._shares(), self._price(book, sell), visible=self.random.randrange(10) > 0)
        if order.live:
            self._orders[book.name].append(order)

    def _enter(self, book, sell, shares, price, reach=0, **how):
        order = Order(owner=self.exchange.crowd, book=book, sell=sell, shares=shares, price=price + CENT * (-reach if sell else reach), **how)
        self.exchange.engine.enter(order)
        return order


class Captured:
    """The day of a capture as orders of others: ITCH messages (``bytes``) one after the other. What was added is entered; what was executed is taken by an
    order at once or never, so orders of members that stand before it trade first. Symbols that the exchange has not are left out.

    ``applied`` and ``left_out`` count messages.
    """

    def __init__(self, exchange):
        self.exchange, self.applied, self.left_out = exchange, 0, 0
        self._books, self._orders = {}, {}

    def apply(self, message):
        """One message; returns its time, ns since midnight. Time must be moved before, see ``Exchange.advance``."""
        layout = itch50.BY_CODE.get(message[:1])
        if layout is None or len(message) < layout.size:
            self.left_out += 1
            return self.exchange.now
        values = layout.decode(message)
        handle = getattr(self, f"_{layout.name}", None)
        if handle is not None and handle(values) is not False:
            self.applied += 1
            self.exchange.settle()
        else:
            self.left_out += 1
        return values["timestamp"]

    def _book(self, values):
        return self._books.get(values["stock_locate"])

    def _system_event(self, values):
        code = values["event_code"].decode("latin-1")
        try:
            self.exchange.phase(code)
        except ValueError:
            return False
        return True

    def _stock_directory(self, values):
        book = self.exchange.engine.books.get(values["stock"].decode("latin-1").rstrip())
        if book is None:
            return False
        self._books[values["stock_locate"]] = book
        return True

    def _stock_trading_action(self, values):
        book, state = self._book(values), values["trading_state"].decode("latin-1")
        if book is None or state == book.state or state not in "THPQ":
            return False
        if state == "T":
            self.exchange.engine.resume(book, values["reason"])
        else:
            self.exchange.engine.halt(book, state, values["reason"])
        return True

    def _enter(self, reference, order):
        if self.exchange.engine.enter(order) is not None:
            return False
        if order.live:
            self._orders[reference] = order
        return True

    def _add_order(self, values):
        book = self._book(values)
        return book is not None and self._enter(values["order_ref"], Order(
            owner=self.exchange.crowd, book=book, sell=int(values["side"] == b"S"), shares=values["shares"], price=values["price"],
            attribution=values.get("attribution", b"")))

    _add_order_mpid = _add_order

    def _find(self, reference):
        order = self._orders.get(reference)
        if order is not None and not order.live:
            del self._orders[reference]
            return None
        return order

    def _order_cancel(self, values):
        order = self._find(values["order_ref"])
        return order is not None and self.exchange.engine.cancel(order, max(0, order.shares - values["cancelled_shares"])) is None

    def _order_delete(self, values):
        order = self._find(values["order_ref"])
        return order is not None and self.exchange.engine.cancel(order) is None

    def _order_replace(self, values):
        old = self._find(values["original_order_ref"])
        if old is None:
            return False
        new = Order(owner=old.owner, book=old.book, sell=old.sell, shares=old.done + values["shares"], price=values["price"], attribution=old.attribution)
        self.exchange.engine.replace(old, new)
        if new.live:
            self._orders[values["new_order_ref"]] = new
        return True

    def _order_executed(self, values):
        order = self._find(values["order_ref"])
        if order is None or not self.exchange.engine.trading(order.book):
            return False
        return self.exchange.engine.enter(Order(owner=self.exchange.crowd, book=order.book, sell=1 - order.sell, shares=values["executed_shares"],
                                                price=order.price, ioc=True)) is None

    def _order_executed_with_price(self, values):
        return values["printable"] == b"Y" and self._order_executed(values)     # the others belong to a cross, and crosses are the engine's own
