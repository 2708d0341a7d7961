"""feed/itch: message → event."""
from tickgate.spec import itch50
from tickgate.spec.registers import FEED

from .binary import counters, reader

_TYPE_LOCATE = reader(itch50.BY_CODE[b"A"], "#type", "stock_locate")   # the same in every type
COMMON_SIZE = itch50.BY_CODE[b"A"]["timestamp"].end

_SIZE = {m.code[0]: m.size for m in itch50.MESSAGES}
_EFFECT = frozenset(code[0] for code in itch50.NEEDED)
_MARKET_WIDE = frozenset(itch50.MARKET_WIDE)
_BOOK = frozenset(itch50.BOOK_TYPES)

MARKET = -1      # in place of a slot: the message concerns the whole market
TOO_SHORT = -2   # in place of a slot: a book message that was too short to be used


class Feed:
    """Filter by length, type and symbol. ``locates``: slot by stock locate."""

    def __init__(self, locates):
        self.locates = dict(locates)
        self.counters = counters(FEED)
        self.type_count = [0] * 256   # messages of 11 bytes and more, by type byte

    def event(self, frame, at, length):
        """What the message ``frame[at:at + length]`` concerns: type byte and slot (``MARKET``, ``TOO_SHORT``), or ``None`` when it has no effect.

        The common bytes are there even when the frame was cut: moldudp64 judges a block with the next word.
        """
        if length < COMMON_SIZE:
            if not length:
                self.counters["empty"] += 1
                return None
            self.counters["short"] += 1
            return (frame[at], TOO_SHORT) if frame[at] in _BOOK else None
        code, locate = _TYPE_LOCATE.unpack_from(frame, at)
        self.type_count[code] += 1
        size = _SIZE.get(code)
        if size is None:
            self.counters["unknown"] += 1
            return None
        if length != size:
            if length < size:
                self.counters["short"] += 1
                return (code, TOO_SHORT) if code in _BOOK else None
            self.counters["longer"] += 1
        if code not in _EFFECT:
            return None
        if code in _MARKET_WIDE:
            return code, MARKET
        slot = self.locates.get(locate)
        if slot is None:
            self.counters["other"] += 1
            return None
        return code, slot
