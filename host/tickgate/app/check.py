"""Compare the card's records with the twin's: in order, every field, up to the first difference."""
from collections import deque
from dataclasses import dataclass

import numpy as np

from tickgate.spec import records

_WORDS = records.SIZE // 8


@dataclass(frozen=True)
class Expected:
    """The twin's records of some frames: ``rows`` (``records.COMMON.dtype``, ``t_wire_ns`` filled in).

    For each row: ``frame`` (its number in the run), ``message`` and ``length`` (where the message lies in the frame, bytes; -1 and 0 for a
    gap that no message caused), and ``cycle`` (of the word with the last needed byte).
    """

    rows: np.ndarray
    frame: np.ndarray
    message: np.ndarray
    length: np.ndarray
    cycle: np.ndarray

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, which):
        return Expected(self.rows[which], self.frame[which], self.message[which], self.length[which], self.cycle[which])


@dataclass(frozen=True)
class Difference:
    """The first record that differs.

    ``card`` and ``twin`` are rows of ``records.COMMON.dtype``; one of them is None when the other side has a record too many.
    ``where`` is the ``Expected`` of the twin's record alone (None when the twin has none), ``fields`` the names with both values.
    """

    index: int
    card: np.void | None
    twin: np.void | None
    fields: tuple
    where: Expected | None


class Check:
    """Compares as records come: ``expect`` what the twin says, ``compare`` what the card wrote, ``finish`` when no more will come.

    ``dropped()`` is how many records the card says it dropped so far: a hole in the sequence is excused by no more than that.
    ``first``: sequence of the first record; the card counts on over the runs it is used for.
    ``compared`` counts records found equal in all fields; ``lost`` those that fell into such holes.
    """

    def __init__(self, dropped, first=0):
        self.dropped = dropped
        self.waiting = deque()   # of Expected, each not empty: what no record of the card has been compared with yet
        self.sequence = first    # of the record that ``waiting`` begins with
        self.compared = 0
        self.lost = 0
        self.last_out = -1       # t_out_ns of the record before

    def expect(self, expected):
        """Queue what the twin expects next."""
        if len(expected):
            self.waiting.append(expected)

    def compare(self, rows):
        """Compare the card's next ``rows`` (``records.COMMON.dtype``). Returns the first ``Difference``, or None."""
        while len(rows):
            if not self.waiting:
                return Difference(self.sequence, rows[0], None, (), None)
            expected = self.waiting[0]
            take = min(len(rows), len(expected))
            part = rows[:take]
            skip = int(part["sequence"][0]) - self.sequence
            if 0 < skip <= self.dropped() - self.lost:
                skip = min(skip, len(expected))
                self.lost += skip
                self._drop(skip)
                continue
            hole = np.flatnonzero(np.diff(part["sequence"].astype(np.int64)) > 1)   # begin with what follows it in the next round
            if len(hole):
                part = part[:hole[0] + 1]
            difference = self._rows(part, expected[:len(part)])
            if difference:
                return difference
            self._drop(len(part))
            rows = rows[len(part):]
        return None

    def finish(self):
        """The first record of the twin that the card never wrote, as a ``Difference``, or None."""
        if not self.waiting:
            return None
        where = self.waiting[0][:1]
        return Difference(self.sequence, None, where.rows[0], (), where)

    def _drop(self, n):
        rest = self.waiting[0][n:]
        self.sequence += n
        if len(rest):
            self.waiting[0] = rest
        else:
            self.waiting.popleft()

    def _rows(self, card, expected):
        """Compare equally many rows whole, as words of eight bytes: all fields but the lap bit, which the ring reader has judged, and the
        time of leaving, which the twin does not know. That one must lie after the last needed byte and after the record before."""
        ours, theirs = _comparable(card), _comparable(expected.rows)
        out, wire = card["t_out_ns"].astype(np.int64), card["t_wire_ns"].astype(np.int64)
        order = np.diff(out, prepend=self.last_out) > 0
        bad = np.flatnonzero((ours != theirs).any(axis=1) | ~order | (out <= wire))
        good = int(bad[0]) if len(bad) else len(card)
        self.compared += good
        if good:
            self.last_out = int(out[good - 1])
        if not len(bad):
            return None
        fields = differing(card[good], expected.rows[good])
        if not fields:
            after = max(int(wire[good]), self.last_out)
            fields = (("t_out_ns", int(out[good]), f"later than {after}"),)
        return Difference(self.sequence + good, card[good], expected.rows[good], fields, expected[good:good + 1])


def _comparable(rows):
    """Copy of rows as words, lap bit and t_out_ns cleared."""
    raw = np.ascontiguousarray(rows).copy()
    raw["t_out_ns"] = 0
    raw["number"] &= records.NUMBER_MASK
    return raw.view(np.uint64).reshape(-1, _WORDS)


def decode(row):
    """A record's fields by name, of its own kind where it is a known one; lap bit cleared."""
    raw = row.tobytes()
    layout = next((r for r in records.RECORDS.values() if r.code == raw[:1]), records.COMMON)
    values = layout.decode(raw)
    values["number"] &= records.NUMBER_MASK
    return values


def differing(card, twin):
    """Names of the fields that differ with the card's and the twin's value. A body of another kind is compared as bytes."""
    a, b = decode(card), decode(twin)
    if a["kind"] != b["kind"]:
        body = records.COMMON["body"]
        for values, row in ((a, card), (b, twin)):
            own = [name for name in values if name not in records.COMMON.field]
            for name in own:
                del values[name]
            values["body"] = row.tobytes()[body.offset:body.end]
    return tuple((name, a[name], b[name]) for name in a if name != "t_out_ns" and a[name] != b[name])


def final(card, twin):
    """Differences of what is compared once at the end. Both map a name to a value or, for counters, to values by name; only what the twin has is
    compared. Yields name, the card's value, the twin's."""
    for name, value in twin.items():
        if isinstance(value, dict):
            mine = card.get(name, {})
            yield from ((f"{name}.{part}", mine.get(part), v) for part, v in value.items() if mine.get(part) != v)
        elif card.get(name) != value:
            yield name, card.get(name), value
