"""Peak memory on a day with very many order references: ``python -m bench.references MILLIONS`` (default 100). Prints what was live at most and the peak."""
import resource
import sys

import numpy as np

from tickgate.spec import itch50
from tickgate.spec.moldudp64 import BLOCK
from tickgate.twin import Book

STEP, LIVE = 100_000, 200_000     # adds a piece; orders that are live before their deletes begin


def piece(code, first, **fields):
    """``STEP`` messages of one type with references from ``first`` on, as a BinaryFILE."""
    layout = itch50.BY_CODE[code]
    rows = np.empty((STEP, BLOCK.size + layout.size), np.uint8)
    rows[:] = list(layout.size.to_bytes(BLOCK.size, "big") + layout.encode(stock_locate=1, **fields))
    at = BLOCK.size + layout["order_ref"].offset
    rows[:, at:at + 8] = np.arange(first, first + STEP, dtype=">u8").view(np.uint8).reshape(STEP, 8)
    return rows.tobytes()


def main():
    millions = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    book = Book(rows=None)
    book.feed(b"")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for first in range(0, millions * 1_000_000, STEP):
        book.feed(piece(b"A", first, side="B", shares=100, stock="X", price=1_000_000 + first // STEP % 50 * 100))
        if first >= LIVE:
            book.feed(piece(b"D", first - LIVE))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"{millions} million references, {LIVE + STEP:,} live at most: books {book.memory / 2**20:.0f} MiB, process {peak / 1024:.0f} MiB at its peak, "
          f"{(peak - before) / 1024:.0f} MiB more than before the day; faults {sum(book.faults.values())}")


if __name__ == "__main__":
    main()
