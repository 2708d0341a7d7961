"""Bytes of a file, compressed or not, through a window that moves forward: memory stays the same however long the file is."""
import gzip
import os
import zlib

from .errors import CaptureError

CHUNK = 1 << 18
GZIP_MAGIC = b"\x1f\x8b"


class Window:
    """``data`` is what is in view of the file, ``start`` its offset; ``eof`` when nothing follows, ``cut`` when compressed bytes ended early.

    ``opener`` returns the file, open for reading bytes from its beginning. Errors of the system and of the compression become ``CaptureError``.
    """

    def __init__(self, path, opener):
        self.path, self.data, self.start, self.eof, self.cut = path, b"", 0, False, False
        try:
            self._file = opener()
        except OSError as error:
            raise self.error(0, "file", error.strerror or str(error)) from None
        try:
            self.compressed = self._file.read(2) == GZIP_MAGIC
            self._file.seek(0)
            self._read = gzip.GzipFile(fileobj=self._file).read1 if self.compressed else self._file.read
            self.advance(0)
        except OSError as error:
            self.close()
            raise self.error(0, "file", error.strerror or str(error)) from None
        except BaseException:
            self.close()
            raise

    def advance(self, used, need=0):
        """Drop ``used`` bytes from the front; read on by a chunk, or by more when ``need`` bytes are to be in view."""
        self.start += used
        parts = [self.data[used:]]
        missing = max(CHUNK, need - len(parts[0]))
        while missing > 0 and not self.eof:
            part = self._more(missing)
            missing -= len(part)
            parts.append(part)
            self.eof = not part
        self.data = b"".join(parts)

    def _more(self, size):
        try:
            return self._read(size)
        except EOFError:
            self.cut = True
            return b""
        except (OSError, zlib.error) as error:
            cause = (getattr(error, "strerror", None) or str(error)).splitlines()[0]
            raise self.error(0, "compressed stream" if self.compressed else "file", f"after {self.start + len(self.data)} bytes: {cause}") from None

    @property
    def size(self):
        """Bytes of the file as it is stored."""
        here = self._file.tell()
        size = self._file.seek(0, os.SEEK_END)
        self._file.seek(here)
        return size

    @property
    def position(self):
        """Bytes of the file, as it is stored, that have been read."""
        return self._file.tell()

    def error(self, at, field, cause):
        """A ``CaptureError`` about the byte ``at`` of the window."""
        return CaptureError(self.path, self.start + at, field, cause)

    def close(self):
        self._file.close()
