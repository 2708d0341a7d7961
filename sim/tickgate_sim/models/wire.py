"""Frames on the wire: in which cycle each word comes."""
from typing import NamedTuple

from tickgate.spec import moldudp64 as mold

LANES = 4   # bytes a word


class Sent(NamedTuple):
    """A frame (bytes without FCS), whether the MAC marked it bad, and the cycle of each of its words."""

    frame: bytes
    bad_fcs: bool
    cycles: list

    def cycle_of(self, byte):
        """Cycle of the word with a byte of the frame."""
        return self.cycles[byte // LANES]

    @property
    def last(self):
        """Cycle of the last word."""
        return self.cycles[-1]

    def words(self, rng):
        """(cycle, fields) of each word: data, first, last, count and error. What a word's data holds beyond the frame is random, and so are count and
        error where they say nothing."""
        for k, cycle in enumerate(self.cycles):
            part = self.frame[LANES * k:LANES * (k + 1)]
            last = cycle == self.last
            yield cycle, {"data": int.from_bytes(part + rng.randbytes(LANES - len(part)), "little"), "first": int(k == 0), "last": int(last),
                          "count": len(part) if last else rng.randrange(LANES + 1), "error": int(self.bad_fcs) if last else rng.randrange(2)}


def on_wire(frames, rng, *, pause=0.0, idle=(1, 6), start=4):
    """``Sent`` of each of ``frames`` (pairs of bytes and whether the FCS is bad), one after the other.

    ``pause``: probability that a word comes a cycle later than it could, again and again; ``idle``: fewest and most cycles between frames.
    """
    out, cycle = [], start
    for frame, bad_fcs in frames:
        cycles = []
        for _ in range(max(1, -(-len(frame) // LANES))):
            while rng.random() < pause:
                cycle += 1
            cycles.append(cycle)
            cycle += 1
        out.append(Sent(bytes(frame), bool(bad_fcs), cycles))
        cycle += rng.randint(*idle)
    return out


def packet(messages, number=1, *, session=b"0000000001", count=None):
    """A MoldUDP64 packet, the payload of a datagram. ``count``: what the header says, when it is not the number of ``messages``."""
    return (mold.HEADER.encode(session=session, sequence=number, count=len(messages) if count is None else count)
            + b"".join(mold.BLOCK.encode(length=len(message)) + message for message in messages))
