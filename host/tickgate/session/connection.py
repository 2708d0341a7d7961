"""A TCP connection that never blocks."""
import contextlib
import select
import socket

CHUNK = 1 << 16


class Connection:
    """Bytes to and from ``(host, port)``. ``open`` is False once the other side has closed, or nothing gets through. Raises ``OSError`` when it cannot
    connect within ``timeout`` s."""

    def __init__(self, host, port, timeout=5.0):
        self.socket = socket.create_connection((host, port), timeout)
        self.socket.setblocking(False)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.open, self._out = True, bytearray()

    @property
    def unsent(self):
        """Bytes that wait to be sent: hand the connection over when there are none."""
        return bytes(self._out)

    def exchange(self, data=b"", wait=0.0):
        """Send ``data``, behind what could not be sent before, and return what has come; wait up to ``wait`` s for something."""
        self._out += data
        if not self.open:
            return b""
        with contextlib.suppress(ConnectionError):       # reading tells
            self._flush()
        select.select([self.socket], [self.socket] if self._out else [], [], wait)
        received = bytearray()
        try:
            self._flush()
        except ConnectionError:
            self.open = False
        try:
            while chunk := self.socket.recv(CHUNK):
                received += chunk
            self.open = False
        except BlockingIOError:
            pass
        except OSError:
            self.open = False
        return bytes(received)

    def _flush(self):
        with contextlib.suppress(BlockingIOError):
            while self._out:
                del self._out[:self.socket.send(self._out)]

    def close(self):
        self.open = False
        self.socket.close()
