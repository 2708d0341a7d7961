"""The books of a file: its messages through the fast twin, slice after slice, as rows."""
import numpy as np

from tickgate.spec import records
from tickgate.spec.moldudp64 import BLOCK

from .table import CODE, NULL, SYMBOL

SLICE = 1 << 14      # messages whose rows are made at once, so that memory stays the same
PREFIX = BLOCK.size
_LOCATES = 1 << 16
_LETTERS = {code: letter if len(letter) == 1 else "h" for letter, code in records.TRADING.items() if code}
_TRADING_MASK = 7

#: Trading state of the low bits of ``state`` as texts of a ``Table``: T, Q, H, P, h (operational halt); no value where it is not known.
TRADING = np.full(_TRADING_MASK + 1, NULL, np.int64)
for _code, _letter in _LETTERS.items():
    TRADING[_code] = CODE + ord(_letter)


class Books:
    """The books of one file; ``options`` as ``tickgate.twin.Book``'s ``rows``, ``depth`` and ``trades``."""

    def __init__(self, **options):
        from tickgate.twin import Book

        self.book = Book(queues=False, strict=False, **options)      # what is no message was judged before
        self.fed, self.is_first = 0, True

    def feed(self, piece, which=None):
        """Apply the messages of a piece, those that ``which`` (bool[n]) names when given. Yields rows, trades and the time of the last message, of a slice
        at a time; ``number`` in them is the message's number in the feed."""
        if piece.gap or self.is_first and piece.first > 1:
            self.book.skip(0)      # every book goes stale
        self.is_first = False
        index = np.arange(len(piece)) if which is None else np.flatnonzero(which)
        for begin in range(0, max(len(index), 1), SLICE):
            its = index[begin:begin + SLICE]
            last = begin + SLICE >= len(index)
            rows = self.book.feed(_blocks(piece, its))
            trades = self.book.trades
            for some in (rows, trades):
                if len(some):
                    some["number"] = piece.first + its[some["number"].astype(np.int64) - 1 - self.fed]
            self.fed += len(its)
            if len(piece):
                yield rows, trades, int(piece.time[-1] if last else piece.time[its[-1]])


def _blocks(piece, index):
    """The blocks of some messages, ``index`` ascending."""
    if not len(index):
        return piece.data[:0]
    first, last = int(index[0]), int(index[-1])
    if last - first + 1 == len(index):      # nothing is left out between them
        end = int(piece.at[last + 1]) if last + 1 < len(piece) else len(piece.data)
        return piece.data[int(piece.at[first]):end]
    which = np.zeros(len(piece), bool)
    which[index] = True
    return piece.blocks(which)


def walk(run, selection, **options):
    """Go through the books of all files: yields ``(source, rows, trades, now, piece)``, rows and trades of the chosen symbols up to ``selection.end``, but
    also those before its start. ``now``: time of the last message that they come from; ``piece`` has ended when its last time is ``now``."""
    for source, pieces in run:
        books = Books(**options)
        chosen = None
        for piece in pieces:
            if selection.symbols is not None:
                chosen = _chosen(piece, selection.locates(source.names))
            for rows, trades, now in books.feed(piece, chosen):
                if selection.end <= now:
                    rows, trades = (some[some["time"] < selection.end] for some in (rows, trades))
                yield source, rows, trades, min(now, selection.end), piece
                if run.is_stopped:
                    return
            if len(piece) and piece.time[0] >= selection.end:
                break
    selection.complain(run)


_MARKET = np.frombuffer(b"SW", np.uint8)


def _chosen(piece, locates):
    return locates[piece.locate] | np.isin(piece.kind, _MARKET)


def heads(rows):
    """Columns that rows of books begin with: time, symbol, number, trading, valid, crossed."""
    return (rows["time"], SYMBOL + rows["locate"].astype(np.int64), rows["number"], TRADING[rows["state"] & _TRADING_MASK],
            (rows["flags"] & records.VALID) != 0, (rows["flags"] & records.CROSSED) != 0)


def side(rows, name, flag):
    """Price, shares and orders of one side's best, without value where the side is empty."""
    there = (rows["flags"] & flag) != 0
    return tuple(np.where(there, rows[f"{name}_{what}"].astype(np.int64), NULL) for what in ("px", "qty", "count"))


