"""A made-up day as the packets of the two lines of a feed, and what may happen to them on the way."""
import heapq
import random
from dataclasses import dataclass, replace
from itertools import count

import numpy as np

from tickgate.capture import NASDAQ, kernels, mold_frame
from tickgate.capture.packing import cuts, pack
from tickgate.spec import moldudp64

LINES = {"a": NASDAQ, "b": replace(NASDAQ, group="233.49.196.111", source="192.0.2.2", source_mac="02:00:00:00:00:02")}
MIDNIGHT_NS = 1_704_171_600 * 10 ** 9    # 2024-01-02, New York (UTC - 5 h), in ns since 1970
PARTS = 1_000_000                        # what probabilities are counted in
AGAIN_NS = 1000                          # a packet that comes twice comes so much later again


@dataclass(frozen=True, kw_only=True)
class Faults:
    """Probabilities for each packet of a line, in millionths: it is lost, it comes twice, it comes after the next one. ``skew``: ns that line B is later."""

    loss: int = 0
    duplicate: int = 0
    reorder: int = 0
    skew: int = 0


class Line:
    """One line: ``send`` packets in order, and they come out late, twice or not at all. ``lost``, ``doubled``, ``late``: how many."""

    def __init__(self, name, seed, faults):
        self.random = random.Random(f"{seed} line {name}")
        self.faults, self.packing, self.skew = faults, LINES[name], faults.skew if name == "b" else 0
        self.waiting, self.sent, self.lost, self.doubled, self.late = None, 0, 0, 0, 0

    def _happens(self, parts):
        return parts > 0 and self.random.randrange(PARTS) < parts

    def send(self, time, frame):
        """Pairs of time and frame as they arrive."""
        self.sent += 1
        time += self.skew
        if self._happens(self.faults.loss):
            self.lost += 1
            return
        if self.waiting is None and self._happens(self.faults.reorder):
            self.waiting = frame
            self.late += 1
            return
        yield time, frame
        if self._happens(self.faults.duplicate):
            self.doubled += 1
            yield time + AGAIN_NS, frame
        if self.waiting is not None:
            yield time, self.waiting
            self.waiting = None

    def end(self, time):
        """What still waits."""
        if self.waiting is not None:
            yield time + self.skew, self.waiting
            self.waiting = None


def packets(pieces, lines):
    """Yield ``(line name, time, frame)`` in the order of their times, ns since 1970, for ``synthetic.pieces`` and ``Line`` by name; at last each line's end
    of session, which is never lost."""
    sequence, order, arriving, last = moldudp64.FIRST_SEQUENCE, count(), [], MIDNIGHT_NS

    def arrive(name, pairs):
        for time, frame in pairs:
            heapq.heappush(arriving, (time, next(order), name, frame))

    for piece in pieces:
        data = np.frombuffer(piece, np.uint8)
        room = len(data) // 12 + 1
        at, size, time = (np.empty(room, np.int64) for _ in range(3))
        n, end, _, _ = kernels.walk(data, 0, 0, at, size, np.empty(room, np.uint8), np.empty(room, np.uint16), time, 0)
        starts, times = at[:n].tolist(), (time[:n] + MIDNIGHT_NS).tolist()
        ends = [*starts[1:], end]
        if n:
            for name, line in lines.items():
                batch = pack(piece, starts, ends, times, cuts(starts, ends, times, line.packing), sequence, line.packing)
                for k, sent in enumerate(batch.time_ns.tolist()):
                    arrive(name, line.send(sent, batch[k]))
            sequence, last = sequence + n, times[-1]
        while arriving and arriving[0][0] < last:      # nothing that is still to be sent comes before
            time_ns, _, name, frame = heapq.heappop(arriving)
            yield name, time_ns, frame
    for name, line in lines.items():
        arrive(name, line.end(last))
        end_frame = mold_frame(sequence, packing=line.packing, count=moldudp64.END_OF_SESSION)
        arrive(name, [(last + line.skew + 2 * AGAIN_NS, end_frame)])
    while arriving:
        time_ns, _, name, frame = heapq.heappop(arriving)
        yield name, time_ns, frame
