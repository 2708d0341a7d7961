"""Bytes of a file, compressed or not, through a window that moves forward: memory stays the same however long the file is."""
import gzip
import io
import os
import zlib

from .errors import CaptureError

try:
    import zstandard as _zstandard
except ImportError:
    _zstandard = None
_ZSTD_ERRORS = (_zstandard.ZstdError,) if _zstandard else ()

CHUNK = 1 << 18
GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
#: What is kept of a stream, so that its kind can be told and it be read from its beginning all the same.
KEPT = 1 << 22


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
            magic = self._file.read(len(ZSTD_MAGIC))
            self.compressed = magic.startswith((GZIP_MAGIC, ZSTD_MAGIC))
            self._file.seek(0)
            if magic.startswith(GZIP_MAGIC):
                self._read = gzip.GzipFile(fileobj=self._file).read1
            elif self.compressed:
                self._read = self._zstd()
            else:
                self._read = self._file.read
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
        except (OSError, zlib.error, *_ZSTD_ERRORS) as error:
            cause = (getattr(error, "strerror", None) or str(error)).splitlines()[0]
            raise self.error(0, "compressed stream" if self.compressed else "file", f"after {self.start + len(self.data)} bytes: {cause}") from None

    def _zstd(self):
        if _zstandard is None:
            raise self.error(0, "file", "is zstd-compressed: pip install 'tickgate[dbn]'")
        return _zstandard.ZstdDecompressor().stream_reader(self._file, read_across_frames=True, closefd=False).read

    @property
    def size(self):
        """Bytes of the file as it is stored; None for a stream."""
        here = self._file.tell()
        try:
            size = self._file.seek(0, os.SEEK_END)
        except OSError:
            return None
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


class Stream:
    """A pipe as if it could be opened again: ``open`` gives it from its beginning, as long as no more than ``KEPT`` bytes of it were read."""

    def __init__(self, raw):
        self.raw, self.kept, self.passed = raw, bytearray(), False

    def open(self):
        """The stream from its beginning. Raises ``OSError`` when that is no longer at hand."""
        if self.passed:
            raise OSError("a stream can be read only once")
        return _Opened(self)


class _Opened(io.RawIOBase):
    """What ``Stream.open`` gives: reads what was kept, then on."""

    def __init__(self, stream):
        self.stream, self.at = stream, 0

    def readable(self):
        return True

    def read(self, size=-1):
        stream = self.stream
        part = bytes(stream.kept[self.at:self.at + size if size >= 0 else None])
        if not part:
            part = stream.raw.read(size)
            if not stream.passed:
                stream.kept += part
                if len(stream.kept) > KEPT:
                    stream.passed = True
                    stream.kept.clear()
        self.at += len(part)
        return part

    def seek(self, at, whence=os.SEEK_SET):
        if whence != os.SEEK_SET or self.stream.passed:
            raise io.UnsupportedOperation("a stream has no places")
        self.at = at
        return at

    def tell(self):
        return self.at
