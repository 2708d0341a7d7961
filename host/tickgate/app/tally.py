"""What the card's records add up to: kinds, faults, and why which symbol went stale."""
from collections import Counter

import numpy as np

from tickgate.spec import records
from tickgate.spec.commands import ARM, HOLD, HOST, LETTERS

_KIND = {code: name for name, code in records.KINDS.items()}
_FAULT = {code: name for name, (code, _) in {**records.FAULTS, **records.BOOK_FAULTS}.items()}
_HOLD, _ARM = ord(LETTERS[HOLD]), ord(LETTERS[ARM])
_TRUST = (_HOLD, _ARM)
_GAP = {ord(letter): name for name, (letter, _) in records.GAPS.items()}


class Tally:
    """Counts over all records of a run, fed by ``add``. ``slots``: those loaded; ``stale``: those stale from the start, with the cause."""

    def __init__(self, slots, stale=None):
        self.slots = list(slots)
        self.kinds = Counter()     # kind name -> records
        self.faults = Counter()    # fault name -> top_of_book records
        self.gaps = Counter()      # reason -> gap records
        self.updates = Counter()   # slot -> top_of_book records
        self.stale = dict(stale or {})   # slot -> cause of the first that made it stale

    def add(self, rows):
        """Count ``rows`` (``records.COMMON.dtype``), in record order."""
        for kind, n in zip(*_counts(rows["kind"])):
            self.kinds[_KIND.get(kind, f"kind {kind}")] += n
        book, gap = rows["kind"] == records.TOP_OF_BOOK, rows["kind"] == records.GAP
        for slot, n in zip(*_counts(rows["slot"][book & (rows["source"] != HOST)])):
            self.updates[slot] += n
        fault = np.flatnonzero(book & (rows["detail"] != records.NO_FAULT))
        for code, n in zip(*_counts(rows["detail"][fault])):
            self.faults[_FAULT.get(code, f"fault {code}")] += n
        for code, n in zip(*_counts(rows["detail"][gap])):
            self.gaps[_GAP.get(code, f"gap {code}")] += n

        # where the host has armed no symbol, the first fault of each slot and the first gap are all that can make one stale; the earlier one is the cause
        trust = np.flatnonzero((rows["source"] == HOST) & np.isin(rows["message"], _TRUST))
        if not len(trust):
            _, first = np.unique(rows["slot"][fault], return_index=True)
            fault, gap = fault[first], np.flatnonzero(gap)[:1]
        else:
            gap = np.flatnonzero(gap)
        for at in np.sort(np.concatenate([fault, gap, trust])).tolist():
            row = rows[at]
            code, message = int(row["detail"]), int(row["number"]) & records.NUMBER_MASK
            if row["kind"] == records.STATUS:
                self._trust(row)
            elif row["kind"] == records.GAP:
                for slot in self.slots:
                    self.stale.setdefault(slot, f"gap: {_GAP.get(code, code)}, at message {message}")
            else:
                self.stale.setdefault(int(row["slot"]), f"{_FAULT.get(code, code)}, at message {message}")


    def _trust(self, row):
        """A hold or an arming: what was wrong before counts no more."""
        slot = int(row["slot"])
        if row["message"] == _HOLD:
            self.stale[slot] = "held by the host"
        elif not row["flags"] & records.STALE:
            self.stale.pop(slot, None)


def _counts(values):
    unique, counts = np.unique(values, return_counts=True)
    return unique.tolist(), counts.tolist()
