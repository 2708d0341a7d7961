"""A survey of a capture in one pass: what to load into the symbol table and the net filters before it is replayed."""
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from ..spec import itch50, moldudp64
from ..spec.presets import TICK_SIZES
from .decode import Decoder, no_itch, number

LOCATES = 1 << 16
DOLLAR = 10_000           # 1e-4 USD
PRICE_LIMIT = 1 << 32
CENT, _, FINE = TICK_SIZES
_HEAD = itch50.BY_CODE[b"S"]
_PRICED = tuple(m for m in itch50.MESSAGES if m.code in itch50.BOOK_TYPES and "price" in m.field)
_NAMED = tuple(m for m in itch50.MESSAGES if "stock" in m.field)
_EVENT = _HEAD["event_code"]
START_OF_MESSAGES = b"O"  # ITCH 5.0, 1.1
_COMPACT = 1 << 20        # prices that wait to be merged


@dataclass
class Scan:
    """What a capture holds. Every message counts once, however many lines brought it."""

    messages: Counter = field(default_factory=Counter)      # messages of 11 bytes and more, by type, a character
    total: int = 0                                          # messages of any length
    empty: int = 0                                          # of length 0
    short: int = 0                                          # of 1 to 10 bytes
    duplicates: int = 0                                     # message blocks seen before
    frames: int = 0
    skipped: Counter = field(default_factory=Counter)       # frames that brought no message, by cause
    destinations: Counter = field(default_factory=Counter)  # datagrams with ITCH, by (group as an integer, port)
    sessions: dict = field(default_factory=dict)            # (group, port): set of the sessions of its datagrams
    session: bytes = b""                                    # of the first datagram with ITCH
    first_sequence: int = 0                                 # of the same
    has_start: bool = False                                 # whether the first message is the start of messages (S with O)
    symbols: dict = field(default_factory=dict, repr=False)  # locate: symbol; from R, for want of one from other messages that name it
    book: np.ndarray = field(default_factory=lambda: np.zeros(LOCATES, np.int64), repr=False)   # book messages by locate
    _prices: np.ndarray = field(default_factory=lambda: np.zeros(0, np.uint64), repr=False)   # locate << 32 | price of orders, sorted, each once
    _orders: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64), repr=False)    # how many of each

    @property
    def late(self):
        """Why there may be orders that the capture does not tell of, or None: it holds its session from the first message on."""
        if self.first_sequence != moldudp64.FIRST_SEQUENCE:
            return f"the capture begins at message {self.first_sequence}"
        return None if self.has_start else "the capture does not begin with the start of messages"

    def top(self, n):
        """The up to ``n`` locates with most book messages, most first; the lower locate first among equals."""
        order = np.argsort(-self.book, kind="stable")[:n]
        return [int(locate) for locate in order if self.book[locate]]

    def locate(self, symbol):
        """The locate of a symbol, or None."""
        return next((k for k, name in self.symbols.items() if name == symbol), None)

    def window(self, locate, ticks):
        """``(base, tick)`` in 1e-4 USD of a ladder of ``ticks`` ticks: where it holds most orders of the symbol, their median price near its middle.

        The tick is a cent, or 0.0001 USD for a symbol most of whose orders are below a dollar and not all on cents.
        A symbol without orders gets ``(0, 100)``.
        """
        low, high = np.searchsorted(self._prices, np.array([locate << 32, (locate + 1) << 32], np.uint64))
        prices = (self._prices[low:high] & np.uint64(PRICE_LIMIT - 1)).astype(np.int64)
        prices = np.minimum(prices, PRICE_LIMIT // CENT * CENT - 1)   # no whole tick of a cent is above that
        orders = self._orders[low:high]
        if not len(prices):
            return 0, CENT
        cheap = prices < DOLLAR
        tick = FINE if 2 * orders[cheap].sum() > orders.sum() and (prices[cheap] % CENT).any() else CENT
        # A window may begin at a price, rounded down to the grid: count the orders in each such window.
        begin = np.minimum(prices // tick * tick, (PRICE_LIMIT - ticks * tick) // tick * tick)
        end = np.searchsorted(prices, begin + ticks * tick)
        total = np.concatenate(([0], np.cumsum(orders)))
        first = np.searchsorted(prices, begin)
        best = int(np.argmax(total[end] - total[first]))
        inside = slice(int(first[best]), int(end[best]))
        half = np.searchsorted(2 * total[inside.start + 1:inside.stop + 1], total[inside.start] + total[inside.stop])
        median = int(prices[inside][half])
        # Move it so that the median is in the middle, as far as the same orders stay inside.
        lowest, highest = int(prices[inside.start]) // tick, int(prices[inside.stop - 1]) // tick
        base = min(max(median // tick - ticks // 2, highest - ticks + 1, 0), lowest, (PRICE_LIMIT - ticks * tick) // tick)
        return base * tick, tick

    def _merge(self, waiting):
        keys = np.concatenate([self._prices, *waiting])
        orders = np.ones(len(keys), np.int64)
        orders[:len(self._orders)] = self._orders
        self._prices, place = np.unique(keys, return_inverse=True)
        merged = np.zeros(len(self._prices), np.int64)
        np.add.at(merged, place, orders)
        self._orders = merged


def scan(capture, limit=None, only=None):
    """Survey a ``Capture``, the first ``limit`` messages of it as ``Capture.frames`` counts them; of these what went to the destinations ``only``, pairs of
    group (an integer) and port, or to any.

    Raises ``CaptureError`` when no ITCH message is found, and says what was.
    """
    result, decoder, directory, waiting = Scan(), Decoder(only), {}, []
    types = np.zeros(256, np.int64)
    for batch in capture.frames(limit):
        result.frames += len(batch)
        found = decoder.messages(batch)
        if not result.total and len(found.length):
            first = int(found.offset[0])
            result.has_start = _is_start(batch.data[first:first + int(found.length[0])].tobytes())
        result.total += len(found.length)
        result.empty += int((found.length == 0).sum())
        whole = found.length >= _HEAD["timestamp"].end
        at, length = found.offset[whole], found.length[whole]
        data = batch.data
        kind, locate = data[at], number(data, at + _HEAD["stock_locate"].offset, _HEAD["stock_locate"].size)
        types += np.bincount(kind, minlength=256)
        for message in itch50.MESSAGES:
            chosen = (kind == message.code[0]) & (length >= message.size)
            if not chosen.any():
                continue
            start, its = at[chosen], locate[chosen]
            if message.code in itch50.BOOK_TYPES:
                result.book += np.bincount(its, minlength=LOCATES)
            if message in _PRICED:
                waiting.append(((its << 32) | number(data, start + message["price"].offset, message["price"].size)).astype(np.uint64))
            if message in _NAMED:
                names = directory if message.code == b"R" else result.symbols
                stock = message["stock"]
                for k, which in zip(*np.unique(its, return_index=True), strict=True):
                    if int(k) not in names:
                        place = int(start[which])
                        names[int(k)] = data[place + stock.offset:place + stock.end].tobytes().decode("latin-1").rstrip(" \0")
        if sum(map(len, waiting)) > _COMPACT:
            result._merge(waiting)
            waiting.clear()
    result._merge(waiting)
    result.symbols |= directory
    result.messages.update({chr(code): n for code, n in enumerate(types.tolist()) if n})
    result.short = result.total - result.empty - sum(result.messages.values())
    result.duplicates, result.skipped, result.destinations = decoder.duplicates, decoder.skipped, decoder.destinations
    if not result.total:
        raise no_itch(capture.path, result.frames, decoder.skipped)
    result.session, result.first_sequence, result.sessions = decoder.session, decoder.first_sequence, decoder.sessions
    return result


def _is_start(message):
    """Whether a message is the system event that begins every day of the feed."""
    return len(message) >= _HEAD.size and message[:1] == _HEAD.code and message[_EVENT.offset:_EVENT.end] == START_OF_MESSAGES
