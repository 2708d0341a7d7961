"""The client's end of SoupBinTCP, without a socket: bytes in, bytes out, time given."""
from tickgate.spec import soupbintcp as soup

from .packets import PacketError, Splitter

REASONS = {soup.NOT_AUTHORISED: "not authorised", soup.NO_SESSION: "session not available"}


class LoginRejected(Exception):
    """The server did not let us in. ``str()`` says why."""


class SoupClient:
    """One connection. ``state``: ``login`` until the answer has come, ``up``, ``rejected``, ``over`` (end of session) or ``lost``; ``why`` tells more.

    ``session`` and ``next_sequence`` (number of the next sequenced message) are what a later connection begins with, and what is handed over with it.
    ``receive`` gives the sequenced messages; ``outgoing`` takes what is to be sent. Times are ns of any clock that does not go back.
    """

    def __init__(self, username, password, now, *, session="", sequence=soup.FIRST_SEQUENCE):
        self.state, self.why = "login", ""
        self.session, self.next_sequence = session, sequence
        self.splitter, self._out = Splitter(), bytearray()
        self.counts = {"sequenced": 0, "unsequenced": 0, "heartbeats": 0, "debug": 0, "unknown": 0}
        self._heard = self._said = now
        self._send(soup.LOGIN, soup.login_request(username, password, session, sequence), now)

    def _send(self, kind, payload, now):
        self._out += soup.packet(kind, payload)
        self._said = now

    def send(self, message, now):
        """An unsequenced message. Raises ``ConnectionError`` when the session is not up."""
        if self.state != "up":
            raise ConnectionError(f"the session is not up: {self.why or self.state}")
        self.counts["unsequenced"] += 1
        self._send(soup.UNSEQUENCED, message, now)

    def logout(self, now):
        """Say goodbye; the server closes."""
        if self.state == "up":
            self._send(soup.LOGOUT, b"", now)

    def outgoing(self):
        """Bytes to be sent, each once."""
        data = bytes(self._out)
        self._out.clear()
        return data

    def tick(self, now):
        """Time has passed: heartbeats go out, and a server that is silent for too long is given up."""
        if self.state not in ("login", "up"):
            return
        if now - self._heard >= soup.TIMEOUT_NS:
            self.lost(f"nothing heard for {soup.TIMEOUT_NS // 10 ** 9} s")
        elif self.state == "up" and now - self._said >= soup.HEARTBEAT_NS:
            self._send(soup.CLIENT_HEARTBEAT, b"", now)

    def lost(self, why):
        """The connection is gone."""
        if self.state in ("login", "up"):
            self.state, self.why = "lost", why

    def receive(self, data, now):
        """Handle bytes from the server; returns the sequenced messages among them, as (number, message)."""
        if data:
            self._heard = now
        messages = []
        try:
            for kind, payload in self.splitter.feed(data):
                self._packet(kind, payload, messages)
                if self.state not in ("login", "up"):
                    break
        except (PacketError, ValueError) as error:
            self.lost(f"the server speaks nonsense: {error}")
        return messages

    def _packet(self, kind, payload, messages):
        if kind == soup.SERVER_HEARTBEAT:
            self.counts["heartbeats"] += 1
        elif kind == soup.DEBUG:
            self.counts["debug"] += 1
        elif kind == soup.ACCEPTED and self.state == "login":
            answer = soup.LOGIN_ACCEPTED.decode(payload)
            self.session, self.next_sequence, self.state = soup.text(answer["session"]), int(soup.text(answer["sequence"])), "up"
        elif kind == soup.REJECTED and self.state == "login":
            self.state, self.why = "rejected", REASONS.get(payload[:1], f"reason {payload[:1]!r}")
        elif kind == soup.SEQUENCED and self.state == "up":
            messages.append((self.next_sequence, payload))
            self.next_sequence += 1
            self.counts["sequenced"] += 1
        elif kind == soup.END_OF_SESSION and self.state == "up":
            self.state, self.why = "over", "end of session"
        else:
            self.counts["unknown"] += 1
