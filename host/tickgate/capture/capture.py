"""Open a capture of any kind and stream its frames."""
import contextlib
import os
import stat
import sys
import weakref

from . import binaryfile, pcap, pcapng
from .decode import Decoder
from .errors import CaptureError
from .frames import Report
from .packing import NASDAQ
from .source import Stream, Window

#: In the order in which they are asked whether the first bytes are theirs.
READERS = (pcap, pcapng, binaryfile)

#: Standard input is the same stream for all who open it.
_STREAMS = weakref.WeakKeyDictionary()


def open_capture(path, *, packing=NASDAQ, opener=None, resync=False):
    """The capture at ``path``; its kind is told by its content. Raises ``CaptureError`` when it is none.

    ``path`` may be ``-`` for standard input, which can be read once. ``packing`` says how BinaryFILE messages are packed into frames.
    ``resync``: bytes of a BinaryFILE that are no message are passed over and counted in its report, instead of an error. ``opener`` is for files
    that are not on disk: it returns a fresh seekable binary file each time.
    """
    return Capture(path, packing, opener or opener_of(path), resync)


def opener_of(path):
    """What opens the file at ``path`` from its beginning, see ``open_capture``. Raises ``CaptureError`` when there is nothing to read."""
    if path == "-":
        return _STREAMS.setdefault(sys.stdin.buffer, Stream(sys.stdin.buffer)).open
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError) as error:
        raise CaptureError(path, 0, "file", getattr(error, "strerror", None) or str(error)) from None
    if not stat.S_ISREG(mode):
        raise CaptureError(path, 0, "file", "is a directory" if stat.S_ISDIR(mode) else "is not a regular file")
    return lambda: open(path, "rb")


class Capture:
    """A capture: ``kind``, stored ``size`` in bytes (None: a stream), and ``frames()``.

    ``report`` tells what the last iteration found, ``position`` how far it is.
    """

    def __init__(self, path, packing, opener, resync=False):
        self.path, self.packing, self._opener, self._resync = path, packing, opener, resync
        with contextlib.closing(Window(path, opener)) as window:
            if not window.data:
                raise window.error(0, "file", "is empty" if not window.compressed else "the compressed stream holds nothing")
            self._reader = next((r for r in READERS if r.recognises(window.data)), None)
            if self._reader is None:
                raise window.error(0, "file", binaryfile.why_not(window.data) or
                                   f"not a capture: neither pcap, pcapng nor BinaryFILE ITCH begins with {window.data[:16].hex(' ')}")
            self._reader.check(window)
            self.compressed, self.size = window.compressed, window.size
        self.kind, self.position, self.report = self._reader.KIND, 0, Report(self._reader.KIND, self.compressed)

    def frames(self, limit=None):
        """Yield ``FrameBatch`` after ``FrameBatch``, from the beginning at each call.

        ``limit`` is a number of ITCH messages: a BinaryFILE gives exactly as many; pcap and pcapng end with the frame that reaches it,
        where numbers seen before and datagrams that are no ITCH do not count. Raises ``CaptureError`` at the first bytes that make no sense.
        """
        if limit is not None and limit < 0:
            raise ValueError(f"limit must not be negative, not {limit}")
        self.position, self.report = 0, Report(self.kind, self.compressed)
        if limit == 0:
            return
        with contextlib.closing(Window(self.path, self._opener)) as window:
            packs = self._reader is binaryfile
            batches = (binaryfile.read(window, self.report, self.packing, limit, self._resync) if packs
                       else self._reader.read(window, self.report))
            for batch in batches if packs or limit is None else _until(batches, limit):
                self.position = window.position
                self.report.frames += len(batch)
                yield batch
            self.report.compressed_cut, self.position = window.cut, window.position


def _until(batches, limit):
    decoder = Decoder()
    for batch in batches:
        frame = decoder.messages(batch).frame
        if len(frame) >= limit:
            yield batch[:int(frame[limit - 1]) + 1]
            return
        limit -= len(frame)
        yield batch
