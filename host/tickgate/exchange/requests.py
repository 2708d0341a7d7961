"""What a member asks for, whatever protocol it speaks."""
from dataclasses import dataclass, field


class Nonsense(ValueError):
    """A message that is none of the protocol's: nobody can be told."""


@dataclass(slots=True, kw_only=True)
class Enter:
    """A new order. ``order``: keywords of ``Order``; ``terms``: what its replies echo; ``why``: why it cannot be taken as far as the protocol can tell."""

    ticket: object
    symbol: str
    order: dict
    terms: dict
    why: str | None = None


@dataclass(slots=True, kw_only=True)
class Replace:
    """Other terms for a live order, under a new ticket. ``terms`` are those that change."""

    old: object
    ticket: object
    order: dict
    terms: dict = field(default_factory=dict)
    why: str | None = None


@dataclass(slots=True, kw_only=True)
class Cancel:
    """Leave an order ``left`` shares."""

    ticket: object
    left: int


@dataclass(slots=True, kw_only=True)
class Modify:
    """Another sell side, or ``left`` shares, in the same place."""

    ticket: object
    side: bytes
    left: int


@dataclass(slots=True)
class Query:
    """Asks for the next free ticket."""


KINDS = {b"O": "enter", b"U": "replace", b"X": "cancel", b"M": "modify", b"Q": "query"}
NONSENSE = "nonsense"


def kind_of(raw):
    """Kind of a request by its first byte, whether the rest can be read or not."""
    return KINDS.get(raw[:1], NONSENSE)
