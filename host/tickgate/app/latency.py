"""Latency by message type, in cycles: exact counts, since there are few distinct values."""
from collections import defaultdict

import numpy as np

from tickgate.spec import clocks, itch50, records

PERCENTILES = {"min": 0, "p50": 50, "p99": 99, "max": 100}


def name(kind, message):
    """What a latency is filed under: the message type; ``C_trade`` for the trade record that follows C's top_of_book; ``gap`` for gaps."""
    if kind == records.GAP:
        return "gap"
    return chr(message) + "_trade" if kind == records.TRADE and message == ord("C") else chr(message)


class Latency:
    """Cycles from the word with the last needed byte to the record's leaving for the ring."""

    def __init__(self):
        self.counts = defaultdict(lambda: defaultdict(int))   # name -> cycles -> records

    def add(self, rows):
        """Count ``rows`` (``records.COMMON.dtype``)."""
        cycles = clocks.cycles_between(rows["t_wire_ns"].astype(np.int64), rows["t_out_ns"].astype(np.int64))
        key = (rows["kind"].astype(np.int64) << 8) | rows["message"]
        pairs, counts = np.unique(np.stack([key, cycles]), axis=1, return_counts=True)
        for (k, c), n in zip(pairs.T.tolist(), counts.tolist()):
            self.counts[name(k >> 8, k & 0xFF)][c] += n

    def table(self):
        """``{name: {"count": records, "min": cycles, "p50": …, "p99": …, "max": …}}``: nearest-rank percentiles, never interpolated."""
        return {key: {"count": sum(counts.values()), **{p: _rank(counts, percent) for p, percent in PERCENTILES.items()}}
                for key, counts in sorted(self.counts.items())}


def top_of_book(table):
    """Of a ``Latency.table()``: the same of book messages, to the top of book instead of its record, which is ``TOP_TO_RECORD`` cycles later."""
    return {name: {p: v if p == "count" else v - records.TOP_TO_RECORD for p, v in values.items()}
            for name, values in table.items() if name in map(chr, itch50.BOOK_TYPES)}


def _rank(counts, percent):
    """The smallest value with at least ``percent`` of all values at or below it."""
    need, seen = -(-sum(counts.values()) * percent // 100), 0
    for value in sorted(counts):
        seen += counts[value]
        if seen >= need:
            return value


def nanoseconds(cycles):
    """Cycles in ns, to a picosecond, for people."""
    return round(cycles * clocks.NS_NUMERATOR / clocks.NS_DENOMINATOR, 3)
