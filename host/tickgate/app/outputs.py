"""Output files that are there whole or not at all."""
import itertools
import os
import stat
from pathlib import Path

from .errors import InputError

SHOWN = 200                    # characters of a path, in an error
_numbers = itertools.count()   # of temporary names


class Output:
    """One output file: made under a temporary name beside ``path`` and renamed by ``commit``.

    Opening it shows at once, before a long run, whether ``path`` can be written; missing directories are made. What exists and is no
    regular file (a pipe, ``/dev/null``) is written directly. Raises ``InputError`` naming the path and the cause.
    """

    def __init__(self, path):
        self.path = Path(path)
        try:
            mode = self._mode()
            self.direct = mode is not None and not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)
            if mode is not None and stat.S_ISDIR(mode):
                raise InputError("cannot write: is a directory", self.path)
            if mode is not None and not os.access(self.path, os.W_OK):
                raise InputError("cannot write: permission denied", self.path)
            # a name of its own, which fits wherever that of ``path`` does
            self.part = self.path if self.direct else self.path.with_name(f".{os.getpid()}-{next(_numbers)}.part")
            if not self.direct:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            self.file = open(self.part, "w", encoding="utf-8", errors="backslashreplace")
        except OSError as e:
            raise InputError(f"cannot write: {(e.strerror or str(e)).lower()}", _short(self.path)) from None

    def _mode(self):
        """What ``path`` is, or None when it is nothing yet. Raises ``OSError`` for a name that no file can have."""
        try:
            return self.path.stat().st_mode
        except (FileNotFoundError, NotADirectoryError):   # making its directories will tell
            return None

    def commit(self, text):
        """Write ``text`` and give the file its name."""
        try:
            self.file.write(text)
            self.file.close()
            if not self.direct:
                os.replace(self.part, self.path)
        except OSError as e:
            self.discard()
            raise InputError(f"cannot write: {(e.strerror or str(e)).lower()}", self.path) from None

    def discard(self):
        """Leave nothing behind, unless committed. May be called at any time."""
        try:
            self.file.close()
        except OSError:   # what was still buffered did not fit the disk: it is not wanted either
            pass
        if not self.direct:
            self.part.unlink(missing_ok=True)


def _short(path):
    """The path, or the part of it that is worth reading."""
    text = str(path)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}... ({len(text):,} characters)"


class Outputs:
    """The outputs of a run by name, as a context: all are opened on making, and those not committed at its end are gone."""

    def __init__(self, capture, **paths):
        self.open = {}
        try:
            for name, path in paths.items():
                if path is None:
                    continue
                if not str(path):
                    raise InputError(f"cannot write {name}: the name of the file is empty")
                real = os.path.realpath(path)
                if real == os.path.realpath(capture):
                    raise InputError("cannot write: it is the capture", path)
                if not os.path.exists(path) or os.path.isfile(path):
                    if real in (os.path.realpath(o.path) for o in self.open.values()):
                        raise InputError("cannot write: two outputs have this name", path)
                self.open[name] = Output(path)
        except BaseException:
            self.__exit__()
            raise

    def __contains__(self, name):
        return name in self.open

    def __getitem__(self, name):
        return self.open[name]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for output in self.open.values():
            output.discard()
