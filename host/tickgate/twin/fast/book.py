"""``Book``: every order book of a day, from the bytes of its ITCH messages."""
import json
import os
import zipfile
from pathlib import Path

import numpy as np

from tickgate.spec import itch50
from tickgate.spec import records as rec
from tickgate.spec.moldudp64 import BLOCK

from . import engine
from .layout import (
    BATCH,
    COUNTS,
    DEPTH,
    EVENT,
    LEVEL,
    LOCATES,
    LOOKED,
    ORDER,
    QUEUED,
    SIDE,
    SMALLEST_BLOCK,
    STAGES,
    SYMBOL,
    TRADE,
    VECTOR,
    row_dtype,
)
from .memory import Output, empty, grown, zeros
from .orders import rehash

PREFIX = BLOCK.size
ROWS = {None: 0, "changes": engine.CHANGES, "every": engine.EVERY}
_BOOK_SIZE = PREFIX + min(itch50.BY_CODE[bytes([code])].size for code in itch50.BOOK_TYPES)
_TRADE_SIZE = PREFIX + min(itch50.BY_CODE[code].size for code in (b"E", b"C", b"P", b"Q"))
_EVENT_SIZE = PREFIX + min(itch50.BY_CODE[code].size for code in itch50.STATUS_CODES)
_NAME = itch50.BY_CODE[b"R"]["stock"].size
_FEW = 1024          # orders and levels to begin with
_FORMAT = 2          # of saved books
_KEPT = ("counts", "types", "faults", "free_blocks", "symbols", "names", "wanted", "sides", "index")   # whole; of the others what is used


class StreamError(ValueError):
    """The stream cannot be right. ``str()`` is one line; ``offset``: bytes since the first one that was fed; ``rows``: those of what came before."""

    def __init__(self, offset, field, cause):
        super().__init__(offset, field, cause)
        self.offset, self.field, self.cause, self.rows = offset, field, cause, None

    def __str__(self):
        return f"offset {self.offset}: {self.field}: {self.cause}"


