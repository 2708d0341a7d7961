"""An exchange on real sockets of the loopback, run by a thread of its own."""
import contextlib
import queue
import threading
import time

from tickgate.exchange import OrderServer

LIMIT = 10.0    # s: anything that takes longer is stuck


class Running:
    """``call(f)`` runs ``f()`` where the exchange runs; ``address`` is that of order entry. ``also``: what else is in the loop; ``each`` runs in each turn."""

    def __init__(self, exchange, also=(), each=lambda: None):
        self.exchange, self.server = exchange, OrderServer(exchange)
        for handler in also:
            self.server.also(handler)
        self.address, self._calls, self._stop, self._each = self.server.address, queue.Queue(), False, each
        self._error = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        began, now = time.monotonic_ns(), self.exchange.now
        try:
            while not self._stop:
                while not self._calls.empty():
                    function, answer = self._calls.get()
                    answer.put(function())
                self.exchange.advance(now + time.monotonic_ns() - began)
                self._each()
                self.server.poll(0.002)
        except BaseException as error:
            self._error = error
            raise
        finally:
            self.server.close()

    def call(self, function):
        answer = queue.Queue()
        self._calls.put((function, answer))
        return answer.get(timeout=LIMIT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._stop = True
        self._thread.join(LIMIT)
        assert not self._thread.is_alive() and self._error is None


def finish(trader):
    """Read to the end of the session, with as many connections as that takes."""
    end = time.monotonic() + LIMIT
    while trader.client.state != "over":
        assert time.monotonic() < end
        with contextlib.suppress(ConnectionError):
            if not trader.up:
                trader.connect()
            trader.until(lambda: not trader.up, 1)
