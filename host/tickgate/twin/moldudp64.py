"""net/moldudp64: datagram → numbered messages."""
from typing import NamedTuple

from tickgate.spec import moldudp64 as mold
from tickgate.spec.records import GAPS
from tickgate.spec.registers import MOLD

from .binary import counters, reader

_HEADER = reader(mold.HEADER, "session", "sequence", "count")
_LENGTH = mold.BLOCK["length"]
_U64 = (1 << 64) - 1
_MISSING_STEP = (1 << next(r.step for r in MOLD.registers if r.name == "missing")) - 1   # what one gap can add to the counter


class Message(NamedTuple):
    """A message that is handed on: ``frame[at:at + length]``, as far as the frame goes."""

    number: int   # in the feed
    at: int       # byte offset in the frame
    length: int   # bytes


class Gap(NamedTuple):
    """Messages may have been lost."""

    reason: bytes  # a letter of ``GAPS``
    first: int     # message number
    count: int     # messages
    wire: int      # byte offset in the frame of the byte that tells


_MISSING, _SESSION, _FRAME, _LENGTH_GAP = (GAPS[k][0].encode() for k in ("missing", "session", "frame", "length"))


class MoldUDP64:
    """One feed. ``start``: first message expected; ``lanes``: bytes a word, which decide what is known of the frame's end when a block is judged."""

    def __init__(self, start, lanes):
        self.expected = start
        self.session = None   # bytes, once one was seen
        self.lanes = lanes
        self.counters = counters(MOLD)

    def items(self, datagram):
        """Generator of the datagram's ``Message`` and ``Gap``, in order. It must be run to its end: numbers and counters move on meanwhile."""
        frame_end, payload_end = len(datagram.frame), datagram.end
        before = self.session, self.expected
        header_end = datagram.start + mold.HEADER.size
        overrun = False
        if header_end > min(payload_end, frame_end):
            self.counters["runts"] += 1
        else:
            session, sequence, count = _HEADER.unpack_from(datagram.frame, datagram.start)
            gap = self._align(session, sequence, header_end - 1)
            if gap:
                yield gap
            if count == mold.HEARTBEAT:
                self.counters["heartbeats"] += 1
            elif count == mold.END_OF_SESSION:
                self.counters["ends"] += 1
            else:
                self.counters["packets"] += 1
                overrun = yield from self._blocks(datagram.frame, header_end, payload_end, sequence, count)
        if datagram.bad_fcs or frame_end < payload_end:
            self.counters["suspect"] += 1
            self.session, self.expected = before   # nothing in it can be trusted, its numbers least
            yield Gap(_FRAME, self.expected, 0, frame_end - 1)
        elif overrun:
            yield Gap(_LENGTH_GAP, self.expected, 0, frame_end - 1)

    def _align(self, session, sequence, wire):
        """Session and sequence of a header: the gap they show, if any."""
        if self.session not in (None, session):
            self.counters["sessions"] += 1
            gap = Gap(_SESSION, mold.FIRST_SEQUENCE, max(0, sequence - mold.FIRST_SEQUENCE), wire)
        elif sequence > self.expected:
            self.counters["gaps"] += 1
            gap = Gap(_MISSING, self.expected, sequence - self.expected, wire)
        else:
            gap = None
        self.session = session
        if gap:
            self.counters["missing"] += gap.count & _MISSING_STEP
            self.expected = sequence
        return gap

    def _blocks(self, frame, at, payload_end, sequence, count):
        """Generator of messages; returns whether a block did not fit."""
        frame_end, lanes = len(frame), self.lanes
        last_word = (frame_end - 1) // lanes
        both_end = min(payload_end, frame_end)
        for number in range(sequence, sequence + count):
            # The word after the block's first is there; only when it is the last one the end of the frame is known as well.
            end = both_end if at // lanes + 1 >= last_word else payload_end
            body = at + _LENGTH.size
            length = int.from_bytes(frame[at:body], "big")
            if body + length > end:
                self.counters["overruns"] += 1
                return True
            if number < self.expected:
                self.counters["duplicates"] += 1
            else:
                self.counters["messages"] += 1
                self.expected = (number + 1) & _U64
                yield Message(number, body, length)
            at = body + length
        return False
