"""book/publish: records, the running digest, and where in the frames each record comes from."""
import struct
import zlib
from array import array
from operator import itemgetter

import numpy as np

from tickgate.spec import records as rec
from tickgate.spec.clocks import ns_of_cycle
from tickgate.spec.commands import HOST
from tickgate.spec.records import ASK, ASK_UNKNOWN, BID, BID_UNKNOWN, CROSSED, SELL, STALE, VALID

from .binary import writer

_TOP_OF_BOOK, _TRADE, _GAP, _STATUS = (writer(rec.RECORDS[name]) for name in ("top_of_book", "trade", "gap", "status"))
_DIGEST = struct.Struct("<I")
_DIGEST_AT = rec.COMMON["digest"].offset
_hashed = itemgetter(*rec.DIGEST_BYTES)
_CLIP = 0xFFFFFFFF

#: Where a record comes from. ``frame_index``: frames since the start; byte offsets count from the start of the frame.
#: ``message_offset`` is -1 and ``message_length`` 0 for gaps that no message caused. ``wire_offset``: the byte whose word gives ``t_wire_ns``.
ORIGIN = np.dtype([("frame_index", "i8"), ("message_offset", "i8"), ("message_length", "i8"), ("wire_offset", "i8")])


class Publisher:
    """Collects records. ``lanes``: bytes a word; ``clock``: ns of a cycle."""

    def __init__(self, lanes, clock=ns_of_cycle):
        self.lanes, self.clock = lanes, clock
        self.sequence = 0
        self.frame_index = -1
        self._rows, self._origins = bytearray(), array("q")
        self._last_origins = np.zeros(0, ORIGIN)

    def begin_frame(self, cycles):
        """The next frame comes. ``cycles``: cycle of each of its words, or of the first when they come one after the other; ``None``: not known."""
        self.frame_index += 1
        self._cycles = cycles

    def begin_datagram(self, source):
        """What follows is from a datagram that this filter took, and from no message yet."""
        self._source = source
        self._message = (-1, 0)

    def begin_message(self, number, at, length):
        """What follows is from this message."""
        self._number = number & rec.NUMBER_MASK
        self._message = (at, length)

    def begin_command(self, number, cycle):
        """What follows is from a command of the host, told in this cycle (``None``: not known)."""
        self._cycles, self._source = cycle, HOST
        self.begin_message(number, -1, 0)

    def top_of_book(self, slot, code, outcome, tops, phase, wire):
        """After a book message of type ``code``; ``tops``: of both sides. Brings the slot's digest up to date."""
        (bid, bid_unknown), (ask, ask_unknown) = tops
        flags = SELL if outcome.sell else 0
        bid_px = bid_qty = ask_px = ask_qty = 0
        if bid:
            flags |= BID
            bid_px, bid_qty = bid.price, min(bid.quantity, _CLIP)
        if ask:
            flags |= ASK
            ask_px, ask_qty = ask.price, min(ask.quantity, _CLIP)
            if bid and bid_px >= ask_px:
                flags |= CROSSED
        if bid_unknown:
            flags |= BID_UNKNOWN
        if ask_unknown:
            flags |= ASK_UNKNOWN
        if slot.stale:
            flags |= STALE
        elif not (bid_unknown or ask_unknown):
            flags |= VALID
        row = _TOP_OF_BOOK.pack(rec.TOP_OF_BOOK, flags, slot.number, self._source, code, slot.state(phase), outcome.fault, self.sequence,
                                self._wire_ns(wire), 0, bid_px, bid_qty, ask_px, ask_qty, outcome.price, outcome.quantity, 0, self._number)
        slot.digest = zlib.crc32(bytes(_hashed(row)), slot.digest)
        self._append(row, wire)
        _DIGEST.pack_into(self._rows, len(self._rows) - rec.SIZE + _DIGEST_AT, slot.digest)

    def trade(self, slot, code, sell, detail, quantity, price, phase, wire):
        """P, C or Q; ``detail`` one byte as a number."""
        flags = SELL * sell | STALE * slot.stale
        self._append(_TRADE.pack(rec.TRADE, flags, slot.number, self._source, code, slot.state(phase), detail, self.sequence,
                                 self._wire_ns(wire), 0, quantity, price, b"", slot.digest, self._number), wire)

    def status(self, slot, code, detail, phase, wire):
        """H Y h of a slot, or S W: ``slot`` is ``None``."""
        if slot is None:
            number, state, digest, stale = rec.NO_SLOT, rec.state_of(0, 0, phase), 0, False
        else:
            number, state, digest, stale = slot.number, slot.state(phase), slot.digest, slot.stale
        self._append(_STATUS.pack(rec.STATUS, STALE * stale, number, self._source, code, state, detail, self.sequence,
                                  self._wire_ns(wire), 0, b"", digest, self._number), wire)

    def gap(self, reason, code, first, count, phase, wire):
        """Messages may be lost; ``reason`` one byte as a number, ``code`` the type of the message that caused it, or 0."""
        self._append(_GAP.pack(rec.GAP, STALE, rec.NO_SLOT, self._source, code, rec.state_of(0, 0, phase), reason, self.sequence,
                               self._wire_ns(wire), 0, first, count, b"", 0, first & rec.NUMBER_MASK), wire)

    def _wire_ns(self, wire):
        if self._cycles is None:
            return 0
        word = wire // self.lanes
        return self.clock(self._cycles + word if isinstance(self._cycles, int) else int(self._cycles[word]))

    def _append(self, row, wire):
        self.sequence += 1
        self._rows += row
        self._origins.extend((self.frame_index, *self._message, wire))

    def take(self):
        """Rows of ``records.COMMON.dtype`` since the last call."""
        rows = np.frombuffer(bytes(self._rows), rec.COMMON.dtype)
        self._last_origins = np.frombuffer(self._origins.tobytes(), ORIGIN)
        self._rows, self._origins = bytearray(), array("q")
        return rows

    def origins(self):
        """Rows of ``ORIGIN`` for what ``take`` returned last."""
        return self._last_origins
