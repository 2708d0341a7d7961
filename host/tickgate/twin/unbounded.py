"""A ``Golden`` without a card's limits: every price has its level, every order its place, every locate may have its slot."""
from dataclasses import dataclass

from .golden import Golden
from .symbol import Symbol


@dataclass(frozen=True)
class _Preset:
    """What ``Golden`` asks of a preset."""

    name: str = "unbounded"
    symbols: int = 1 << 16
    ticks: int = 1 << 32
    filters: int = 4
    lanes: int = 4
    word: int = 4


class _Capacity:
    """An order table that is never full."""

    def __init__(self):
        self.live = 0

    def is_wide(self, reference):
        return False

    def take(self, reference):
        self.live += 1
        return self     # the room

    def give_back(self, room):
        self.live -= 1


def unbounded(locates, filters, start=1, stale=()):
    """A ``Golden`` of these stock locates, each its own slot: the reference of ``tickgate.twin.Book``, and the true book that the card's is compared with
    when a ladder is moved. ``filters``, ``start``: as ``Golden``'s; ``stale``: locates that are so from the start."""
    return Golden(_Preset(), [Symbol(locate, locate, 0, 1, stale=locate in stale) for locate in locates], filters, start=start, capacity=_Capacity())
