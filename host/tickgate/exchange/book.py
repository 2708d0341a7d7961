"""The orders of one symbol in price-time priority."""
from bisect import bisect_left, insort

from .orders import BUY, SELL


class Level:
    """Orders of one price, oldest first, by reference; the visible ones go before the hidden ones."""

    def __init__(self):
        self.visible, self.hidden, self.quantity = {}, {}, 0    # quantity: visible shares

    def first(self):
        return next(iter((self.visible or self.hidden).values()))


class Side:
    """Levels by price. ``_keys``: prices, negated for asks, so that the best is the last."""

    def __init__(self, sell):
        self._sign, self._keys, self.levels = (-1 if sell else 1), [], {}

    def best(self):
        """Best price, hidden orders included, or None."""
        return self._sign * self._keys[-1] if self._keys else None

    def prices(self):
        """Best first."""
        return [self._sign * key for key in reversed(self._keys)]

    def level(self, price):
        level = self.levels.get(price)
        if level is None:
            level = self.levels[price] = Level()
            insort(self._keys, self._sign * price)
        return level

    def drop(self, price):
        del self.levels[price], self._keys[bisect_left(self._keys, self._sign * price)]


class OrderBook:
    """One symbol: ``state`` is its trading state (T, Q, H, P), ``last`` the price of its last trade or 0, ``crossing`` the orders for crosses by kind,
    ``late`` the kinds of crosses that are near."""

    def __init__(self, name, locate):
        self.name, self.locate, self.state, self.last = name, locate, "T", 0
        self.sides = (Side(BUY), Side(SELL))
        self.crossing, self.late = {kind: {} for kind in "OCH"}, set()

    def rest(self, order):
        """The order joins the end of its queue."""
        order.live = True
        if order.cross:
            self.crossing[order.cross][order.reference] = order
            return
        level = self.sides[order.sell].level(order.price)
        (level.visible if order.visible else level.hidden)[order.reference] = order
        if order.visible:
            level.quantity += order.shares

    def take(self, order, shares):
        """Shares leave an order that rests; with the last ones the order does."""
        if order.visible and not order.cross:
            self.sides[order.sell].levels[order.price].quantity -= shares
        order.shares -= shares
        if not order.shares:
            self._unlink(order)

    def remove(self, order):
        """An order leaves; it keeps the shares it had."""
        if order.visible and not order.cross:
            self.sides[order.sell].levels[order.price].quantity -= order.shares
        self._unlink(order)

    def _unlink(self, order):
        order.live = False
        if order.cross:
            del self.crossing[order.cross][order.reference]
            return
        side = self.sides[order.sell]
        level = side.levels[order.price]
        del (level.visible if order.visible else level.hidden)[order.reference]
        if not level.visible and not level.hidden:
            side.drop(order.price)

    def facing(self, order):
        """The resting order that this one would trade with first, or None."""
        side = self.sides[not order.sell]
        best = side.best()
        if best is None or (best > order.price if not order.sell else best < order.price):
            return None
        return side.levels[best].first()

    def ahead(self, order):
        """Resting orders of its side that trade before it."""
        side = self.sides[order.sell]
        for price in side.prices():
            level = side.levels[price]
            for other in (*level.visible.values(), *level.hidden.values()):
                if other is order:
                    return
                yield other

    def orders(self):
        """All that rest, those for crosses too."""
        for side in self.sides:
            for level in side.levels.values():
                yield from level.visible.values()
                yield from level.hidden.values()
        for orders in self.crossing.values():
            yield from orders.values()

    def depth(self, sell, levels=None):
        """Visible levels, best first: (price, shares, orders)."""
        side, found = self.sides[sell], []
        for price in side.prices():
            level = side.levels[price]
            if level.visible:
                found.append((price, level.quantity, len(level.visible)))
            if len(found) == levels:
                break
        return found

    def queue(self, sell, price):
        """Visible orders of a level, oldest first: (reference, shares)."""
        return [(reference, order.shares) for reference, order in self.sides[sell].levels[price].visible.items()]
