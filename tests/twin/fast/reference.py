"""``Golden`` and ``Book`` side by side on the same messages."""
import random

import numpy as np

from tickgate.spec import records as rec
from tickgate.twin import Book
from tickgate.twin.unbounded import unbounded
from tickgate_sim.streams import frames

GROUP = (0xE9360C65, 26477)
SAME = ("message", "detail", "state", "digest")       # fields of one name in records and rows
NUMBERS = ("bid_px", "bid_qty", "ask_px", "ask_qty", "order_px", "order_qty")


def stream(messages):
    """The messages as a BinaryFILE without its end."""
    return b"".join(len(m).to_bytes(2, "big") + m for m in messages)


def pieces(data, seed, most):
    """The bytes in random pieces, some of them empty."""
    rng, at = random.Random(f"pieces {seed}"), 0
    while at < len(data):
        size = rng.choice((0, 1, 2, rng.randrange(1, 40), rng.randrange(1, most)))
        yield data[at:at + size]
        at += size


class Pair:
    """A ``Golden`` without limits and ``Book``s of the same symbols; ``send`` compares every record. ``compared`` counts them by kind."""

    def __init__(self, locates):
        self.locates = sorted(locates)
        self.golden = unbounded(self.locates, [GROUP])
        self.book = Book(symbols=self.locates, rows="every", digest=True, trades=True, events=True, strict=False)
        self.levels = Book(symbols=self.locates, rows="every", digest=True, queues=False, strict=False)
        self.changes = Book(symbols=self.locates, strict=False)
        self.compared = {"top_of_book": 0, "trade": 0, "status": 0}
        self._last = {}

    def send(self, messages, seed=None):
        """Messages (none empty) to all of them; with a seed in random pieces to ``book``."""
        data = stream(messages)
        for frame, _ in frames(messages, seed or 0, filters=[GROUP], plain=True, start=self.golden.expected).frames:
            self.golden.frame(frame)
        want = self.golden.take()
        rows, trades, events = [], [], []
        for piece in [data] if seed is None else pieces(data, seed, 4000):
            rows.append(self.book.feed(piece))
            trades.append(self.book.trades)
            events.append(self.book.events)
        rows, trades, events = (np.concatenate(x) for x in (rows, trades, events))
        tops = self._as(want, "top_of_book")
        self._top_of_book(rows, tops)
        self._trades(trades, self._as(want, "trade"), tops)
        self._status(events, self._as(want, "status"))
        only_levels = self.levels.feed(data)
        assert only_levels.tobytes() == rows.tobytes()
        changed = self.changes.feed(data)
        assert changed.size == self._changed(rows).size
        for name in set(rows.dtype.names) - {"digest"}:
            assert (changed[name] == self._changed_rows[name]).all(), name

    def _as(self, want, kind):
        mine = want[want["kind"] == rec.KINDS[kind]]
        self.compared[kind] += len(mine)
        return np.frombuffer(mine.tobytes(), rec.RECORDS[kind].dtype)

    @staticmethod
    def _equal(rows, want, fields):
        assert len(rows) == len(want)
        for mine, theirs in fields:
            differs = np.flatnonzero(rows[mine] != want[theirs])
            assert not differs.size, f"{mine}: {rows[differs[0]]}, golden {want[differs[0]]}"

    def _top_of_book(self, rows, want):
        self._equal(rows, want, [*((n, n) for n in (*SAME, *NUMBERS, "flags", "number")), ("locate", "slot")])

    def _trades(self, trades, want, tops):
        executed = trades["message"] == ord("E")     # the card has no trade record of its own for those
        self._equal(trades[executed], tops[tops["message"] == ord("E")],
                    [("qty", "order_qty"), ("price", "order_px"), ("number", "number"), ("locate", "slot"), ("state", "state")])
        rest = trades[~executed]
        self._equal(rest, want, [("qty", "qty"), ("price", "px"), ("number", "number"), ("locate", "slot"), ("message", "message"),
                                 ("detail", "detail"), ("state", "state")])
        at_price = rest["message"] == ord("C")       # the card does not say the side of a C
        assert ((rest["flags"] & np.where(at_price, rec.STALE, 255)) == want["flags"]).all()
        sides = {int(n): f & rec.SELL for n, f in zip(tops["number"], tops["flags"])}
        assert all(sides[int(t["number"])] == t["flags"] & rec.SELL for t in trades[np.isin(trades["message"], list(b"EC"))])

    def _status(self, events, want):
        self._equal(events, want, [("number", "number"), ("message", "message"), ("detail", "detail"), ("state", "state"), ("flags", "flags")])
        of_symbol = ~np.isin(events["message"], list(b"SW"))
        assert (events["locate"][of_symbol] == want["slot"][of_symbol]).all()

    def _changed(self, rows):
        """Rows whose best bid or offer is not that of the row of their symbol before."""
        keep = np.zeros(len(rows), bool)
        for k, row in enumerate(zip(rows["locate"].tolist(), *(rows[n].tolist() for n in NUMBERS[:4]))):
            if self._last.get(row[0], (0, 0, 0, 0)) != row[1:]:
                keep[k], self._last[row[0]] = True, row[1:]
        self._changed_rows = rows[keep]
        return self._changed_rows

    def compare_books(self):
        """The books themselves, queue by queue, and everything that is counted."""
        golden, book = self.golden, self.book
        for locate in self.locates:
            want, mine, slot = golden.book(locate), book[locate], golden.slots[locate]
            for side, levels in (("B", want.bids), ("S", want.asks)):
                depth = mine.depth(side)
                assert depth.tolist() == [(d.price, d.count, d.quantity) for d in levels]
                assert self.levels[locate].depth(side).tobytes() == depth.tobytes()
                assert mine.orders(side)[["reference", "price", "quantity"]].tolist() == [(r, d.price, q) for d in levels for r, q in d.queue]
            assert (mine.stale, mine.digest, mine.state) == (slot.stale, slot.digest, slot.state(golden.phase))
        counters = golden.counters
        assert book.faults == {name: counters["book"][name] for name in book.faults}
        assert not counters["book"]["table_full"] + counters["book"]["wide_reference"] + counters["book"]["outside"]
        feed = {name: n for name, n in counters["feed"].items() if name in book.counters}
        assert book.counters == {**feed, "updates": counters["book"]["updates"]}
        assert book.types == {chr(code): n for code, n in golden.type_count.items()}
        assert (book.live, book.messages) == (golden.live, golden.expected - 1)
        assert sum(self.compared.values())
