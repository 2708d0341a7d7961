"""The messages of a file, piece after piece, whatever kind of capture it is and in constant memory."""
import contextlib
import glob
import os
from dataclasses import dataclass, replace

import numpy as np

from ..spec import itch50, moldudp64
from . import binaryfile as files
from . import kernels
from .capture import open_capture, opener_of
from .decode import no_itch
from .errors import InputError
from .frames import Report
from .lines import Lines
from .source import Window

VIEW = 1 << 22           # bytes that are indexed at once
STDIN = "-"
HOUR = 3600 * 10 ** 9
LOCATES = 1 << 16
_PREFIX = moldudp64.BLOCK.size
_AHEAD = files.LOOK * (_PREFIX + 0xFFFF)      # what a verdict about an odd message may need to see
_R = itch50.BY_CODE[b"R"]
_NAMED = tuple(m for m in itch50.MESSAGES if "stock" in m.field and m is not _R)


@dataclass(frozen=True)
class Piece:
    """Messages that follow one another without a hole. ``data``: their blocks (length, message), nothing between them; for each message ``at`` its block in
    ``data``, ``size`` without the length, ``kind`` its type byte, ``locate``, ``time`` in ns since midnight. ``first``: number of the first.
    ``gap``: messages that are missing before it (-1: nobody knows how many). ``parts``: the packets that brought it (pcap, pcapng), else empty."""

    data: np.ndarray
    at: np.ndarray
    size: np.ndarray
    kind: np.ndarray
    locate: np.ndarray
    time: np.ndarray
    first: int
    gap: int = 0
    parts: tuple = ()

    def __len__(self):
        return len(self.at)

    def blocks(self, which=None):
        """The blocks of all messages, or of those that ``which`` (bool[n]) names, as uint8."""
        if which is None:
            return self.data
        at, size = self.at[which], self.size[which]
        out = np.empty(int(size.sum()) + _PREFIX * len(at), np.uint8)
        kernels.gather(self.data, at, size, out)
        return out

    def only(self, which):
        """The entries that ``which`` (bool[n]) names; ``data`` stays whole."""
        return replace(self, at=self.at[which], size=self.size[which], kind=self.kind[which], locate=self.locate[which], time=self.time[which])

    def cut(self, n):
        """The first ``n`` messages."""
        end = int(self.at[n]) if n < len(self) else len(self.data)
        return Piece(self.data[:end], *(x[:n] for x in (self.at, self.size, self.kind, self.locate, self.time)), self.first, self.gap, self.parts)


class Names:
    """Symbols by locate, as messages tell them: R, for want of one any other message that has a stock. ``lot``: round lot in shares, 0 unknown."""

    def __init__(self):
        self.name, self.lot = np.zeros(LOCATES, "S8"), np.zeros(LOCATES, np.int64)
        self.known, self.listed = np.zeros(LOCATES, bool), np.zeros(LOCATES, bool)
        self.version = 0      # grows with what is known

    def learn(self, piece):
        """Take what a piece tells. Raises ``InputError`` when a locate gets another symbol: another day begins."""
        for k in np.flatnonzero((piece.kind == _R.code[0]) & (piece.size >= _R.size)).tolist():
            at, locate = int(piece.at[k]) + _PREFIX, int(piece.locate[k])
            name = _text(piece.data, at, _R["stock"])
            if self.listed[locate] and self.name[locate] != name:
                raise InputError(f"locate {locate} was {self.name[locate].decode()} and becomes {name.decode()}: two days in one stream")
            lot = _R["round_lot_size"]
            self.name[locate], self.lot[locate] = name, int.from_bytes(piece.data[at + lot.offset:at + lot.end].tobytes(), "big")
            self.known[locate] = self.listed[locate] = True
            self.version += 1
        if not self.known[piece.locate].all():
            for message in _NAMED:
                new = np.flatnonzero((piece.kind == message.code[0]) & (piece.size >= message.size) & ~self.known[piece.locate])
                for locate, k in zip(*np.unique(piece.locate[new], return_index=True)):
                    if locate:
                        self.name[locate] = _text(piece.data, int(piece.at[new[k]]) + _PREFIX, message["stock"])
                        self.known[locate] = True
                        self.version += 1


def _text(data, at, field):
    """A symbol: printable, and nothing that would break a CSV line."""
    raw = data[at + field.offset:at + field.end].tobytes().rstrip(b" \0")
    return bytes(c if 0x20 < c < 0x7F and c not in b',"' else ord("?") for c in raw)


def expand(patterns):
    """Paths of all patterns, ``-`` being standard input. Raises ``InputError`` for a pattern that nothing matches."""
    paths = []
    for pattern in patterns:
        found = [pattern]
        if pattern != STDIN and not os.path.exists(pattern) and glob.has_magic(pattern):
            found = sorted(glob.glob(pattern, recursive=True))
            if not found:
                raise InputError("no file matches", pattern)
        paths += found
    if paths.count(STDIN) > 1:
        raise InputError("standard input (-) is named twice")
    return paths


