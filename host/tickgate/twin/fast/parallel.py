"""Several days, or one day's symbols in shares, at once: a process each.

The processes are started anew, so a script that calls these does so under ``if __name__ == "__main__":``.
"""
import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from tickgate.capture.errors import CaptureError
from tickgate.capture.source import Window

from .book import Book, StreamError
from .layout import LOCATES

PIECE = 1 << 24   # bytes that are read and fed at once


def collect(book, pieces):
    """All rows of a day in one array."""
    rows = list(pieces)
    return np.concatenate(rows) if rows else book.feed(b"")


def day(path, work=collect, **options):
    """``work(book, pieces)`` of one BinaryFILE, gzip or not: a new ``Book`` with these options, and its rows piece by piece as it is fed.

    Raises ``CaptureError`` (file, offset, field, cause) when the file cannot be read or its stream cannot be right, or ends inside a message.
    """
    book = Book(**options)
    return work(book, _pieces(path, book))


def days(paths, work=collect, processes=None, **options):
    """``day`` of each path, in a process each, at most ``processes`` (default: one a core) at a time; a list in the order of ``paths``.

    ``work`` and what it returns go from process to process: a function of a module, and what can be pickled.
    """
    return _run([(path, work, options) for path in paths], processes)


def shares(path, processes=None, **options):
    """The rows of one day as ``day`` gives them, its symbols shared out to ``processes`` (default: one a core)."""
    count = processes or os.cpu_count() or 1
    parts = _run([(path, collect, {**options, "symbols": range(k, LOCATES, count)}) for k in range(count)], count)
    rows = np.concatenate(parts)
    return rows[np.argsort(rows["number"], kind="stable")]


def _run(tasks, processes):
    if not tasks:
        return []
    workers = min(len(tasks), processes or os.cpu_count() or 1)
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        return list(pool.map(_task, tasks))


def _task(task):
    path, work, options = task
    return day(path, work, **options)


def _pieces(path, book):
    window = Window(path, lambda: open(path, "rb"))
    try:
        while True:
            if window.data:
                yield book.feed(window.data)
            if window.eof:
                break
            window.advance(len(window.data), PIECE)
    except StreamError as error:
        raise CaptureError(path, error.offset, error.field, error.cause) from None
    finally:
        window.close()
    if book.pending:
        raise CaptureError(path, book.offset, "message", f"the file ends {book.pending} bytes into it")
