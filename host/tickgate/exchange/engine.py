"""The matching engine: price-time priority, crosses, halts, broken trades."""
import heapq
from collections import Counter

from tickgate.spec import ouch50
from tickgate.spec.presets import TICK_SIZES

from .auction import clearing, priority
from .book import OrderBook
from .orders import BUY, SELL, Trade

OPENING, CLOSING, HALT = "O", "C", "H"                       # kinds of crosses
LIQUIDITY = {OPENING: "opening", CLOSING: "closing", HALT: "halt"}
PHASES = "OSQMEC"                                            # system events, in their order
COLLECTING, OPEN, CLOSED = "S", "Q", "M"
HALTED = "HP"                                                # trading states in which no order is taken; Q takes them, nothing trades
CENT, _, FINE = TICK_SIZES
KEPT = 1 << 16                                               # trades that can still be broken: the last ones
DOLLAR = 10_000                                              # 1e-4 USD: prices below it have the fine tick


class Engine:
    """All books of an exchange. ``symbols``: names, in the order of their locates from 1; ``publisher`` hears what the market sees.

    The day: ``phase("O")`` … ``phase("C")``. In S orders rest and nothing trades; Q opens with a cross and trades continuously; M ends with a cross, then
    what is left expires. ``now`` is ns since midnight and never goes back; ``volume`` is shares traded by symbol, broken trades included.
    """

    def __init__(self, symbols, publisher):
        self.publish, self.now, self.day = publisher, 0, ""
        self.books = {name: OrderBook(name, locate) for locate, name in enumerate(symbols, 1)}
        self.reference = self.match = 0
        self.trades, self.volume = {}, Counter()
        self._expiring = []               # heap of (time, reference, order)

    # ---- the day

    def advance(self, now):
        """Time goes on: orders expire on the way."""
        while self._expiring and self._expiring[0][0] <= now:
            when, _, order = heapq.heappop(self._expiring)
            self._at(when)
            if order.live:
                self._cancel(order, order.shares, "timeout")
        self._at(now)

    def _at(self, now):
        self.now = self.publish.time_ns = max(self.now, now)

    def phase(self, code):
        """The next system event. Raises ``ValueError`` for one that is not later than the present one."""
        if code not in PHASES or len(code) != 1 or PHASES.find(self.day) >= PHASES.find(code) and self.day:
            raise ValueError(f"phase {code!r} cannot follow {self.day!r}")
        self.day = code
        self.publish.phase(code)
        if code == "O":
            for book in self.books.values():
                self.publish.directory(book)
                self.publish.state(book)
        kind = {OPEN: OPENING, CLOSED: CLOSING}.get(code)
        for book in self.books.values() if kind else ():
            if book.state == "T":
                self.cross(book, kind)
            else:
                self._clear(book, kind, "halted")
        for book in self.books.values() if code in "MEC" else ():
            for order in list(book.orders()):
                self._cancel(order, order.shares, "timeout")

    def halt(self, book, state="H", reason=""):
        """Trading stops (H, P), or orders are taken again but nothing trades yet (Q). Orders stay where they are."""
        book.state = state
        self.publish.state(book, reason)

    def resume(self, book, reason=""):
        """Trading goes on, with a cross of what has come meanwhile."""
        if self.day == OPEN:
            self.cross(book, HALT)
        book.state = "T"
        self.publish.state(book, reason)

    def trading(self, book):
        """Whether orders trade as they come."""
        return self.day == OPEN and book.state == "T"

    # ---- orders

    def refuses(self, order):
        """Why an order is not taken (a name of ``ouch50.REJECT_REASONS``), or None."""
        book = order.book
        if book is None:
            return "invalid_symbol"
        if self.day not in (COLLECTING, OPEN, CLOSED):
            return "destination_closed"
        if order.cross:
            there = {OPENING: self.day == COLLECTING, CLOSING: self.day != CLOSED, HALT: book.state != "T"}.get(order.cross)
            if not there or order.cross in book.late or order.post_only:
                return "invalid_cross_order"
        elif book.state in HALTED or order.ioc and book.state != "T":
            return "halted"
        return self._impossible(order)

    @staticmethod
    def _impossible(order):
        """What is wrong with size or price, or None."""
        if not 0 < order.shares <= ouch50.MAXIMUM_QUANTITY:
            return "invalid_quantity"
        if order.market:
            return None if order.cross else "invalid_price"
        if not 0 < order.price <= ouch50.HIGHEST_PRICE or order.price % (CENT if order.price >= DOLLAR else FINE):
            return "invalid_price"
        return None

    def enter(self, order):
        """A new order; its owner hears the rest. Returns None, or why it is not taken."""
        why = self.refuses(order)
        if why:
            return why
        self._number(order)
        live = not self._is_dead(order)
        order.owner.accepted(order, live)
        if live:
            self._place(order)
        return None

    def _number(self, order):
        self.reference += 1
        order.reference = self.reference

    def _is_dead(self, order):
        """Taken, but over at once: after the close, or made not to take and about to."""
        return self.day == CLOSED or order.post_only and self.trading(order.book) and order.book.facing(order) is not None

    def _place(self, order):
        book = order.book
        if not order.cross:
            if self.trading(book):
                self._match(order)
            if order.shares and order.ioc:
                self._drop(order, order.shares, "ioc")
        if order.shares:
            book.rest(order)
            if order.expires:
                heapq.heappush(self._expiring, (order.expires, order.reference, order))
            if order.visible and not order.cross:
                self.publish.add(order)

    def _match(self, order):
        while order.shares and (resting := order.book.facing(order)):
            shares = min(order.shares, resting.shares)
            if resting.owner is order.owner and order.owner.self_match != "trade":
                self._prevent(order, resting, shares)
                continue
            order.book.take(resting, shares)
            order.shares -= shares
            match = self._trade(order, resting, shares, resting.price)
            if resting.visible:
                self.publish.executed(resting, shares, match)
            else:
                self.publish.hidden(resting.book, shares, resting.price, match)
            resting.owner.executed(resting, shares, resting.price, "added" if resting.visible else "hidden_added", match)
            order.owner.executed(order, shares, resting.price, "removed", match)

    def _trade(self, one, other, shares, price):
        """Write a trade down; returns its match number."""
        self.match += 1
        if len(self.trades) == KEPT:
            del self.trades[next(iter(self.trades))]
        self.trades[self.match] = Trade(self.match, (one, other) if other.sell else (other, one), shares, price)
        self.volume[one.symbol] += shares
        one.book.last = price
        for order in (one, other):
            order.done += shares
        return self.match

    def _prevent(self, order, resting, shares):
        """Two orders of one owner meet: nothing trades, and one of them or both lose shares, as the owner chose."""
        how, price = order.owner.self_match, resting.price
        if how != "newest":
            lost = resting.shares if how == "oldest" else shares
            self._shrink(resting, lost)
            resting.done += lost
            resting.owner.self_matched(resting, lost, shares, price, "added" if resting.visible else "hidden_added")
        if how != "oldest":
            lost = order.shares if how == "newest" else shares
            order.shares -= lost
            order.done += lost
            order.owner.self_matched(order, lost, shares, price, "removed")

    def cancel(self, order, left=0, reason="user"):
        """Leave an order ``left`` shares. Returns None, ``nothing`` (it has no more than that), ``pending`` (its cross is near: what that leaves goes then)
        or ``refused`` (it already is pending)."""
        if order.cross in order.book.late:
            if order.pending:
                return "refused"
            order.pending = True
            return "pending"
        if left >= order.shares:
            return "nothing"
        self._cancel(order, order.shares - left, reason)
        return None

    def _cancel(self, order, shares, reason):
        self._shrink(order, shares)
        order.owner.canceled(order, shares, reason)

    def _drop(self, order, shares, reason):
        """Of an order that does not rest."""
        order.shares -= shares
        order.owner.canceled(order, shares, reason)

    def _shrink(self, order, shares):
        order.book.take(order, shares)
        if order.visible and not order.cross:
            self.publish.reduced(order, shares)

    def modify(self, order, left):
        """Fewer shares, in the same place. Returns None, or ``nothing`` when it has no more than that."""
        if left >= order.shares:
            return "nothing"
        lost = order.shares - left
        self._shrink(order, lost)
        order.owner.modified(order, lost)
        return None

    def replace(self, old, new):
        """``new`` takes the place of the live order ``old``; its ``shares`` are those of the whole chain, what was done before included.

        Returns None; ``canceled`` when the new terms cannot be, or nothing is left to do: then the old order is gone; ``cancel_not_allowed`` or
        ``cancel_pending`` when the old order must stay.
        """
        if old.cross in old.book.late:
            return "cancel_pending" if old.pending else "cancel_not_allowed"
        new.cross, new.done = old.cross, old.done
        impossible = self._impossible(new)
        new.shares -= new.done
        if impossible or new.shares <= 0:
            self._cancel(old, old.shares, "user")
            return "canceled"
        old.book.remove(old)
        self._number(new)
        live = not self._is_dead(new)
        old.owner.replaced(old, new, live)
        shown = old.visible and not old.cross
        if live and shown and new.visible and not new.ioc and not (self.trading(new.book) and new.book.facing(new)):
            new.book.rest(new)
            if new.expires:
                heapq.heappush(self._expiring, (new.expires, new.reference, new))
            self.publish.replaced(old.reference, new)
            return None
        if shown:
            self.publish.deleted(old)
        if live:
            self._place(new)
        return None

    def renew(self, order):
        """An order loses its place in the queue and gets a new reference, as after a repricing."""
        old = order.reference
        order.book.remove(order)
        self._number(order)
        order.book.rest(order)
        if order.expires:
            heapq.heappush(self._expiring, (order.expires, order.reference, order))
        if order.visible and not order.cross:
            self.publish.replaced(old, order)
        order.owner.renewed(order)

    # ---- crosses

    def _participants(self, book, kind):
        for side in book.sides:
            for level in side.levels.values():
                yield from level.visible.values()
                yield from level.hidden.values()
        yield from book.crossing[kind].values()

    def freeze(self, book, kind):
        """The cross is near: its orders can no longer be cancelled, and it takes no more of them."""
        book.late.add(kind)
        self.indicate(book, kind)

    def indicate(self, book, kind):
        """Publish what the cross would do now."""
        self.publish.imbalance(book, clearing(self._participants(book, kind), book.last), kind)

    def cross(self, book, kind):
        """All that can trade at one price does; what was meant for this cross alone goes."""
        found = list(self._participants(book, kind))
        result = clearing(found, book.last)
        buys, sells = ([o for o in priority(found, sell) if result.shares and (o.market or (o.price <= result.price if sell else o.price >= result.price))]
                       for sell in (BUY, SELL))
        left = result.shares
        while left:
            buy, sell = buys[0], sells[0]
            shares = min(left, buy.shares, sell.shares)
            left -= shares
            match = self._trade(buy, sell, shares, result.price)
            for order, side in ((buy, buys), (sell, sells)):
                book.take(order, shares)
                if not order.shares:
                    side.pop(0)
                if order.visible and not order.cross:
                    self.publish.crossed(order, shares, match, result.price)
                order.owner.executed(order, shares, result.price, LIQUIDITY[kind], match)
        self.match += 1
        self.publish.cross(book, result, self.match, kind)
        self._clear(book, kind, "cross")

    def _clear(self, book, kind, reason):
        book.late.discard(kind)
        for order in list(book.crossing[kind].values()):
            self._cancel(order, order.shares, "user" if order.pending else reason)

    # ---- what goes wrong

    def bust(self, match, reason="erroneous"):
        """A trade is broken; its orders get nothing back. Returns whether there was one to break."""
        trade = self.trades.get(match)
        if trade is None or trade.broken:
            return False
        trade.broken = True
        self.publish.broken(trade.orders[0].book, match)
        for order in trade.orders:
            order.owner.broken(order, trade, reason)
        return True
