"""Devices that take frames from the host instead of a wire, and when the words of a frame reach the core."""
from typing import Protocol, runtime_checkable

import numpy as np

from ..spec.clocks import GEARBOX_PERIOD

_WORDS = GEARBOX_PERIOD - 1   # data words a period


class Frames(Protocol):
    """Frames without preamble and FCS, packed: frame k is ``data[offset[k]:offset[k] + length[k]]``, captured at ``time_ns[k]``.

    uint8, int64, int and int64 arrays. An attribute ``bad_fcs`` (bool array) is optional.
    """

    data: np.ndarray
    offset: np.ndarray
    length: np.ndarray
    time_ns: np.ndarray


@runtime_checkable
class FrameSink(Protocol):
    """What a device can do besides, when the host is its wire."""

    @property
    def cycle(self) -> int:
        """The next cycle of the core, counted from its reset."""

    @property
    def evaluated(self) -> int:
        """Cycles that were really simulated: ``cycle`` less the idle time that was skipped."""

    def send(self, batch: Frames, *, first: int = 0, spacing: str = "minimum", max_records: int | None = None) -> np.ndarray:
        """Sends frames ``first``, ``first + 1``, … of ``batch``; returns the cycle of the first word of each (int64).

        ``spacing``: "minimum", as close as Ethernet allows; "capture", not before their capture time either.
        It stops before the next frame once ``max_records`` host writes have happened since the call, so fewer cycles than frames may come
        back: take the records, then go on with ``first`` raised by that many.
        """

    def post32(self, address: int, value: int) -> None:
        """Writes a register while the next frames go, in order with other writes."""

    def idle(self, cycles: int) -> None:
        """Lets the core run without frames."""


def word_cycle(start, word):
    """Cycle of word ``word`` (from 0; byte // 4) of a frame whose first word came in cycle ``start``. Works on integers and int64 arrays.

    Words come in consecutive cycles, except that the gearbox has none in the last cycle of every 33.
    """
    slot = start // GEARBOX_PERIOD * _WORDS + start % GEARBOX_PERIOD + word
    return slot // _WORDS * GEARBOX_PERIOD + slot % _WORDS