class Before:
    """What each symbol's row before had: ``width`` values, ``fill`` for one that had none."""

    def __init__(self, width, fill):
        self.fill, self.values = fill, np.full((_LOCATES, width), fill, np.int64)

    def take(self, rows, values):
        """For each of ``rows`` with its ``values`` (int64[n, width]) those of the row of the same symbol before it."""
        if not len(rows):
            return values
        order = np.argsort(rows["locate"], kind="stable")
        locate, its = rows["locate"][order], values[order]
        is_first = np.append(True, locate[1:] != locate[:-1])
        before = np.empty_like(values)
        before[order] = np.where(is_first[:, None], self.values[locate], np.concatenate([its[:1], its[:-1]]))
        self.values[locate] = its          # the last one of equals stays
        return before

    def forget(self):
        """Nobody had any."""
        self.values[:] = self.fill


class Sampler:
    """Books at times that are multiples of ``every`` ns, from ``start`` on: as all messages up to and including that moment left them."""

    def __init__(self, every, start):
        self.every, self.next = every, -(-start // every) * every
        self.locates = np.zeros(0, np.int64)      # of the symbols that have had a row, ascending
        self.last = None                          # their last rows
        self.sums = np.zeros((0, 4), np.int64)    # of flows and of those without a value: up to the last row, and up to the last moment

    def add(self, rows, now, flow=None):
        """Take the ``rows`` of messages up to ``now``. Yields ``(rows, flow)`` for moments that have passed: a row a symbol and moment, in that order, its
        ``time`` the moment's; ``flow``: what the rows since the moment before had in ``flow`` (float64[n]) in all, NaN when one of them had NaN."""
        flow = np.zeros(len(rows)) if flow is None else flow
        if self.last is None:
            self.last = rows[:0]
        if not len(self.locates):      # nothing before the first row
            first = min(int(rows["time"][0]), now) if len(rows) else now
            self.next = max(self.next, -(-first // self.every) * self.every)
        new = np.setdiff1d(rows["locate"], self.locates).astype(np.int64)
        at = self.locates.searchsorted(new)
        self.locates = np.insert(self.locates, at, new)
        self.last = np.insert(self.last, at, np.zeros(len(new), rows.dtype))
        self.sums = np.insert(self.sums, at, 0, axis=0)
        groups = self._groups(rows, flow)
        while self.next < now and len(self.locates):
            count = min(-(-(now - self.next) // self.every), max(1, SLICE // len(self.locates)))
            yield self._at(self.next + self.every * np.arange(count), groups)
            self.next += self.every * count
        for place, its, sums in groups:
            self.last[place] = its[-1]
            self.sums[place, :2] += sums[-1]

    def _groups(self, rows, flow):
        """For each symbol with rows: its place, the rows, and running sums of their flow."""
        order = np.argsort(rows["locate"], kind="stable")
        places = self.locates.searchsorted(rows["locate"][order])
        cuts = np.flatnonzero(np.diff(places)) + 1
        sums = np.stack([np.nan_to_num(flow), np.isnan(flow)], axis=1).astype(np.int64)
        return [(int(places[its[0]]), rows[order[its]], sums[order[its]].cumsum(axis=0)) for its in np.split(np.arange(len(rows)), cuts) if len(its)]

    def _at(self, moments, groups):
        shape = len(moments), len(self.locates)
        rows, sums = np.broadcast_to(self.last, shape).copy(), np.broadcast_to(self.sums[:, :2], (*shape, 2)).copy()
        for place, its, running in groups:
            known = its["time"].searchsorted(moments, "right")
            some = known > 0
            rows[some, place] = its[known[some] - 1]
            sums[some, place] += running[known[some] - 1]
        there = rows["number"] > 0
        rows["time"] = moments[:, None]
        since = np.diff(np.concatenate([self.sums[None, :, 2:], sums]), axis=0)
        self.sums[:, 2:] = sums[-1]
        return rows[there], np.where(since[..., 1] > 0, np.nan, since[..., 0])[there]

    def finish(self, now):
        """The moments up to ``now``, after which nothing comes."""
        return self.add(self.last[:0], now + 1) if self.last is not None else iter(())

    def invalidate(self):
        """Messages are missing from here on."""
        if self.last is not None:
            self.last["flags"] = self.last["flags"] & ~np.uint8(records.VALID) | np.uint8(records.STALE)
