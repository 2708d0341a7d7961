"""The exchange's end of one SoupBinTCP connection, without a socket: bytes in, bytes out, time given."""
from tickgate.session.packets import PacketError, Splitter
from tickgate.spec import soupbintcp as soup

from .faults import happens

LOGIN, UP, CLOSED = "login", "up", "closed"
CUT = "cut"                          # why a connection ended that was cut on purpose
LONGEST_LOGIN = soup.HEADER["type"].size + soup.LOGIN_REQUEST.size     # no packet of a stranger may be longer


class Link:
    """One connection to ``exchange``. ``state`` is ``login``, ``up`` or ``closed``: then the socket is to be closed once ``outgoing`` is empty; ``why`` tells
    why. Times are ns of any clock that does not go back. What happens is counted in ``exchange.counts``.

    Packets that nobody knows, or that have no place, are counted as ``nonsense`` and passed over once logged in; before that they end the connection, and so
    does a packet without a type at any time.
    """

    def __init__(self, exchange, now):
        self.exchange, self.member, self.state, self.why = exchange, None, LOGIN, ""
        self._splitter, self._out, self._next = Splitter(), bytearray(), 0
        self._began = self._heard = self._said = now
        exchange.counts["connections"] += 1

    def close(self, why):
        """No more from here on."""
        if self.state != CLOSED:
            self.state, self.why = CLOSED, why
            self.exchange.counts[f"closed: {why}"] += 1
            self.exchange.tell(f"{self.member.name if self.member else 'a stranger'}: connection closed: {why}")
            if self.member:
                self.member.link, self.member.awaited = None, why == CUT

    def _send(self, kind, payload, now):
        self._out += soup.packet(kind, payload)
        self._said = now

    def receive(self, data, now):
        """Handle bytes from the client; empty ones are the end of its stream."""
        if self.state == CLOSED:
            return
        if not data:
            self.close("by the client")
            return
        self._heard = now
        try:
            for kind, payload in self._splitter.feed(data):
                self._packet(kind, payload, now)
                if self.state == CLOSED:
                    break
        except PacketError:
            self._nonsense()
        if self.state == LOGIN and self._splitter.promised > LONGEST_LOGIN:
            self._nonsense()

    def _nonsense(self):
        self.exchange.counts["nonsense"] += 1
        self.close("nonsense")

    def _packet(self, kind, payload, now):
        if kind in (soup.CLIENT_HEARTBEAT, soup.DEBUG):
            return
        if self.state == LOGIN:
            if kind == soup.LOGIN and len(payload) == soup.LOGIN_REQUEST.size:
                self._login(soup.LOGIN_REQUEST.decode(payload), now)
            else:
                self._nonsense()
        elif kind == soup.UNSEQUENCED:
            self.exchange.submit(self.member, payload)
        elif kind == soup.LOGOUT:
            self.close("logout")
        else:
            self.exchange.counts["nonsense"] += 1

    def _login(self, asked, now):
        member = self.exchange.members.get(soup.text(asked["username"]))
        session, sequence = soup.text(asked["session"]), soup.text(asked["sequence"])
        if member is None or soup.text(asked["password"]) != member.password:
            return self._reject(soup.NOT_AUTHORISED, now)
        there = len(member.sequenced)
        # 0: only what is new; a number beyond the next one cannot be begun with
        first = there + 1 if sequence == "0" else int(sequence) if sequence.isascii() and sequence.isdigit() else None
        if member.link is not None or session not in ("", self.exchange.session) or first is None or first > there + 1 or self.exchange.ended and first > there:
            return self._reject(soup.NO_SESSION, now)
        self.member, self.state, self._next = member, UP, first - 1
        member.link, member.awaited = self, True
        self.exchange.counts["logins"] += 1
        self.exchange.tell(f"{member.name}: logged in, from message {first}")
        self._send(soup.ACCEPTED, soup.login_accepted(self.exchange.session, first), now)
        return None

    def _reject(self, reason, now):
        self._send(soup.REJECTED, reason, now)
        self.exchange.counts["logins rejected"] += 1
        self.close("login rejected")

    def tick(self, now):
        """Time has passed: a heartbeat is due, or the client was silent for too long."""
        if self.state == LOGIN and now - self._began >= soup.LOGIN_TIMEOUT_NS:
            self.close("no login")
        elif self.state == UP:
            if now - self._heard >= soup.TIMEOUT_NS:
                self.close("silent client")
            elif now - self._said >= soup.HEARTBEAT_NS:
                self._send(soup.SERVER_HEARTBEAT, b"", now)

    def outgoing(self, now, room=1 << 20):
        """Bytes to be sent, each once, about ``room`` of them at most: what was said, and sequenced messages that were not sent yet."""
        exchange, member = self.exchange, self.member
        while self.state == UP and len(self._out) < room:
            if self._next < len(member.sequenced):
                message = member.sequenced[self._next]
                if happens(exchange.random, exchange.faults.cut):
                    packet = soup.packet(soup.SEQUENCED, message)
                    self._out += packet[:exchange.random.randrange(1, len(packet))]
                    self.close(CUT)
                    break
                self._next += 1
                self._send(soup.SEQUENCED, message, now)
            elif exchange.ended:
                self._send(soup.END_OF_SESSION, b"", now)
                self.close("end of session")
            else:
                break
        data = bytes(self._out)
        self._out.clear()
        return data
