"""A member's side of a trading session: log in, send orders, keep the ledger, come back after the connection was cut."""
import time

from tickgate.spec import soupbintcp as soup

from .connection import Connection
from .ledger import Ledger
from .ouch import PROTOCOLS
from .soup import LoginRejected, SoupClient


class Trader:
    """Trades at ``(host, port)``::

        with Trader("127.0.0.1", 15000, "alice", "secret") as trader:
            ticket = trader.enter(0, 100, "ALFA", 101_500)
            trader.until(lambda: trader.ledger.orders)

    ``ledger`` has orders and positions; ``client`` the state of the connection; ``replies`` those of the last ``poll``. ``connect`` again goes on where the
    last connection ended: the exchange sends again what was missed, so nothing is booked twice. Raises ``OSError`` when nobody answers and
    ``LoginRejected``.
    """

    def __init__(self, host, port, username, password, protocol="ouch50", session="", connect=True):
        self.address, self.username, self.password = (host, port), username, password
        self.ouch, self.ledger = PROTOCOLS[protocol], Ledger(protocol)
        self.session, self.next_sequence, self.replies = session, soup.FIRST_SEQUENCE, []
        self.connection = self.client = None
        self._number = 0
        if connect:
            self.connect()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def connect(self, timeout=5.0):
        """Connect and log in; messages that were missed are in the ledger at the next ``poll``."""
        self.close()
        self.connection = Connection(*self.address, timeout)
        self.client = SoupClient(self.username, self.password, time.monotonic_ns(), session=self.session, sequence=self.next_sequence)
        if not self.until(lambda: self.client.state != "login", timeout):
            self.close()
            raise ConnectionError(f"no answer to the login within {timeout:g} s")
        if self.client.state == "rejected":
            self.close()
            raise LoginRejected(f"login of {self.username}: {self.client.why}")
        if self.client.state != "up":
            raise ConnectionError(f"login of {self.username}: {self.client.why}")

    @property
    def up(self):
        """Whether orders can be sent."""
        return self.client is not None and self.client.state == "up"

    def poll(self, wait=0.0):
        """Send and receive what there is; wait up to ``wait`` s for something. Returns the replies."""
        client, now = self.client, time.monotonic_ns()
        client.tick(now)
        received = self.connection.exchange(client.outgoing(), wait)
        self.replies = []
        for _, message in client.receive(received, time.monotonic_ns()):
            self.replies.append(self.ledger.apply(message))
        if not self.connection.open:
            client.lost("the connection was closed")
        if client.state not in ("login", "rejected"):
            self.session, self.next_sequence = client.session, client.next_sequence
        return self.replies

    def until(self, condition, timeout=5.0):
        """``poll`` until the condition holds; returns whether it does after ``timeout`` s or when the connection is gone."""
        end = time.monotonic() + timeout
        while not condition():
            left = end - time.monotonic()
            if left <= 0 or not self.connection.open:
                return bool(condition())
            self.poll(min(left, 0.05))
        return True

    def close(self):
        """Close the connection, without a word."""
        if self.connection:
            self.connection.close()
            self.client.lost("closed by us")

    def logout(self, timeout=5.0):
        """Say goodbye and wait for the server to close."""
        self.client.logout(time.monotonic_ns())
        self.until(lambda: not self.connection.open, timeout)

    # ---- requests

    def _next(self):
        self._number = max(self._number, self.ledger.highest) + 1
        return self.ouch.ticket(self._number)

    def send(self, message):
        """Any request as bytes. Raises ``ConnectionError`` when the session is not up."""
        self.client.send(message, time.monotonic_ns())
        self.poll()

    def enter(self, sell, shares, symbol, price, **how):
        """A new order; returns its ticket. ``how``: see ``tickgate.session.ouch``."""
        ticket = self._next()
        self.send(self.ouch.enter(ticket, sell, shares, symbol, price, **how))
        return ticket

    def replace(self, old, shares, price, **how):
        """Other terms for an order, ``shares`` being those of the whole chain; returns the new ticket."""
        ticket = self._next()
        self.send(self.ouch.replace(old, ticket, shares, price, **how))
        return ticket

    def cancel(self, ticket, left=0):
        """Leave an order ``left`` shares."""
        self.send(self.ouch.cancel(ticket, left))
