"""One trading member: its requests in, the numbered replies out."""
from collections import Counter

from . import ouch42, ouch50
from .orders import Order, Owner
from .requests import Nonsense, kind_of

PROTOCOLS = {words.NAME: words for words in (ouch50, ouch42)}
FATES = ACCEPTED, REJECTED, IGNORED = "accepted", "rejected", "ignored"
SELL_SIDES = b"STE"
#: How the reply of a prevented self match names what was chosen.
STRATEGY = {"oldest": "O", "newest": "W", "decrement": "D"}


class Member(Owner):
    """An owner with a user name, a password and a protocol.

    ``sequenced``: replies as bytes, the first has number 1. ``sent``: requests by kind, also those that wait; ``fates``: what became of them by (kind, fate),
    each has one: ``accepted``, ``rejected`` or ``ignored``; ``unreadable``: how many of the ignored ones nobody can read. A replacement whose terms cannot be
    costs the order, as the specification has it, and counts as rejected. ``live``: open orders by ticket.
    """

    def __init__(self, engine, name, password, protocol="ouch50", firm="", self_match="trade"):
        super().__init__(name, self_match)
        if protocol not in PROTOCOLS:
            raise ValueError(f"member {name}: protocol must be one of {', '.join(PROTOCOLS)}, not {protocol}")
        firm = firm or name[:4].upper()
        for what, text, size in (("name", name, 6), ("password", password, 10), ("firm", firm, 4)):
            if not 0 < len(text) <= size or not text.isascii() or text != text.strip():
                raise ValueError(f"member {name}: {what} must have 1 to {size} ASCII characters, not {text!r}")
        self.engine, self.password, self.firm, self.words = engine, password, firm, PROTOCOLS[protocol]
        self.sequenced, self.sent, self.fates, self.unreadable, self.live = [], Counter(), Counter(), 0, {}
        self._used, self._highest = set(), 0
        self.link = None                 # the connection that is logged in
        self.awaited = False             # logged in, or was until we cut the connection: it will want the rest

    def say(self, message):
        """The next sequenced message."""
        self.sequenced.append(message)

    def _tell(self, reply, *what):
        self.say(getattr(self.words, reply)(self.engine.now, *what))

    def event(self, code):
        """S start of day, E end of day."""
        self._tell("event", code)

    # ---- requests

    def ignore(self, raw):
        """A request to which nothing happens."""
        self.fates[kind_of(raw), IGNORED] += 1

    def request(self, raw):
        """Handle the bytes of one request; replies are in ``sequenced``."""
        kind = kind_of(raw)
        try:
            asked = self.words.read(raw, self.engine.now, self.firm)
            fate = getattr(self, f"_{kind}")(asked)
        except Nonsense:
            fate = IGNORED
            self.unreadable += 1
        self.fates[kind, fate] += 1

    def _is_fresh(self, ticket):
        return self.words.is_fresh(ticket, self._used, self._highest)

    def _use(self, ticket):
        if isinstance(ticket, int):
            self._highest = ticket
        else:
            self._used.add(ticket)

    def _enter(self, asked):
        if not self._is_fresh(asked.ticket):
            return IGNORED
        self._use(asked.ticket)
        order = Order(owner=self, book=self.engine.books.get(asked.symbol), ticket=asked.ticket, terms=asked.terms, **asked.order)
        why = asked.why or self.engine.refuses(order)
        if why:
            self._tell("rejected", asked.ticket, asked.terms, why)
            return REJECTED
        self.engine.enter(order)
        return ACCEPTED

    def _replace(self, asked):
        old = self.live.get(asked.old)
        if old is None or not self._is_fresh(asked.ticket):
            return IGNORED
        terms = {**old.terms, **asked.terms}
        new = Order(owner=self, book=old.book, sell=old.sell, ticket=asked.ticket, terms=terms, **asked.order)
        if asked.why:
            new.shares = 0                       # cannot be
        why = self.engine.replace(old, new)
        if why in ("cancel_not_allowed", "cancel_pending"):
            self._tell("rejected", asked.ticket, terms, why)
        if why != "canceled":
            self._use(asked.ticket)
        return REJECTED if why else ACCEPTED

    def _cancel(self, asked):
        order = self.live.get(asked.ticket)
        if order is None:
            return IGNORED
        outcome = self.engine.cancel(order, asked.left)
        if outcome == "pending":
            self._tell("cancel_pending", order)
        elif outcome == "refused":
            self._tell("cancel_rejected", order)
        return {"nothing": IGNORED, "refused": REJECTED}.get(outcome, ACCEPTED)

    def _modify(self, asked):
        order = self.live.get(asked.ticket)
        if order is None or not asked.left:
            return IGNORED
        turned = asked.side != order.terms["side"]
        if turned and not (asked.side in SELL_SIDES and order.terms["side"] in SELL_SIDES) or asked.left > order.shares:
            return IGNORED
        order.terms["side"] = asked.side
        if self.engine.modify(order, asked.left) == "nothing":
            if not turned:
                return IGNORED
            self.modified(order, 0)
        return ACCEPTED

    def _query(self, asked):
        self._tell("next_ticket", self._highest + 1)
        return ACCEPTED

    # ---- what happens to its orders

    def _settle(self, order):
        if not order.shares:
            self.live.pop(order.ticket, None)

    def accepted(self, order, live):
        super().accepted(order, live)
        if live:
            self.live[order.ticket] = order
        self._tell("accepted", order, live)

    def replaced(self, old, new, live):
        super().replaced(old, new, live)
        del self.live[old.ticket]
        if live:
            self.live[new.ticket] = new
        self._tell("replaced", old, new, live)

    def canceled(self, order, shares, reason):
        super().canceled(order, shares, reason)
        self._settle(order)
        self._tell("canceled", order, shares, reason)

    def modified(self, order, shares):
        super().modified(order, shares)
        self._settle(order)
        self._tell("modified", order)

    def self_matched(self, order, shares, prevented, price, liquidity):
        super().self_matched(order, shares, prevented, price, liquidity)
        self._settle(order)
        self._tell("self_matched", order, shares, prevented, price, liquidity, STRATEGY[self.self_match])

    def executed(self, order, shares, price, liquidity, match):
        super().executed(order, shares, price, liquidity, match)
        self._settle(order)
        self._tell("executed", order, shares, price, liquidity, match)

    def broken(self, order, trade, reason):
        super().broken(order, trade, reason)
        self._tell("broken", order, trade.match, reason)

    def renewed(self, order):
        super().renewed(order)
        self._tell("renewed", order)
