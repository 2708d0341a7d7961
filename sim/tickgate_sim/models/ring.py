"""Model of the event ring, told once a cycle what its ports do; shared by the unit and the RTL test."""
from collections import Counter, deque

from tickgate.spec import records

LAP_BYTE = records.COMMON["number"].end - 1


class RingModel:
    """What ``dma.ring.EventRing`` must do: counters, places and the writes that are still to come, in order.

    ``credit_latency`` and ``waiting`` are those of the ring. Set ``base``, ``size_log2``, ``enable`` and ``credit`` as on its ports.
    """

    def __init__(self, *, credit_latency, waiting):
        self.base = self.size_log2 = self.enable = self.credit = 0
        self.sequence = self.written = self.waiting = 0
        self.counts = Counter()
        self.expected = deque()   # (address, bytes)
        self._credits = deque([0] * credit_latency)
        self._capacity = waiting

    def cycle(self, record=None, left=False):
        """One cycle: a record that was offered (64 bytes, or None), and whether a write was taken by the host."""
        self._credits.append(self.credit)
        credit = self._credits.popleft()
        if record is not None:
            self.counts["records"] += 1
            if not self.enable:
                self.counts["dropped_off"] += 1
            elif (self.written - credit) % 2**32 == 1 << self.size_log2:
                self.counts["dropped_full"] += 1
            elif self.waiting == self._capacity:
                self.counts["dropped_busy"] += 1
            else:
                self._place(record)
            self.sequence += 1
        self.waiting -= left

    def _place(self, record):
        lap, place = divmod(self.written, 1 << self.size_log2)
        sequence = records.COMMON["sequence"]
        raw = bytearray(record)
        raw[sequence.offset:sequence.end] = self.sequence.to_bytes(sequence.size, "little")
        raw[LAP_BYTE] = raw[LAP_BYTE] & 0x7F | (lap % 2 == 0) << 7
        self.expected.append((self.base + records.SIZE * place, bytes(raw)))
        self.written = (self.written + 1) % 2**32
        self.waiting += 1
