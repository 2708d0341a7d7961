"""The event ring from the host's side: the card writes records into shared memory, the host polls it and gives credit."""
import numpy as np

from ..spec.records import COMMON, LAP_BIT, NUMBER_MASK, SIZE
from .errors import CardError

MAXIMUM_LOG2 = 24
STRIDE = 1024   # records looked at together


class EventRingReader:
    """Allocates a ring of 2^``size_log2`` records, tells the card of it, and takes records out of it.

    A record is new when its lap bit says so: nothing of the card is read while polling. Credit is returned each time ``credit_every`` records were
    taken (an eighth of the ring when not given), so the card can always fill the ring but for that many. ``taken`` counts the records taken;
    ``lost`` those missing in their sequence, which the card dropped: its ring counters say why.
    A context manager: leaving it stops the ring. Raises ``CardError``.
    """

    def __init__(self, card, size_log2=16, *, credit_every=None):
        if not 0 <= size_log2 <= MAXIMUM_LOG2:
            raise CardError(f"ring: size_log2 must be 0 to {MAXIMUM_LOG2}, not {size_log2}")
        self.card, self.size = card, 1 << size_log2
        self.credit_every = max(1, self.size // 8) if credit_every is None else credit_every
        if not 1 <= self.credit_every <= self.size:
            raise CardError(f"ring: credit must be returned every 1 to {self.size} records, not every {credit_every}")
        self.taken = self.lost = 0
        size = SIZE * self.size
        buffer = card.device.allocate(size)
        if buffer.address % SIZE or len(buffer.array) < size:
            raise CardError(f"ring: card {card.device.name} gave {len(buffer.array)} bytes at {buffer.address:#x}, not {size} on a cache line")
        ring = card.ring
        ring.enable = 0
        self._index = self._credited = ring.written  # where the card goes on, modulo 2^32
        self._expected = ring.records                # next sequence number
        self._words = buffer.array[:size].view("<u8").reshape(self.size, SIZE // 8)
        self._marks = buffer.array[:size].view(COMMON.dtype)["number"].view("<i4")  # the lap bit is the sign
        self._set = np.empty(STRIDE, bool)
        # every place must look old: memory may be used again, and the card may be in a later lap
        at = self._index % self.size
        self._words[:] = 0
        if self._lap(self._index):
            self._marks[:at] = -LAP_BIT   # the lap after this one is new with 0
        else:
            self._marks[at:] = -LAP_BIT
        ring.base, ring.size_log2, ring.credit = buffer.address, size_log2, self._index
        ring.enable = 1

    def _lap(self, index):
        """Lap bit of a record with this index: 1 in the first lap."""
        return not index & self.size

    def poll(self, limit=None):
        """Take the records that have come, at most ``limit``: a new array of ``tickgate.spec.records.COMMON.dtype``, oldest first, lap bits cleared.

        Empty when there are none. Raises ``CardError`` when a sequence number went back, which means that the ring was overrun.
        """
        count = self._arrived(self.size if limit is None else min(limit, self.size))
        rows = np.empty(count, COMMON.dtype)
        if count:
            at = self._index % self.size
            first = min(count, self.size - at)
            words = rows.view("<u8").reshape(count, SIZE // 8)
            words[:first] = self._words[at:at + first]
            words[first:] = self._words[:count - first]
            rows["number"] &= NUMBER_MASK
            self._index = (self._index + count) % 2**32
            self.taken += count
            self._follow(int(rows["sequence"][0]), int(rows["sequence"][-1]), count)
            if (self._index - self._credited) % 2**32 >= self.credit_every:
                self.give_credit()
        return rows

    def give_credit(self):
        """Let the card use all places that were taken."""
        self.card.ring.credit = self._credited = self._index

    def close(self):
        """Stop the ring: the card drops and counts its records from here on. The memory stays the device's."""
        self.card.ring.enable = 0

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    def _arrived(self, limit):
        """How many records have come, up to ``limit``."""
        found = 0
        while found < limit:
            index = self._index + found
            at, lap = index % self.size, self._lap(index)
            if (self._marks[at] < 0) != lap:
                break
            span = min(STRIDE, limit - found, self.size - at)
            is_set = np.less(self._marks[at:at + span], 0, out=self._set[:span])
            first_old = int(is_set.argmin() if lap else is_set.argmax())  # 0: all are new, since the first one is
            found += first_old or span
            if first_old:
                break
        return found

    def _follow(self, first, last, count):
        missing = last + 1 - self._expected - count
        if first < self._expected or missing < 0:
            raise CardError(f"ring: sequence numbers {first} to {last} came where {self._expected} was next: it was overrun")
        self.lost += missing
        self._expected = last + 1