class Input:
    """One file, or standard input (``-``). ``kind`` as ``Capture.kind``, ``size`` in stored bytes (0: not known), ``position`` how far reading is.

    ``pieces()`` reads it. Then ``messages`` were read; ``notes`` has a line for everything a reader of the results should know, ``whole`` is False when
    something is missing: the end, or messages in between. ``names`` are the symbols so far.
    """

    def __init__(self, path, resync=False):
        self.path, self.resync, self.names = path, resync, Names()
        self.label = "standard input" if path == STDIN else path
        self._opener = opener_of(path)
        self._capture = open_capture(self.label, opener=self._opener)
        self.kind, self.size = self._capture.kind, self._capture.size or 0
        self.position, self.messages, self.notes, self.whole, self.report = 0, 0, [], True, Report(self.kind)
        self.lines = None if self.kind == files.KIND else Lines()

    def pieces(self):
        """Yield ``Piece`` after ``Piece``. Raises ``CaptureError`` where the bytes make no sense (without ``resync``), ``InputError`` for two days in one."""
        last = 0
        for piece in self._file() if self.lines is None else self._packets():
            if len(piece):
                time = np.concatenate(([last], piece.time))
                back = np.flatnonzero(np.diff(time) < -HOUR)
                if len(back):
                    k = int(back[0])
                    raise InputError(f"message {piece.first + k}: time goes back from {clock(time[k])} to {clock(time[k + 1])}: two days in one stream",
                                     self.label)
                last = int(piece.time[-1])
            self.messages += len(piece)
            self.names.learn(piece)
            yield piece

    # ---- BinaryFILE

    def _file(self):
        with contextlib.closing(Window(self.label, self._opener)) as window:
            now, trust, gap, first = 0, 0, 0, moldudp64.FIRST_SEQUENCE
            window.advance(0, VIEW)
            while True:
                data = np.frombuffer(window.data, np.uint8)
                room = len(data) // 12 + 1
                at, size, time = (np.empty(room, np.int64) for _ in range(3))
                kind, locate = np.empty(room, np.uint8), np.empty(room, np.uint16)
                n, after, why, now = kernels.walk(data, 0, trust, at, size, kind, locate, time, now)
                wrong = None
                if why == kernels.ODD:
                    if len(data) - after < _AHEAD and not window.eof:     # its verdict needs what comes next
                        why = kernels.END
                    else:
                        wrong = files.wrong_at(window.data, after)
                self.position = window.position
                yield Piece(data[:after], at[:n], size[:n], kind[:n], locate[:n], time[:n], first, gap)
                first, gap, trust = first + n, 0, 0
                if wrong or why == kernels.ZERO:
                    error = files.no_message(window, after, wrong) if wrong else None
                    if not files.goes_on(window, self.report, after, why == kernels.ZERO, error, self.resync):
                        break
                    gap = -1
                    if len(window.data) < VIEW and not window.eof:
                        window.advance(0, VIEW)
                elif why != kernels.END:
                    trust = 1 if why == kernels.ODD else 0
                    window.start, window.data = window.start + after, window.data[after:]
                elif window.eof:
                    self._tail(window, after)
                    break
                else:
                    window.advance(after, VIEW)
            self.report.compressed_cut = window.cut
            self.notes += self.report.warnings()
            self.whole = not (window.cut or self.report.tail_bytes or self.report.resyncs)

    def _tail(self, window, after):
        left = len(window.data) - after
        if left == _PREFIX and not any(window.data[after:]):
            self.report.end_of_session = True
        elif left:
            self.report.tail_bytes, self.report.tail_offset = left, window.start + after

    # ---- pcap, pcapng

    def _packets(self):
        parts, lines, told = [], self.lines, False
        for batch in self._capture.frames():
            for part in lines.take(batch):
                if parts and (part.gap or part.first != parts[-1].first + parts[-1].count):
                    yield self._piece(parts)
                    parts = []
                parts.append(part)
            self.position = self._capture.position
            if parts:
                yield self._piece(parts)
                parts, told = [], True
        for part in lines.finish():
            yield self._piece([part])
            told = True
        report = self._capture.report
        self.notes += report.warnings()
        self.whole = not (report.compressed_cut or report.tail_bytes or report.snapped)
        if not told:
            raise no_itch(self.label, report.frames, lines.skipped)
        if lines.missing:
            self.whole = False
            self.notes.append(f"messages are missing: {lines.missing} in {lines.gaps} gap{'s' * (lines.gaps > 1)}; books are stale from there on")

    def _piece(self, parts):
        data = np.frombuffer(b"".join(part.blocks for part in parts), np.uint8)
        n = sum(part.count for part in parts)
        at, size, time = (np.empty(n, np.int64) for _ in range(3))
        kind, locate = np.empty(n, np.uint8), np.empty(n, np.uint16)
        found, after, _, _ = kernels.walk(data, 0, len(data), at, size, kind, locate, time, 0)
        if found != n or after != len(data):
            raise AssertionError(f"{found} messages of {n} found in the blocks of {len(parts)} packets")
        return Piece(data, at, size, kind, locate, time, parts[0].first, parts[0].gap, tuple(parts))


def clock(ns):
    """ns since midnight as HH:MM:SS.fffffffff."""
    seconds, rest = divmod(int(ns), 10 ** 9)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{rest:09}"
