"""Files of every kind as events."""
import contextlib
import datetime

import numpy as np

from tickgate.capture import CaptureError, Report, binaryfile, dbn, lobster, open_capture
from tickgate.capture.capture import opener_of
from tickgate.capture.session import date_in_name, date_of, midnight_ns
from tickgate.capture.source import Window

from . import itch

_LATE = 10 ** 18     # ns since 1970 from which on a capture time is believed: 2001


def open_source(path, *, date=None, resync=False):
    """The source of events at ``path``, ``-`` for standard input: ITCH in pcap, pcapng or BinaryFILE, a LOBSTER message file or its pair, or DBN.

    Its kind is told by its content. ``date``: the session's day when the file does not tell it. Raises ``CaptureError``.
    """
    label = "standard input" if path == "-" else str(path)
    opener = opener_of(path)
    with contextlib.closing(Window(label, opener)) as window:
        if dbn.recognises(window.data):
            return DbnSource(label, opener, date, window)
        told = lobster.parts_of(label)
        if told or lobster.recognises(window.data):
            if told and told[4] == "orderbook":
                raise window.error(0, "file", "is the orderbook of a LOBSTER pair: give its message file")
            if not lobster.recognises(window.data):
                line = window.data.split(b"\n")[0][:60].decode("ascii", "replace")
                raise window.error(0, "file", f"is named as a LOBSTER message file, but has not its six columns ({line!r})")
            return LobsterSource(label, opener, date, window)
    return ItchSource(path, date, resync)


def events(path, **options):
    """Yield the events of a file, arrays of ``tickgate.spec.events.EVENT``, in constant memory. ``path`` and options as ``open_source``.

    Raises ``CaptureError`` or ``InputError`` at the first bytes that make no sense.
    """
    yield from open_source(path, **options).events()


class Source:
    """A file of events. ``label``, ``kind``, ``size`` in stored bytes (0: not known), ``position``: how far reading is; ``date``: the session's day, or None;
    ``names``: symbols by locate; ``messages``: read so far. ``events()`` yields arrays of ``EVENT``; then ``notes`` has a line for everything a reader of
    the results should know, and ``whole`` is False when something is missing. ``knows_orders``: every event has its side and price.
    ``trade_sides``: the side of a P says something. ``dataset``: Databento's name of the feed."""

    knows_orders = trade_sides = True
    dataset = "XNAS.ITCH"

    def __init__(self, label, kind, date):
        self.label, self.kind, self.date, self.names = label, kind, date or date_in_name(label.rpartition("/")[2]), {}
        self.position, self.size, self.messages, self.notes, self.whole = 0, 0, 0, [], True

    @property
    def midnight_ns(self):
        """ns since 1970 of the session's midnight; 0 when the day is not known."""
        return midnight_ns(self.date)


class ItchSource(Source):
    """ITCH messages; ``pieces()`` yields them as ``tickgate.capture.messages.Piece``."""

    knows_orders = trade_sides = False

    def __init__(self, path, date, resync):
        from tickgate.capture.messages import Input

        self.input = Input(str(path), resync)
        super().__init__(self.input.label, self.input.kind, date)
        self.size = self.input.size
        self._version = None
        if self.date is None and self.kind != binaryfile.KIND:
            first = next(open_capture(self.label, opener=opener_of(str(path))).frames(), None)
            if first is not None and first.time_ns[0] > _LATE:
                self.date = date_of(int(first.time_ns[0]))

    def pieces(self):
        for piece in self.input.pieces():
            self.position, self.messages = self.input.position, self.input.messages
            self._learn()
            yield piece
        self.notes, self.whole = self.input.notes, self.input.whole

    def _learn(self):
        names = self.input.names
        if names.version != self._version:
            self._version = names.version
            self.names.update((k, names.name[k].decode()) for k in np.flatnonzero(names.known).tolist() if k not in self.names)

    def events(self):
        for piece in self.pieces():
            yield itch.decode(piece)


class _FileSource(Source):
    def __init__(self, label, kind, opener, date, window):
        super().__init__(label, kind, date)
        self._opener, self.size = opener, window.size or 0
        self.report = Report(kind, window.compressed)

    def events(self):
        with contextlib.closing(Window(self.label, self._opener)) as window:
            for some in self._read(window):
                self.position, self.messages = window.position, self.report.messages
                yield some
            self.report.compressed_cut = window.cut
        self.notes += self.report.warnings()
        self.whole = not (self.report.compressed_cut or self.report.tail_bytes)


class LobsterSource(_FileSource):
    """The message file of a LOBSTER pair; ``books()`` yields the rows of the other."""

    def __init__(self, label, opener, date, window):
        told = lobster.parts_of(label)
        super().__init__(label, lobster.KIND, opener, date or (told and _day(told[1])), window)
        self.names[lobster.LOCATE] = told[0] if told else ""
        self.levels = told[5] if told else 0

    def _read(self, window):
        return lobster.read(window, self.report)

    def books(self):
        """Yield int64[rows, 4 · levels], a row for each message, see ``lobster.read_books``. Raises ``CaptureError``."""
        path = lobster.book_path(self.label)
        if not self.levels:
            raise CaptureError(self.label, 0, "file", "its name does not tell the levels of its orderbook")
        with contextlib.closing(Window(path, opener_of(path))) as window:
            yield from lobster.read_books(window, Report(self.kind), self.levels)


class DbnSource(_FileSource):
    """DBN with market by order records."""

    def __init__(self, label, opener, date, window):
        super().__init__(label, dbn.KIND, opener, date, window)
        metadata, _ = dbn.check(window)
        self.names.update(dbn.symbols_of(metadata))
        self.dataset = metadata.dataset

    def _read(self, window):
        for some, date in dbn.read(window, self.report, self.date):
            self.date = date
            yield some


def _day(text):
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        return None
