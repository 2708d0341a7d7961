"""The programs that are compared, each doing one task on one file in a process of its own: ``python -m bench.contestants NAME FILE``.

Prints a JSON object: ``seconds`` of the clock and ``cpu`` seconds of the process, both without start-up and imports, ``messages``, and
``check``: a number that all programs with the same task must agree on.
"""
import json
import sys
import time
from pathlib import Path


class Watch:
    """Seconds of the clock and of the processor."""

    def __enter__(self):
        self._wall, self._cpu = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *error):
        self.seconds, self.cpu = time.perf_counter() - self._wall, time.process_time() - self._cpu


def tickgate_count(path):
    from tickgate.twin.fast import walk

    data = Path(path).read_bytes()
    walk.count(data[:1000])               # loads the compiled code
    with Watch() as watch:
        types, _ = walk.count(data)
    return watch, int(types.sum()), int(types[ord("A")])


def _tickgate(path, **options):
    from tickgate.twin import Book

    data = Path(path).read_bytes()
    Book(**options).feed(data[:1000])     # loads the compiled code
    with Watch() as watch:
        book = Book(**options)
        rows = book.feed(data)
    return watch, book, rows


def tickgate_l3(path):
    watch, book, _ = _tickgate(path, rows=None)
    return watch, book.messages, book.live


def tickgate_l2(path):
    watch, book, _ = _tickgate(path, rows=None, queues=False)
    return watch, book.messages, book.live


def tickgate_rows(path):
    watch, book, rows = _tickgate(path)
    return watch, book.messages, _rows_check(rows["locate"], rows["bid_px"], rows["bid_qty"], rows["ask_px"], rows["ask_qty"])


def _rows_check(*columns):
    """CRC-32 of the rows, those left out that repeat their symbol's row before."""
    import zlib

    import numpy as np

    table = np.stack([np.asarray(c).astype(np.uint64) for c in columns], axis=1)
    order = np.argsort(table[:, 0], kind="stable")
    table = table[order]
    keep = np.ones(len(table), bool)
    keep[1:] = (table[1:] != table[:-1]).any(axis=1)
    begins = np.ones(len(table), bool)
    begins[1:] = table[1:, 0] != table[:-1, 0]
    keep &= ~(begins & (table[:, 1:] == 0).all(axis=1))       # an empty book before there was anything
    return zlib.crc32(np.ascontiguousarray(table[keep]).tobytes())


def _itch_book(path, tables):
    from itch_book._core import Session

    data = Path(path).read_bytes()
    pieces = [data[at:at + (1 << 22)] for at in range(0, len(data), 1 << 22)]   # as its own command feeds it; cut before the watch starts
    with Watch() as watch:
        session, taken = Session(tables, 0, []), []
        for piece in pieces:
            session.feed(piece)
            if "bbo" in tables:
                taken.append(session.take_bbo())
        stats = session.stats()
    return watch, stats, taken


def itch_book_l3(path):
    watch, stats, _ = _itch_book(path, [])
    return watch, stats["messages"], None


def itch_book_count(path):
    return itch_book_l3(path)


def itch_book_bbo(path):
    import numpy as np

    watch, stats, taken = _itch_book(path, ["bbo"])
    columns = {name: np.concatenate([part[name] for part in taken]) for name in taken[0]}
    return watch, stats["messages"], _rows_check(*(columns[name] for name in ("locate", "bid_px", "bid_sz", "ask_px", "ask_sz")))


def _by_type(messages):
    counts = {}
    for message in messages:
        code = bytes(message.message_type) if not isinstance(getattr(message, "message_type", None), type(None)) else bytes(message.type)
        counts[code] = counts.get(code, 0) + 1
    return counts


def _parser(module, path):
    with open(path, "rb") as file, Watch() as watch:
        counts = _by_type(module.MessageParser().parse_file(file))
    return watch, sum(counts.values()), counts[b"A"]


def itchcpp_count(path):
    import itchcpp.parser

    return _parser(itchcpp.parser, path)


def itchfeed_count(path):
    import itch.parser

    return _parser(itch.parser, path)


def meatpy_count(path):
    from meatpy.itch50 import ITCH50MessageReader

    with Watch() as watch, ITCH50MessageReader(path) as reader:
        counts = _by_type(reader)
    return watch, sum(counts.values()), counts[b"A"]


if __name__ == "__main__":
    watch, messages, check = globals()[sys.argv[1]](sys.argv[2])
    print(json.dumps({"seconds": watch.seconds, "cpu": watch.cpu, "messages": int(messages), "check": check}))
