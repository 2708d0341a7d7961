"""The best levels of a symbol, read from the card while it works."""
import time
from typing import NamedTuple

import numpy as np

from ..spec.registers import DEPTH_LEVELS
from .errors import CardError

#: A level: price in 1e-4 USD, shares, orders.
LEVEL = np.dtype([("price", "<u4"), ("qty", "<u8"), ("orders", "<u4")])
_ASKS = 16          # bit of depth.show
SECONDS = 1.0


class Depth(NamedTuple):
    """``bids`` and ``asks``: arrays of ``LEVEL``, the best first, at most ``DEPTH_LEVELS``. They are the book's after ``tops`` top_of_book records of the
    card since reset (modulo 2^32)."""

    tops: int
    bids: np.ndarray
    asks: np.ndarray


def read_depth(card, slot, seconds=SECONDS):
    """The ``Depth`` of a slot. The card's path is not disturbed. Raises ``CardError`` for a slot that the card does not have, and when the levels are not
    there after ``seconds``: messages of the symbol came all the time without a pause."""
    if not 0 <= slot < card.preset.symbols:
        raise CardError(f"symbol slot {slot}: the card has {card.preset.symbols}, from 0")
    registers = card.depth
    registers.start = slot
    end = time.monotonic() + seconds
    while registers.busy:
        if time.monotonic() > end:
            raise CardError(f"card {card.device.name}: depth of slot {slot} is not there after {seconds} s, {registers.tries} tries: its messages never pause")
    sides = []
    for first, count in ((0, registers.bids), (_ASKS, registers.asks)):
        rows = np.zeros(count, LEVEL)
        for k in range(count):
            registers.show = first | k
            rows[k] = registers.price, registers.qty, registers.orders
        sides.append(rows)
    return Depth(registers.tops, *sides)


assert DEPTH_LEVELS <= _ASKS
