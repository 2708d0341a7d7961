"""What the report draws over time, collected from the records as they come, in bounded memory."""
import numpy as np

from tickgate.spec import records

POINTS = 2048     # up to twice as many are kept for each symbol and series: about what a plot can show
BINS = 1 << 14    # of the record rate, at most


class Thinned:
    """Rows over time, at most ``2 * limit`` of them: when full, every second one is kept from then on. ``keep`` says how coarse it is by now."""

    def __init__(self, dtype, limit=POINTS):
        self.rows = np.empty(2 * limit, dtype)
        self.used, self.seen, self.keep = 0, 0, 1

    def add(self, rows):
        """Append ``rows``, thinned as the ones before."""
        first = -self.seen % self.keep
        self.seen += len(rows)
        rows = rows[first::self.keep]
        while self.used + len(rows) > len(self.rows):
            self.keep *= 2
            # the kept ones are every keep-th since the first: halving them keeps that true
            offset = self.used % 2
            self.used = (self.used + 1) // 2
            self.rows[:self.used] = self.rows[:2 * self.used:2]
            rows = rows[offset::2]
        self.rows[self.used:self.used + len(rows)] = rows
        self.used += len(rows)

    def array(self):
        """The rows kept."""
        return self.rows[:self.used]


TOP = np.dtype([("time", "i8"), ("bid", "i8"), ("ask", "i8"), ("flags", "u1")])   # capture time ns; 1e-4 USD, -1: none
TRADE = np.dtype([("time", "i8"), ("price", "i8"), ("shares", "i8")])


class Rate:
    """Events in bins of equal width in time; the width doubles when they get too many."""

    def __init__(self, width_ns=1_000_000, limit=BINS):
        self.width, self.limit, self.start, self.counts = width_ns, limit, None, np.zeros(0, np.int64)

    def add(self, times):
        """Count events at ``times`` (ns). Those before the first one ever count in the first bin."""
        if not len(times):
            return
        if self.start is None:
            self.start = int(times.min())
        while True:
            at = np.maximum((times - self.start) // self.width, 0)
            if at.max() < self.limit:
                break
            self.width *= 2
            pairs = np.append(self.counts, np.zeros(len(self.counts) % 2, np.int64))
            self.counts = pairs[::2] + pairs[1::2]
        counts = np.bincount(at)
        if len(counts) > len(self.counts):
            self.counts = np.append(self.counts, np.zeros(len(counts) - len(self.counts), np.int64))
        self.counts[:len(counts)] += counts


class Series:
    """Top of book and trades by slot, and the rate of records, over the capture's own time."""

    def __init__(self):
        self.tops, self.trades, self.rate = {}, {}, Rate()

    def add(self, rows, times):
        """Collect from ``rows`` (``records.COMMON.dtype``); ``times``: capture time in ns of the frame of each."""
        self.rate.add(times)
        book = rows["kind"] == records.TOP_OF_BOOK
        tops = rows[book].view(records.RECORDS["top_of_book"].dtype)
        trade = rows["kind"] == records.TRADE
        trades = rows[trade].view(records.RECORDS["trade"].dtype)
        for slot in np.unique(rows["slot"][book | trade]).tolist():
            at = tops["slot"] == slot
            mine = tops[at]
            out = np.empty(len(mine), TOP)
            out["time"], out["flags"] = times[book][at], mine["flags"]
            out["bid"] = np.where(mine["flags"] & records.BID, mine["bid_px"].astype(np.int64), -1)
            out["ask"] = np.where(mine["flags"] & records.ASK, mine["ask_px"].astype(np.int64), -1)
            self.tops.setdefault(slot, Thinned(TOP)).add(out)
            # E trades with its book record, at the order's price; a price of 0 is one the card does not know
            executed = at & (tops["message"] == ord("E")) & (tops["order_px"] > 0)
            self._trade(slot, times[book][executed], tops["order_px"][executed], tops["order_qty"][executed])
            # what is not printable comes again in the print of a cross
            at = (trades["slot"] == slot) & (trades["qty"] > 0) & ((trades["message"] != ord("C")) | (trades["detail"] != ord("N")))
            self._trade(slot, times[trade][at], trades["px"][at], trades["qty"][at])

    def _trade(self, slot, time, price, shares):
        out = np.empty(len(time), TRADE)
        out["time"], out["price"], out["shares"] = time, price, shares
        self.trades.setdefault(slot, Thinned(TRADE, POINTS // 2)).add(out)
