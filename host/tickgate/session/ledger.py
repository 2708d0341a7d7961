"""Orders and positions as the replies tell them, and nothing else."""
from collections import Counter
from dataclasses import dataclass

from .ouch import PROTOCOLS


@dataclass(slots=True)
class Open:
    """An order that may still trade. ``shares``: open; ``done``: executed or prevented on the whole chain."""

    ticket: object
    symbol: str
    sell: int
    shares: int
    price: int          # 1e-4 USD
    done: int = 0
    pending: bool = False


class Ledger:
    """Apply every sequenced message once, in order.

    ``orders``: the open ones by ticket; ``position``: shares by symbol; ``bought`` and ``sold``: shares by symbol, broken trades included; ``fills``: by
    match number, as (symbol, sell, shares, price); ``counts``: replies by kind; ``surprises``: what cannot be: lines, which should stay empty.
    """

    def __init__(self, protocol="ouch50"):
        self.ouch = PROTOCOLS[protocol]
        self.orders, self.position, self.bought, self.sold = {}, Counter(), Counter(), Counter()
        self.fills, self.counts, self.surprises, self.highest = {}, Counter(), [], 0
        self._sides = {}                 # (symbol, sell) of orders that are over and may still have a broken trade

    def apply(self, message):
        """One reply; returns it as a dictionary (see ``tickgate.session.ouch``), or None when it is none."""
        try:
            reply = self.ouch.read(message)
        except ValueError as error:
            self.surprises.append(str(error))
            return None
        kind = reply["kind"]
        self.counts[kind] += 1
        handle = getattr(self, f"_{kind}", None)
        if handle:
            handle(reply)
        return reply

    def _find(self, reply):
        order = self.orders.get(reply["ticket"])
        if order is None:
            self.surprises.append(f"{reply['kind']} of {reply['ticket']}, which is not open")
        return order

    def _take(self, order, shares):
        order.shares -= shares
        if order.shares < 0:
            self.surprises.append(f"order {order.ticket} lost {-order.shares} shares more than it had")
        if order.shares <= 0:
            del self.orders[order.ticket]

    def _accepted(self, reply):
        ticket = reply["ticket"]
        if ticket in self._sides:
            self.surprises.append(f"{ticket} was accepted twice")
        self.highest = max(self.highest, self.ouch.number(ticket))
        self._sides[ticket] = reply["symbol"], int(reply["side"] != b"B")
        if reply["order_state"] == self.ouch.spec.LIVE:
            self.orders[ticket] = Open(ticket, *self._sides[ticket], reply["shares"], reply["price"])

    def _replaced(self, reply):
        old = self.orders.pop(reply["old"], None)
        if old is None:
            self.surprises.append(f"{reply['old']} was replaced, which is not open")
        self._accepted(reply)
        if old and reply["ticket"] in self.orders:
            self.orders[reply["ticket"]].done = old.done

    def _rejected(self, reply):
        self.highest = max(self.highest, self.ouch.number(reply["ticket"]))

    def _canceled(self, reply):
        order = self._find(reply)
        if order:
            self._take(order, reply["shares"])

    def _aiq_canceled(self, reply):
        order = self._find(reply)
        if order:
            order.done += reply["shares"]
            self._take(order, reply["shares"])

    def _executed(self, reply):
        order = self._find(reply)
        if order:
            match, shares = reply["match_number"], reply["shares"]
            key = match, order.sell          # both sides of a trade may be ours
            if key in self.fills:
                self.surprises.append(f"match {match} was told twice")
            self.fills[key] = order.symbol, order.sell, shares, reply["price"]
            (self.sold if order.sell else self.bought)[order.symbol] += shares
            self.position[order.symbol] += -shares if order.sell else shares
            order.done += shares
            self._take(order, shares)

    def _broken_trade(self, reply):
        _, sell = self._sides.get(reply["ticket"], ("", 0))
        fill = self.fills.pop((reply["match_number"], sell), None)
        if fill is None:
            self.surprises.append(f"match {reply['match_number']} is broken, but was never told")
            return
        symbol, sell, shares, _ = fill
        self.position[symbol] -= -shares if sell else shares

    def _modified(self, reply):
        order = self._find(reply)
        if order:
            self._take(order, order.shares - reply["shares"])

    def _cancel_pending(self, reply):
        order = self._find(reply)
        if order:
            order.pending = True
