"""A client and its link to an exchange in process: bytes are cut anywhere on the way, time is given."""
import random

from tickgate.exchange import Link
from tickgate.session import Ledger, SoupClient
from tickgate.session.ouch import PROTOCOLS

STEP_NS = 1_000_000


class Wire:
    """A member's client. ``connect`` again after the connection was cut: the ledger goes on. ``ended``: how connections ended."""

    def __init__(self, exchange, name, password, protocol="ouch50", seed=0):
        self.exchange, self.name, self.password = exchange, name, password
        self.random, self.now = random.Random(f"{seed} wire {name}"), 0
        self.ouch, self.ledger = PROTOCOLS[protocol], Ledger(protocol)
        self.session, self.next_sequence, self.number, self.ended = "", 1, 0, []
        self.client = self.link = None

    def connect(self, **how):
        self.client = SoupClient(self.name, self.password, self.now, **{"session": self.session, "sequence": self.next_sequence, **how})
        self.link = Link(self.exchange, self.now)
        self.pump()
        return self.client.state

    def pump(self):
        """Carry bytes both ways until none are left; returns the replies."""
        replies, client, link = [], self.client, self.link
        while True:
            there, back = client.outgoing(), link.outgoing(self.now)
            if not there and not back:
                break
            for piece in self._pieces(there):
                link.receive(piece, self.now)
            for piece in self._pieces(back):
                for _, message in client.receive(piece, self.now):
                    replies.append(self.ledger.apply(message))
        if client.state == "up":
            self.session = client.session
        if client.state in ("up", "over", "lost"):
            self.next_sequence = client.next_sequence
        if link.state == "closed" and client.state == "up":
            client.lost("closed")
            self.ended.append(link.why)
        return replies

    def _pieces(self, data):
        while data:
            size = self.random.choice((1, 2, 3, 7, len(data)))
            yield data[:size]
            data = data[size:]

    def tick(self, ns=STEP_NS):
        """Time passes on both sides."""
        self.now += ns
        self.client.tick(self.now)
        self.link.tick(self.now)
        return self.pump()

    def send(self, message):
        self.client.send(message, self.now)
        return self.pump()

    def ticket(self):
        self.number = max(self.number, self.ledger.highest) + 1
        return self.ouch.ticket(self.number)

    def enter(self, sell, shares, symbol, price, **how):
        """A new order: its ticket and the replies."""
        ticket = self.ticket()
        return ticket, self.send(self.ouch.enter(ticket, sell, shares, symbol, price, **how))
