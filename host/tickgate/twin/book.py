"""book: the orders of one symbol, level by level, and what each book message does to them."""
from bisect import bisect_left, insort
from typing import NamedTuple

from tickgate.spec.records import DUPLICATE_REFERENCE, FAULTS, NO_FAULT, OVERFILL, TABLE_FULL, UNKNOWN_REFERENCE, WIDE_REFERENCE
from tickgate.spec.registers import BOOK

from .binary import counters

_FAULT_COUNTERS = {code: name for name, (code, _) in FAULTS.items() if code != NO_FAULT}


class Order:
    """A live order and where it rests."""

    __slots__ = ("level", "quantity", "room", "sell")

    def __init__(self, sell, quantity, level, room):
        self.sell, self.quantity, self.level, self.room = sell, quantity, level, room


class Level:
    """Orders at one price, first come first served. ``price`` is 0 for the two levels of a side that hold what rests outside the ladder."""

    __slots__ = ("orders", "price", "quantity")

    def __init__(self, price):
        self.price, self.quantity, self.orders = price, 0, {}   # orders by reference: a dict keeps their order


class Side:
    """One side of a book. Prices in 1e-4 USD, quantities in shares."""

    def __init__(self, sell):
        self.sell = sell
        self.levels = {}         # by price, those with orders
        self.prices = []         # the same prices, sorted
        self.near = Level(0)     # outside, could be better than everything inside
        self.far = Level(0)      # outside, worse than everything inside

    def top(self):
        """The best level, ``None`` when there is none; and whether that is so because an order outside the ladder could be the best."""
        if self.near.orders:
            return None, True
        if not self.prices:
            return None, bool(self.far.orders)
        return self.levels[self.prices[0 if self.sell else -1]], False

    def level(self, price):
        """The level of a price inside the ladder, made when it is not there."""
        level = self.levels.get(price)
        if level is None:
            level = self.levels[price] = Level(price)
            insort(self.prices, price)
        return level

    def drop(self, level):
        """Forget a level that has no orders left."""
        if level is not self.near and level is not self.far:
            del self.levels[level.price]
            del self.prices[bisect_left(self.prices, level.price)]


class Outcome(NamedTuple):
    """What a book message did: fault code, side (1: sell), and price and shares for the record."""

    fault: int
    sell: int
    price: int
    quantity: int


class Depth(NamedTuple):
    """One level of a snapshot; ``queue``: pairs of reference and shares, oldest first."""

    price: int
    quantity: int
    count: int
    queue: list


class Snapshot(NamedTuple):
    """A book at one moment: levels best first; ``near`` and ``far``: one ``Depth`` a side (bid, ask) of what rests outside, price 0."""

    bids: list
    asks: list
    near: tuple
    far: tuple


class Book:
    """Orders and levels of one symbol. ``capacity`` and ``count`` (of the BOOK block) are shared by all books."""

    def __init__(self, base, tick, ticks, capacity, count):
        self.capacity, self.count = capacity, count
        self.ticks = ticks
        self.move(base, tick)
        self.orders = {}                    # live ones by reference
        self.sides = (Side(0), Side(1))

    def move(self, base, tick):
        """Another place for the ladder. The book must be empty."""
        self.base, self.tick, self.end = base, tick, base + self.ticks * tick

    def where(self, sell, price):
        """The level at which an order of this price rests: its price, or which of the two outside, ``near`` or ``far``."""
        if self.base <= price < self.end and not (price - self.base) % self.tick:
            return price
        return "far" if (price >= self.end if sell else price < self.base) else "near"

    def add(self, reference, sell, quantity, price):
        """A F."""
        fault = self._rest(reference, sell, quantity, price)
        return Outcome(fault and self._fault(fault), sell, price, quantity)

    def reduce(self, reference, quantity):
        """E C X: shares taken from an order."""
        order, fault = self._find(reference)
        if fault:
            return Outcome(fault, 0, 0, quantity)
        price = order.level.price
        if quantity >= order.quantity:
            if quantity > order.quantity:
                fault = self._fault(OVERFILL)
            self._remove(reference, order)
        else:
            order.quantity -= quantity
            order.level.quantity -= quantity
        return Outcome(fault, order.sell, price, quantity)

    def delete(self, reference):
        """D."""
        order, fault = self._find(reference)
        if fault:
            return Outcome(fault, 0, 0, 0)
        self._remove(reference, order)
        return Outcome(NO_FAULT, order.sell, order.level.price, order.quantity)

    def replace(self, old, new, quantity, price):
        """U. The new order is judged and placed while the old one still takes its place; it starts at the end of its queue."""
        order, fault = self._find(old)
        if fault:
            return Outcome(fault, 0, price, quantity)
        fault, room = self._room(new)
        self._remove(old, order)
        if fault:
            self._fault(fault)
        else:
            self._queue(new, order.sell, quantity, price, room)
        return Outcome(fault, order.sell, price, quantity)

    def abandon(self, old):
        """U of which only the old reference came: that order is gone, and it is no fault when there was none."""
        order = self.orders.get(old)
        if order is not None:
            self._remove(old, order)

    def _find(self, reference):
        """A live order, or ``None`` and the fault."""
        if self.capacity.is_wide(reference):
            return None, self._fault(WIDE_REFERENCE)
        order = self.orders.get(reference)
        return (None, self._fault(UNKNOWN_REFERENCE)) if order is None else (order, NO_FAULT)

    def _room(self, reference):
        """Fault of a new reference, and its place in the order table when there is none."""
        if self.capacity.is_wide(reference):
            return WIDE_REFERENCE, None
        if reference in self.orders:
            return DUPLICATE_REFERENCE, None
        room = self.capacity.take(reference)
        return (NO_FAULT, room) if room else (TABLE_FULL, None)

    def _rest(self, reference, sell, quantity, price):
        fault, room = self._room(reference)
        if not fault:
            self._queue(reference, sell, quantity, price, room)
        return fault

    def _queue(self, reference, sell, quantity, price, room):
        """An order joins the end of its level's queue."""
        side = self.sides[sell]
        where = self.where(sell, price)
        if where == price:
            level = side.level(price)
        else:
            self.count["outside"] += 1
            level = getattr(side, where)
        level.orders[reference] = self.orders[reference] = Order(sell, quantity, level, room)
        level.quantity += quantity

    def _remove(self, reference, order):
        """An order leaves; it keeps the quantity it had."""
        level = order.level
        del self.orders[reference], level.orders[reference]
        level.quantity -= order.quantity
        if not level.orders:
            self.sides[order.sell].drop(level)
        self.capacity.give_back(order.room)

    def _fault(self, code):
        self.count[_FAULT_COUNTERS[code]] += 1
        return code

    def snapshot(self):
        """The whole book, see ``Snapshot``."""
        def depth(level):
            return Depth(level.price, level.quantity, len(level.orders), [(reference, o.quantity) for reference, o in level.orders.items()])

        bids, asks = ([depth(side.levels[price]) for price in side.prices] for side in self.sides)
        return Snapshot(bids[::-1], asks, tuple(depth(s.near) for s in self.sides), tuple(depth(s.far) for s in self.sides))


def new_counters():
    """Counters of the BOOK block at zero."""
    return counters(BOOK)
