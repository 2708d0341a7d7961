"""The exchange on real sockets: one thread, nothing blocks."""
import contextlib
import ipaddress
import selectors
import socket
import time

from .link import CLOSED, Link

CHUNK = 1 << 16
BACKLOG = 1 << 20           # bytes that may wait for a client that does not read; the rest stays in its sequenced messages
LINGER_NS = 1_000_000_000   # so long a client may take to close after us


class OrderServer:
    """SoupBinTCP at ``host``:``port`` (0: any free one, see ``address``) for the members of ``exchange``. Call ``poll`` again and again.

    Raises ``OSError`` when it cannot listen there.
    """

    def __init__(self, exchange, host="127.0.0.1", port=0, clock=time.monotonic_ns):
        self.exchange, self._clock = exchange, clock
        self._listener = socket.create_server((host, port), backlog=16)
        self._listener.setblocking(False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._clients = {}                    # socket: (link, bytes that wait)
        self._leaving = {}                    # socket: when we had nothing more to say

    @property
    def address(self):
        """(host, port)."""
        return self._listener.getsockname()[:2]

    @property
    def connections(self):
        return len(self._clients)

    @property
    def backlog(self):
        """Bytes that wait for the client that reads least."""
        return max((len(waiting) for _, waiting in self._clients.values()), default=0)

    def also(self, handler):
        """Another socket in the same loop: ``handler.socket`` and ``handler.ready()``."""
        self._selector.register(handler.socket, selectors.EVENT_READ, handler)

    def poll(self, wait=0.0):
        """Receive and send what there is; wait up to ``wait`` s for something to come."""
        for key, events in self._selector.select(wait):
            if key.fileobj is self._listener:
                self._accept()
            elif key.data is not None:
                key.data.ready()
            elif events & selectors.EVENT_READ and key.fileobj in self._clients:
                self._receive(key.fileobj)
        self.flush()

    def flush(self):
        """Send what can be sent."""
        now = self._clock()
        for client, (link, waiting) in list(self._clients.items()):
            link.tick(now)
            waiting += link.outgoing(now, BACKLOG - len(waiting))
            try:
                while waiting:
                    del waiting[:client.send(waiting)]
            except BlockingIOError:
                pass
            except OSError:
                link.close("by the client")
                waiting.clear()
            if link.state == CLOSED:
                self._leave(client, link, waiting, now)
            self._want(client, waiting)

    def _leave(self, client, link, waiting, now):
        """Close a connection in such a way that the client gets what was said: we end our side, read what still comes, and wait for its end."""
        if link.why == "by the client" or now - self._leaving.setdefault(client, now) >= LINGER_NS:
            self._drop(client)
        elif not waiting:
            with contextlib.suppress(OSError):
                client.shutdown(socket.SHUT_WR)

    def _want(self, client, waiting):
        """Be woken up when something comes, and when a client that did not read does again."""
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if waiting else 0)
        if client in self._clients and self._selector.get_key(client).events != events:
            self._selector.modify(client, events)

    def _accept(self):
        with contextlib.suppress(OSError):
            client, _ = self._listener.accept()
            client.setblocking(False)
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._selector.register(client, selectors.EVENT_READ)
            self._clients[client] = (Link(self.exchange, self._clock()), bytearray())

    def _receive(self, client):
        link, _ = self._clients[client]
        try:
            data = client.recv(CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        link.receive(data, self._clock())
        if not data and link.state == CLOSED:
            self._drop(client)

    def _drop(self, client):
        self._selector.unregister(client)
        del self._clients[client]
        self._leaving.pop(client, None)
        client.close()

    def close(self):
        """Close everything."""
        for client, (link, _) in list(self._clients.items()):
            link.close("by us")
            self._drop(client)
        self._selector.close()
        self._listener.close()


class Multicast:
    """Sends packets of the feed to an address for each line: ``{"a": (host, port), …}``, multicast or not. ``interface``: address of the one to send
    multicast from. ``sent`` and ``unsent`` count packets; nobody waits for one that cannot be sent."""

    def __init__(self, addresses, interface="127.0.0.1", ttl=1):
        self.addresses, self.sent, self.unsent = addresses, 0, 0
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setblocking(False)
        if any(ipaddress.ip_address(host).is_multicast for host, _ in addresses.values()):
            self.socket.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(interface))
            self.socket.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, ttl)

    def send(self, packet):
        try:
            self.socket.sendto(packet.payload, self.addresses[packet.line])
            self.sent += 1
        except OSError:
            self.unsent += 1

    def close(self):
        self.socket.close()


class Rerequests:
    """Answers MoldUDP64 request packets at ``host``:``port`` with the messages asked for, as many as one packet takes. ``answered`` counts."""

    def __init__(self, feed, host="127.0.0.1", port=0):
        self.feed, self.answered = feed, 0
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((host, port))
        self.socket.setblocking(False)

    @property
    def address(self):
        return self.socket.getsockname()[:2]

    def ready(self):
        """Answer what has come."""
        with contextlib.suppress(OSError):
            while True:
                request, asker = self.socket.recvfrom(CHUNK)
                answer = self.feed.again(request)
                if answer is not None:
                    self.socket.sendto(answer, asker)
                    self.answered += 1

    def close(self):
        self.socket.close()
