"""What goes wrong on purpose. Probabilities are in millionths, times in ns; the same seed gives the same faults."""
from dataclasses import dataclass

PARTS = 1_000_000


@dataclass(frozen=True, kw_only=True)
class LineFaults:
    """Of the feed, for each packet on each line by itself."""

    loss: int = 0          # it never comes
    duplicate: int = 0     # it comes twice
    reorder: int = 0       # it comes after the next one
    delay: int = 0         # ns: each comes up to so much later
    skew: int = 0          # ns: all of line B come so much later


@dataclass(frozen=True, kw_only=True)
class OrderFaults:
    """Of order entry."""

    ignore: int = 0        # a request is not heard
    delay: int = 0         # ns: a request is handled up to so much later; those of a member stay in order
    cut: int = 0           # the connection ends in the middle of a sequenced packet
    race: int = 0          # an order is executed, in part or whole, while its cancel is under way
    bust: int = 0          # a trade of a member is broken later
    renew: int = 0         # a member's order loses its place in the queue later
    later: int = 1_000_000_000   # ns: up to so much later


def happens(rng, parts):
    """Whether a fault of this probability happens now."""
    return parts > 0 and rng.randrange(PARTS) < parts
