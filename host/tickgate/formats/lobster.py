"""LOBSTER pairs: each message of a symbol, and the best levels of its book after it."""
import numpy as np

from tickgate.spec import events as ev
from tickgate.twin import Book

from .itch import Encoder

_TYPES = np.zeros(256, np.int64)
for _kind, _action in ev.LOBSTER_TYPES.items():
    _TYPES[ord(_action)] = _kind
_TYPES[ord("C")] = _TYPES[ord("E")]
_HALTS = np.zeros(256, np.int64)
for _price, _state in ev.LOBSTER_HALTS.items():
    _HALTS[ord(_state)] = _price
_HALTS[ord("P")] = _HALTS[ord("H")]      # a pause is a halt
_BOOK = np.isin(np.arange(256), list(b"ADXEC"))
_NS = 10 ** 9


class Pair:
    """The two files of one symbol: a row in each for every A D X E C P Q and H; a U is a deletion and a submission, as with LOBSTER.

    An execution has the price of its order, so that every row of the book follows from its message. ``keep`` says which events of a call are written;
    all of them shape the book.
    """

    def __init__(self, messages, books, about):
        self.messages, self.books, self.levels, self.names, self.rows = messages, books, about.levels, about.names, 0
        self._clear()

    def _clear(self):
        self._book = Book(rows="every", depth=self.levels, queues=False, strict=False)
        self._encoder = Encoder(self.names)
        self._last = np.tile([ev.LOBSTER_NO_PRICE, 0, -ev.LOBSTER_NO_PRICE, 0], self.levels)[None]

    def write(self, events, left, keep=None):
        keep = np.ones(len(events), bool) if keep is None else keep
        clears = np.flatnonzero(events["action"] == ord("R")).tolist()
        for begin, end in zip([0, *clears], [*clears, len(events)]):
            some = slice(begin, end)
            if begin in clears:
                self._clear()
            self._write(events[some], left[some], keep[some])

    def _write(self, events, left, keep):
        kinds = _TYPES[events["action"]]
        kinds[(events["action"] == ord("X")) & (left == 0)] = _TYPES[ord("D")]
        blocks, index = self._encoder.encode(events)
        rows = self._book.feed(blocks)
        which = index[_BOOK[events["action"][index]]]       # the events that gave a row
        if len(which) != len(rows):
            raise AssertionError(f"{len(rows)} rows of the book for {len(which)} messages")
        books = np.concatenate([self._last, self._table(rows)])
        at = np.zeros(len(events), np.int64)
        at[which] = np.arange(1, len(rows) + 1)
        books = books[np.maximum.accumulate(at)] if len(at) else books[:0]
        if len(books):
            self._last = books[-1:]
        chosen = keep & (kinds > 0)
        self._lines(events[chosen], kinds[chosen])
        self.books.write("".join(",".join(map(str, row)) + "\n" for row in books[chosen].tolist()).encode())

    def _table(self, rows):
        """Rows of the book as LOBSTER has them: ask price and size, bid price and size, level by level."""
        out = np.empty((len(rows), self.levels, 4), np.int64)
        for column, (side, none) in enumerate((("asks", ev.LOBSTER_NO_PRICE), ("bids", -ev.LOBSTER_NO_PRICE))):
            there = rows[side]["count"] > 0
            out[:, :, 2 * column] = np.where(there, rows[side]["price"].astype(np.int64), none)
            out[:, :, 2 * column + 1] = np.where(there, rows[side]["quantity"], 0)
        return out.reshape(len(rows), 4 * self.levels)

    def _lines(self, events, kinds):
        halts, bought = kinds == _TYPES[ord("H")], events["side"] == ev.BUY
        prices = np.where(halts, _HALTS[events["detail"]], events["price"])
        hidden = kinds == _TYPES[ord("P")]
        columns = (events["time_ns"] // _NS, events["time_ns"] % _NS, kinds, np.where(hidden, 0, events["reference"]), events["quantity"], prices,
                   np.where(bought, 1, -1))
        self.messages.write("".join(f"{s}.{ns:09},{kind},{reference},{size},{price},{side}\n"
                                    for s, ns, kind, reference, size, price, side in zip(*(c.tolist() for c in columns))).encode())
        self.rows += len(events)

    def close(self):
        """Nothing follows the last row."""