class Book:
    """The order books of all symbols of a day, or of some, from a stream of ITCH 5.0 messages as in a BinaryFILE::

        book = Book()
        rows = book.feed(open(path, "rb").read())
        book["AAPL"].bids

    ``symbols``: names or locates to follow (default: all). ``rows``: what ``feed`` returns, ``"changes"``: a row after each message that changes the
    price or quantity of a symbol's best bid or offer, ``"every"``: after every book message, ``None``: nothing. ``depth``: levels a side in each row.
    ``digest``: keep each symbol's digest. ``trades``, ``events``: collect those too. ``queues``: keep the queue of each level (L3); without, orders
    are known but not their place (L2), which is faster. ``strict``: stop at what is no message; else docs/path.md says what becomes of it.

    Rows do not depend on the pieces the stream comes in. What a message does is docs/path.md's: faults are counted, make their symbol stale and never
    spoil a book. Memory follows the live orders. Raises ``ValueError`` for options that are none.
    """

    def __init__(self, *, symbols=None, rows="changes", depth=0, digest=False, queues=True, trades=False, events=False, strict=True):
        if rows not in ROWS:
            raise ValueError(f"rows must be one of {', '.join(map(repr, ROWS))}, not {rows!r}")
        if not 0 <= depth <= 1000:
            raise ValueError(f"depth must be 0 to 1000 levels, not {depth}")
        names, locates = _symbols(symbols)
        self.depth = depth
        self._options = (ROWS[rows] | engine.QUEUES * bool(queues) | engine.DIGEST * bool(digest) | engine.TRADES * bool(trades)
                         | engine.EVENTS * bool(events) | engine.STRICT * bool(strict))
        self._state = engine.State(
            counts=zeros(1, COUNTS), types=zeros(256, "u8"), faults=zeros(len(rec.FAULTS), "u8"), free_blocks=zeros(64, "u8"),
            symbols=zeros(LOCATES, SYMBOL), names=zeros(LOCATES, "u8"), wanted=np.array(names, "u8"), sides=zeros(2 * LOCATES, SIDE),
            orders=zeros(_FEW, ORDER), index=zeros(4 * _FEW, "u8"), levels=zeros(_FEW, LEVEL), arena=empty(64 * SMALLEST_BLOCK, "u8"))
        counts = self._state.counts[0]
        counts["order_end"], counts["level_end"], counts["arena_end"] = 1, 1, VECTOR     # nobody is there
        self._state.symbols["tracked"][slice(None) if symbols is None else np.array(locates, np.int64)] = 1
        self._begin(b"", 0, False)

    def _begin(self, tail, offset, ended):
        """What is not in the engine's arrays: bytes of a message that is not whole yet, bytes before them, whether the session is over."""
        self._tail, self._offset, self.ended = bytearray(tail), offset, ended
        self._looked = zeros(BATCH * STAGES, LOOKED)
        has = self._options.__and__
        self._rows = Output(row_dtype(self.depth), _BOOK_SIZE if has(engine.CHANGES | engine.EVERY) else None, BATCH)
        self._trades = Output(TRADE, _TRADE_SIZE if has(engine.TRADES) else None, BATCH)
        self._events = Output(EVENT, _EVENT_SIZE if has(engine.EVENTS) else None, BATCH)
        self.trades, self.events = self._trades.take(), self._events.take()

    # ---- the stream

    def feed(self, data):
        """Apply the next bytes of the stream, any number of them; returns the rows (``layout.ROW``, with ``depth`` ``bids`` and ``asks`` too).

        ``trades`` and ``events`` are then those of these bytes. Raises ``StreamError`` where they cannot be right: what came before is applied, and its
        rows are in the error. The next call is to begin with a message.
        """
        raw = np.frombuffer(data, np.uint8)
        error = None
        try:
            self._feed(raw)
        except StreamError as wrong:
            error = wrong
        rows, self.trades, self.events = self._rows.take(), self._trades.take(), self._events.take()
        if error is not None:
            self._tail, error.rows = bytearray(), rows
            raise error
        return rows

    def skip(self, size):
        """Leave out the next ``size`` bytes of the stream, which are not fed. Messages may be lost: every symbol goes stale. The next call of ``feed``
        is to begin with a message."""
        self._offset += len(self._tail) + size
        self._tail = bytearray()
        self._state.counts["all_stale"] = 1

    def _feed(self, raw):
        used = 0
        while self._tail and used < raw.size:     # first the message that began in an earlier piece
            more = self._missing()
            self._tail += raw[used:used + more].tobytes()
            used = min(used + more, raw.size)
            if not self._missing():
                message, self._tail = self._tail, bytearray()
                self._apply(np.frombuffer(message, np.uint8))
        if not self.ended:
            used += self._apply(raw[used:])
        if not self.ended:
            self._tail += raw[used:].tobytes()
        elif raw[used:].any():
            self._offset += int(np.argmax(raw[used:] != 0))
            raise StreamError(self._offset, "message length", "a length of 0 ended the session before, but more follows here")
        else:
            self._offset += raw.size - used

    def _missing(self):
        """Bytes that the length, or else the message, in ``_tail`` lacks."""
        has = len(self._tail)
        return PREFIX - has if has < PREFIX else PREFIX + int.from_bytes(self._tail[:PREFIX], "big") - has

    def _apply(self, raw):
        """Run the engine over whole messages; returns the bytes it used."""
        if not raw.size:
            return 0
        begin = at = raw.ctypes.data
        end = begin + raw.size
        reason = engine.ROOM
        while reason in (engine.ROOM, engine.LADDER):
            outputs = (self._rows, self._trades, self._events)
            rooms = [number for output in outputs for number in output.reserve(end - at)]
            at, reason = engine.run(self._state, np.uint64(at), np.uint64(end), self._options, self.depth, self._looked, *map(np.uint64, rooms))
            at = int(at)
            counts = self._state.counts[0]
            for output, name in zip(outputs, ("rows", "trades", "events")):
                output.wrote(counts[name])
            self._make_room(reason)
        used = at - begin
        self._offset += used
        if reason == engine.BAD:
            raise self._bad(raw[used:])
        if reason == engine.END:
            self.ended = True
            self._offset += PREFIX
            used += PREFIX
        return used

    def _bad(self, raw):
        """What is wrong with the message at the start of ``raw``."""
        length, code = int.from_bytes(raw[:PREFIX].tobytes(), "big"), raw[PREFIX:PREFIX + 1].tobytes()
        layout = itch50.BY_CODE.get(code)
        why = (f"{length} bytes is too short for type {ascii(code.decode('latin-1'))}, which has {layout.size}" if layout and length < layout.size
               else f"{length} bytes is more than any message has")
        return StreamError(self._offset, "message length", f"{why} (bytes {raw[:32].tobytes().hex(' ')})")

    def _make_room(self, reason):
        """Larger arrays, where the engine came back for one."""
        state, counts = self._state, self._state.counts[0]
        if reason == engine.LADDER:
            self._state = state._replace(arena=grown(state.arena, int(counts["arena_end"]), 2 * state.arena.size))
        elif reason == engine.ROOM:
            orders, levels = int(counts["orders"]) + BATCH, int(counts["levels"]) + BATCH
            if orders >= state.orders.size:
                self._state = self._state._replace(orders=grown(state.orders, int(counts["order_end"]), 2 * state.orders.size))
            if 2 * orders > state.index.size:
                index = zeros(2 * state.index.size, "u8")
                rehash(state.index, index)
                self._state = self._state._replace(index=index)
            if levels >= state.levels.size:
                self._state = self._state._replace(levels=grown(state.levels, int(counts["level_end"]), 2 * state.levels.size))

    # ---- what is known

    @property
    def offset(self):
        """Bytes of the stream that are applied: where the next message begins."""
        return self._offset

    @property
    def pending(self):
        """Bytes that were fed of a message that is not whole yet."""
        return len(self._tail)

    @property
    def messages(self):
        """Messages so far, of every kind."""
        return int(self._state.counts[0]["number"])

    @property
    def types(self):
        """Messages by type, those that came: ``{"A": 2, …}``."""
        return {chr(code): int(n) for code, n in enumerate(self._state.types) if n}

    @property
    def faults(self):
        """Faults of book messages by kind, as in ``tickgate.spec.records.FAULTS``; those of the order table cannot happen here."""
        return {name: int(self._state.faults[code]) for name, (code, _) in rec.FAULTS.items() if code in _POSSIBLE}

    @property
    def counters(self):
        """``updates``: book messages of followed symbols; ``other``: messages of other ones; ``short``, ``longer``, ``unknown``: as in feed/itch."""
        counts = self._state.counts[0]
        return {name: int(counts[name]) for name in ("updates", "other", "short", "longer", "unknown")}

    @property
    def live(self):
        """Orders in all books."""
        return int(self._state.counts[0]["orders"])

    @property
    def phase(self):
        """The market's phase: the event code of the last S that has one, or ``"none"``."""
        return _key(rec.PHASES, self._state.counts[0]["phase"])

    @property
    def memory(self):
        """Bytes of the arrays that hold the books."""
        return sum(array.nbytes for array in self._state)

    @property
    def symbols(self):
        """Locates by name, of the symbols that a stock directory message named."""
        known = np.flatnonzero(self._state.symbols["known"])
        return {_text(self._state.names[locate]): int(locate) for locate in known}

    def __getitem__(self, symbol):
        """The book of a symbol, by name or locate. Raises ``KeyError`` when no message named it, or when it is not followed."""
        if isinstance(symbol, str):
            found = np.flatnonzero((self._state.names == _number(symbol)) & (self._state.symbols["known"] == 1))
            if not found.size:
                raise KeyError(f"no stock directory message has named {symbol!r} so far")
            locate = int(found[-1])
        else:
            locate = int(symbol)
            if not 0 <= locate < LOCATES:
                raise KeyError(f"locate must be 0 to {LOCATES - 1}, not {locate}")
        if not self._state.symbols["tracked"][locate]:
            raise KeyError(f"{symbol!r} is not followed")
        return SymbolBook(self, locate)

    # ---- files

    def save(self, path):
        """Write the book to a file, from which ``restore`` goes on; the file appears when it is whole."""
        state, counts = self._state, self._state.counts[0]
        arrays = {name: getattr(state, name) for name in _KEPT}
        for name, end in _ENDS.items():
            arrays[name] = getattr(state, name)[:int(counts[end])]
        about = {"format": _FORMAT, "options": self._options, "depth": self.depth, "tail": self._tail.hex(), "offset": self._offset, "ended": self.ended}
        path = Path(path)
        part = path.with_name(path.name + ".part")
        try:
            with open(part, "wb") as file:
                np.savez(file, about=np.frombuffer(json.dumps(about).encode(), np.uint8), **arrays)
            os.replace(part, path)
        finally:
            part.unlink(missing_ok=True)

    @classmethod
    def restore(cls, path):
        """The book that ``save`` wrote. Raises ``ValueError`` with one line when the file is not one."""
        try:
            with np.load(path, allow_pickle=False) as file:
                kept = {name: file[name] for name in file.files}
            about = json.loads(kept.pop("about").tobytes())
            if about["format"] != _FORMAT:
                raise ValueError(f"format {about['format']}, this version reads {_FORMAT}")
            book = cls()
            book._options, book.depth = about["options"], about["depth"]
            arrays = {}
            for name, like in book._state._asdict().items():
                saved = kept[name]
                if saved.dtype != like.dtype or saved.ndim != 1:
                    raise ValueError(f"{name} is of another layout")
                size = saved.size
                if name in _ENDS:     # as it was before: room for some more
                    size = max(like.size, 1 << (saved.size + BATCH).bit_length())
                arrays[name] = zeros(size, like.dtype)
                arrays[name][:saved.size] = saved
            book._state = engine.State(**arrays)
            book._begin(bytes.fromhex(about["tail"]), about["offset"], about["ended"])
        except (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
            cause = error.args[0] if error.args else error
            raise ValueError(f"{path}: not a saved book: {str(cause).splitlines()[0]}") from None
        return book


_ENDS = {"orders": "order_end", "levels": "level_end", "arena": "arena_end"}     # of the arrays that are used up to there
_POSSIBLE = (rec.UNKNOWN_REFERENCE, rec.DUPLICATE_REFERENCE, rec.OVERFILL)


class SymbolBook:
    """One symbol's book as it is now; it stays up to date."""

    def __init__(self, book, locate):
        self._book, self.locate = book, locate

    def __repr__(self):
        return f"<book of {self.name or self.locate}: {len(self.bids)} bids, {len(self.asks)} asks>"

    @property
    def _symbol(self):
        return self._book._state.symbols[self.locate]

    @property
    def name(self):
        """The symbol, ``""`` before its stock directory message."""
        return _text(self._book._state.names[self.locate])

    @property
    def bids(self):
        """All levels, best first: array of ``layout.DEPTH``."""
        return self.depth("B")

    @property
    def asks(self):
        """All levels, best first: array of ``layout.DEPTH``."""
        return self.depth("S")

    def depth(self, side, levels=None):
        """The best ``levels`` of a side (``"B"`` or ``"S"``), all by default; as many as there are: array of ``layout.DEPTH``."""
        found = self._book._state.levels[self._levels(side)[:levels]]
        rows = np.empty(len(found), DEPTH)
        for name in DEPTH.names:
            rows[name] = found[name]
        return rows

    def orders(self, side):
        """Live orders of a side (``"B"`` or ``"S"``), best level first and in each the oldest first: array of ``layout.QUEUED``.

        Raises ``ValueError`` when the book keeps no queues.
        """
        state = self._book._state
        if not self._book._options & engine.QUEUES:
            raise ValueError("this book keeps no queues (queues=False)")
        rows = []
        for level in self._levels(side):
            price, order = int(state.levels[level]["price"]), int(state.levels[level]["first"])
            while order:
                rows.append((state.orders[order]["reference"], price, state.orders[order]["quantity"]))
                order = int(state.orders[order]["after"])
        return np.array(rows, QUEUED)

    def _levels(self, side):
        """Where the levels of a side are, best first."""
        if side not in ("B", "S"):
            raise ValueError(f"side must be 'B' or 'S', not {side!r}")
        state = self._book._state
        kept = state.sides[2 * self.locate + (side == "S")]
        block, count = int(kept["block"]), int(kept["count"])
        return (state.arena[block:block + count] & 0xFFFFFFFF)[::-1]

    @property
    def trading(self):
        """``"unknown"``, ``T``, ``Q``, ``H``, ``P`` or ``operational_halt``, as in ``tickgate.spec.records.TRADING``."""
        return "operational_halt" if self._symbol["halted"] else _key(rec.TRADING, self._symbol["trading"])

    @property
    def reg_sho(self):
        """Reg SHO restriction: ``"0"``, ``"1"`` or ``"2"``."""
        return _key(rec.REG_SHO, self._symbol["reg_sho"])

    @property
    def state(self):
        """The ``state`` byte of ``tickgate.spec.records``."""
        return rec.state_of(rec.TRADING[self.trading], int(self._symbol["reg_sho"]), int(self._book._state.counts[0]["phase"]))

    @property
    def stale(self):
        """Whether the book may differ from the exchange's."""
        return bool(self._symbol["stale"] or self._book._state.counts[0]["all_stale"])

    @property
    def digest(self):
        """CRC-32 over what was published (``tickgate.spec.records.DIGEST_BYTES``); 0 unless the book keeps digests."""
        return int(self._symbol["digest"])


def _key(codes, value):
    return next(name for name, code in codes.items() if code == value)


def _number(name):
    return int.from_bytes(name.encode("ascii").ljust(_NAME), "big")


def _text(number):
    return int(number).to_bytes(_NAME, "big").rstrip(b" \0").decode("ascii", "replace")


def _symbols(symbols):
    """Names as numbers, and locates."""
    names, locates = [], []
    for symbol in () if symbols is None else [symbols] if isinstance(symbols, (str, int)) else symbols:
        if isinstance(symbol, str):
            if not 0 < len(symbol) <= _NAME or not symbol.isascii():
                raise ValueError(f"a symbol has 1 to {_NAME} ASCII characters, not {symbol!r}")
            names.append(_number(symbol))
        else:
            if not 0 <= symbol < LOCATES:
                raise ValueError(f"a locate must be 0 to {LOCATES - 1}, not {symbol}")
            locates.append(int(symbol))
    return names, locates
