"""The lines of a feed put in order: each message once, by its number, however many lines brought it and in whatever order.

A packet that comes too early is held until what is missing has come, from any line. When it has been held too long, the gap is declared.
"""
import heapq
from collections import Counter
from typing import NamedTuple

import numpy as np

from ..spec import moldudp64
from . import kernels
from .decode import datagrams, number

HOLD_NS = 100_000_000    # ns of capture time that a packet waits for those before it
HOLD_MOST = 4096         # packets that wait
_PREFIX = moldudp64.BLOCK.size
_SESSION = moldudp64.HEADER["session"]


class Part(NamedTuple):
    """Messages of one packet, in order and not seen before: number of the first, how many, their blocks, messages missing before it;
    the frame up to the end of its MoldUDP64 header, where the payload begins in it, and its time."""

    first: int
    count: int
    blocks: bytes
    gap: int
    head: bytes
    payload: int
    time: int


class _Session:
    def __init__(self):
        self.expected, self.held, self.is_started = moldudp64.FIRST_SEQUENCE, [], False


class Lines:
    """Takes batches of frames and gives out parts. ``first``: number of the first message; ``gaps`` declared with ``missing`` messages;
    ``duplicates``: messages brought again; ``skipped``: frames without messages by cause; ``late``: packets that came out of order."""

    def __init__(self):
        self.sessions, self.destinations, self.skipped = {}, set(), Counter()
        self.first, self.gaps, self.missing, self.duplicates, self.late = None, 0, 0, 0, 0

    def take(self, batch):
        """The parts that a ``FrameBatch`` completes."""
        found, header = datagrams(batch), moldudp64.HEADER
        self.skipped += found.skipped
        start, raw = found.start, batch.data.tobytes()
        counts = number(batch.data, start + header["count"].offset, header["count"].size)
        sequences = number(batch.data, start + header["sequence"].offset, header["sequence"].size)
        promised = np.where(counts == moldudp64.END_OF_SESSION, 0, counts)
        whole, end, flags = (np.zeros(len(start), np.int64) for _ in range(3))
        kernels.datagrams(batch.data, start + header.size, found.end, promised, whole, end, flags)
        offset, time = batch.offset[found.frame], batch.time_ns[found.frame]
        for k in range(len(start)):
            at, payload = int(start[k]), int(start[k]) + header.size
            if payload > found.end[k]:
                self.skipped["runt"] += 1
                continue
            destination = int(found.group[k]), int(found.port[k])
            if flags[k] & 1:
                self.destinations.add(destination)
            elif destination not in self.destinations:
                self.skipped["not_itch" if promised[k] else "heartbeat"] += 1
                continue
            head = int(offset[k])
            part = Part(int(sequences[k]), int(whole[k]), raw[payload:int(end[k])], 0, raw[head:payload], at - head, int(time[k]))
            for ready in self._order(raw[at + _SESSION.offset:at + _SESSION.end], part):
                yield from _without_empty(ready) if flags[k] & 2 else (ready,)

    def finish(self):
        """The parts that were still held, at the end of the capture."""
        for session in self.sessions.values():
            while session.held:
                yield from self._release(session)

    def _order(self, name, part):
        session = self.sessions.setdefault(name, _Session())
        if part.first > session.expected:
            heapq.heappush(session.held, (part.first, part.time, part))
            self.late += bool(part.count)
        else:
            yield from self._next(session, part)
        while session.held and (session.held[0][0] <= session.expected or len(session.held) > HOLD_MOST
                                or part.time - session.held[0][1] > HOLD_NS):
            yield from self._release(session)

    def _release(self, session):
        first, _, part = heapq.heappop(session.held)
        gap = max(first - session.expected, 0)
        session.expected += gap
        if not session.is_started:      # the capture begins later than the session: nothing is missing from it
            gap = 0
        if gap:
            self.gaps += 1
            self.missing += gap
        yield from self._next(session, part._replace(gap=gap), gap)

    def _next(self, session, part, gap=0):
        seen = min(session.expected - part.first, part.count)
        self.duplicates += seen
        if seen < part.count or gap:
            session.is_started = True
            if self.first is None:
                self.first = part.first
            at = 0
            for _ in range(seen):
                at += _PREFIX + int.from_bytes(part.blocks[at:at + _PREFIX], "big")
            session.expected = max(session.expected, part.first + part.count)
            yield part._replace(first=part.first + seen, count=part.count - seen, blocks=part.blocks[at:])


def _without_empty(part):
    """Split a part where it has messages of length 0: they have a number but nothing else."""
    at, first, begin, count, gap = 0, part.first, 0, 0, part.gap
    for k in range(part.count):
        length = int.from_bytes(part.blocks[at:at + _PREFIX], "big")
        if not length:
            yield part._replace(first=first, count=count, blocks=part.blocks[begin:at], gap=gap)
            first, begin, count, gap = part.first + k + 1, at + _PREFIX, 0, 0
        else:
            count += 1
        at += _PREFIX + length
    yield part._replace(first=first, count=count, blocks=part.blocks[begin:at], gap=gap)
