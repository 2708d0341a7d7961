"""OUCH 5.0 and 4.2 as a client speaks them: requests as bytes, and replies under the same names in both."""
from tickgate.spec import ouch42, ouch50

SECOND = 1_000_000_000
_SIDE = {0: b"B", 1: b"S"}
#: What both protocols call things, and the name that is used here.
_NAMES = {
    "user_ref_num": "ticket", "order_token": "ticket", "replacement_order_token": "ticket", "orig_user_ref_num": "old", "previous_order_token": "old",
    "quantity": "shares", "decrement_shares": "shares", "executed_shares": "shares", "execution_price": "price", "stock": "symbol"}
_KINDS = {"order_accepted": "accepted", "order_replaced": "replaced", "order_canceled": "canceled", "order_executed": "executed", "order_modified": "modified",
          "executed_with_reference_price": "executed"}


class _Ouch:
    """``read`` gives a reply as a dictionary with its ``kind`` (name of the message in 4.2) and fields."""

    spec = None

    def read(self, message):
        """A reply by name. Raises ``ValueError`` for what is none."""
        layout = self.spec.OUT.get(message[:1])
        if layout is None:
            raise ValueError(f"no reply of {self.name} begins with {message[:1]!r}")
        if layout.name == "aiq_canceled":
            message = message.ljust(layout.size)     # earlier revisions of 5.0 lack the last byte
        values = {_NAMES.get(name, name): value for name, value in layout.decode(message).items()}
        if "symbol" in values:
            values["symbol"] = values["symbol"].decode("latin-1").rstrip()
        return {**values, "kind": _KINDS.get(layout.name, layout.name)}


class Ouch50(_Ouch):
    """Tickets are numbers that rise."""

    name, spec = "ouch50", ouch50

    @staticmethod
    def ticket(number):
        return number

    @staticmethod
    def number(ticket):
        return ticket

    def enter(self, ticket, sell, shares, symbol, price, *, ioc=False, hidden=False, post_only=False, cross="N", market=False, expires=0, side=None, **tags):
        """A new order. ``price`` 1e-4 USD; ``expires`` ns since midnight, 0 with the day; ``tags``: further tagged values."""
        how = self._how(price, ioc, hidden, post_only, market, expires, tags)
        tail = how.pop("tail")
        return self.spec.IN[b"O"].encode(user_ref_num=ticket, side=side or _SIDE[sell], quantity=shares, symbol=symbol, capacity=b"P", cross_type=cross,
                                         clordid=f"T{ticket}", **how) + tail

    def replace(self, old, ticket, shares, price, *, ioc=False, hidden=False, post_only=False, market=False, expires=0, **tags):
        """Other terms for an order; ``shares`` are those of the whole chain."""
        how = self._how(price, ioc, hidden, post_only, market, expires, tags)
        tail = how.pop("tail")
        return self.spec.IN[b"U"].encode(orig_user_ref_num=old, user_ref_num=ticket, quantity=shares, clordid=f"T{ticket}", **how) + tail

    def _how(self, price, ioc, hidden, post_only, market, expires, tags):
        if post_only:
            tags["post_only"] = b"P"
        if expires:
            tags["expire_time"] = expires // SECOND
        tail = self.spec.appendage(**tags)
        return {"price": self.spec.MARKET if market else price, "display": self.spec.HIDDEN if hidden else self.spec.VISIBLE, "intermarket_sweep": b"N",
                "time_in_force": self.spec.IOC if ioc else self.spec.GTT if expires else self.spec.DAY, "appendage_length": len(tail), "tail": tail}

    def cancel(self, ticket, left=0):
        """Leave an order ``left`` shares."""
        return self.spec.IN[b"X"].encode(user_ref_num=ticket, quantity=left)

    def modify(self, ticket, side, left):
        return self.spec.IN[b"M"].encode(user_ref_num=ticket, side=side, quantity=left)

    def query(self):
        """Ask for the next free ticket."""
        return self.spec.IN[b"Q"].encode()


class Ouch42(_Ouch):
    """Tickets are 14 characters; ours are T and a number."""

    name, spec = "ouch42", ouch42

    @staticmethod
    def ticket(number):
        return b"T%013d" % number

    @staticmethod
    def number(ticket):
        return int(ticket[1:])

    def enter(self, ticket, sell, shares, symbol, price, *, ioc=False, hidden=False, post_only=False, cross="N", market=False, seconds=0, side=None):
        """A new order. ``price`` 1e-4 USD; ``seconds``: how long it is good for, 0 with the day."""
        return self.spec.IN[b"O"].encode(order_token=ticket, side=side or _SIDE[sell], shares=shares, stock=symbol, capacity=b"P", cross_type=cross,
                                         customer_type=b"N", **self._how(price, ioc, hidden, post_only, market, seconds))

    def replace(self, old, ticket, shares, price, *, ioc=False, hidden=False, post_only=False, market=False, seconds=0):
        """Other terms for an order; ``shares`` are those of the whole chain."""
        return self.spec.IN[b"U"].encode(existing_order_token=old, replacement_order_token=ticket, shares=shares,
                                         **self._how(price, ioc, hidden, post_only, market, seconds))

    def _how(self, price, ioc, hidden, post_only, market, seconds):
        return {"price": self.spec.MARKET if market else price, "intermarket_sweep": b"N",
                "display": self.spec.POST_ONLY if post_only else self.spec.HIDDEN if hidden else self.spec.VISIBLE,
                "time_in_force": self.spec.IOC if ioc else seconds or self.spec.MARKET_HOURS}

    def cancel(self, ticket, left=0):
        """Leave an order ``left`` shares."""
        return self.spec.IN[b"X"].encode(order_token=ticket, shares=left)

    def modify(self, ticket, side, left):
        return self.spec.IN[b"M"].encode(order_token=ticket, side=side, shares=left)


PROTOCOLS = {ouch.name: ouch for ouch in (Ouch50(), Ouch42())}
