"""Frames through gateware and twin, with all that is known told when they differ."""
from dataclasses import dataclass

import numpy as np

from tickgate.app import mismatch
from tickgate.app.pair import Pair
from tickgate.capture import FrameBatch
from tickgate.twin import Golden

FILTERS = [(0xE9360C6F, 26477), (0xE9360C6F, 26478), (0xE9360C70, 26477)]   # one group with two ports, one port with two groups


@dataclass(frozen=True)
class Batch(FrameBatch):
    """Frames of which some have a bad FCS."""

    bad_fcs: np.ndarray

    @classmethod
    def of(cls, frames):
        """From pairs of ``bytes`` and whether the FCS is bad; a microsecond apart."""
        plain = FrameBatch.of([frame for frame, _ in frames], np.arange(len(frames)) * 1000)
        return cls(plain.data, plain.offset, plain.length, plain.time_ns, np.array([bad for _, bad in frames], bool))

    def __getitem__(self, k):
        part = super().__getitem__(k)
        return Batch(part.data, part.offset, part.length, part.time_ns, self.bad_fcs[k]) if isinstance(k, slice) else part


def equal(device, preset, symbols, frames, *, filters=FILTERS, start=1, spacing="minimum"):
    """Assert that every record and every counter is the twin's; returns the ``Pair`` and all records."""
    pair = Pair(device, preset, symbols, filters, start, spacing=spacing)
    rows = np.concatenate([rows for _, _, rows in pair.run([Batch.of(frames)])])
    assert pair.failure is None, pair.failure
    if pair.difference:
        raise AssertionError("\n" + mismatch.story(pair.difference, frames, Golden(preset, symbols, filters, start=start))["text"])
    assert not (texts := pair.final()), "\n".join(texts)
    assert pair.check.compared == len(rows) > 0
    return pair, rows
