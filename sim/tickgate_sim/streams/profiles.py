"""What kinds of streams there are."""
from dataclasses import dataclass

#: What a message maker can do next, see ``Maker``.
ACTIONS = ("add", "execute", "cancel", "delete", "sweep", "replace", "pair", "trade", "status", "quiet", "odd", "untracked")


@dataclass(frozen=True, kw_only=True)
class Profile:
    """Weights and shares of a random stream. Shares are probabilities, 0 to 1."""

    doc: str
    weights: dict            # by action
    symbols: int = 64        # that take part, at most
    levels: int = 64         # prices a symbol uses, at most
    stride: int = 1          # ticks between them
    apart: float = 0.8       # orders priced on their own side of the middle, so that the book is not crossed
    outside: float = 0.0     # orders priced outside the ladder
    wrong: float = 0.0       # references that name the wrong order, or a live one when they should be new
    reuse: float = 0.05      # new references that were used before, or live in another symbol's book
    dense: float = 0.5       # new references that follow the last one; the others are random over all bits
    collide: bool = False    # all references fall into a few buckets
    overfill: float = 0.0    # executes and cancels of more than the order has
    extreme: float = 0.05    # quantities near 2^32, or 0
    longer: float = 0.0      # messages with bytes after the known ones
    short: float = 0.0       # messages cut short, book messages too (with a right length: the feed then has lost something)
    phase: int = 0           # alternate so many adds with as many sweeps
    crowd: int = 300         # live orders a symbol, about: beyond it adds become deletes

    def __post_init__(self):
        unknown = self.weights.keys() - set(ACTIONS)
        if unknown:
            raise ValueError(f"no action {', '.join(sorted(unknown))}; there are {', '.join(ACTIONS)}")


PROFILES = {
    "storm": Profile(doc="two symbols, a handful of ticks: every message touches the best",
                     weights=dict(add=40, execute=8, cancel=5, delete=10, sweep=7, replace=12, pair=3), symbols=2, levels=6, extreme=0.0, crowd=60),
    "sparse": Profile(doc="levels far apart: every removal has to search a long way for the next",
                      weights=dict(add=40, execute=3, cancel=2, delete=5, sweep=13, replace=8, pair=2),
                      symbols=1, levels=64, stride=65, apart=1.0, crowd=80),
    "wide": Profile(doc="the whole ladder",
                    weights=dict(add=45, execute=5, cancel=2, delete=8, sweep=12, replace=8, pair=1),
                    symbols=3, levels=1 << 12, apart=0.7, crowd=3000),
    "sweep": Profile(doc="runs of adds, then runs of deletes of the best",
                     weights=dict(add=30, execute=8, cancel=5, delete=4, sweep=46, replace=7),
                     symbols=1, levels=500, stride=8, apart=1.0, phase=300, crowd=1 << 30),
    "mixed": Profile(doc="all types and all symbols, as on a feed; no book goes stale",
                     weights=dict(add=34, execute=7, cancel=5, delete=10, sweep=5, replace=10, pair=3, trade=4, status=3, quiet=6, odd=4,
                                  untracked=6),
                     levels=300, stride=3, outside=0.01, longer=0.03),
    "faults": Profile(doc="everything that can be wrong with a message",
                      weights=dict(add=34, execute=10, cancel=6, delete=8, sweep=4, replace=14, pair=3, trade=3, status=3, quiet=3, odd=4,
                                   untracked=3),
                      levels=120, stride=7, apart=0.5, outside=0.15, wrong=0.12, reuse=0.15, overfill=0.1, extreme=0.2, longer=0.05, short=0.02),
    "collide": Profile(doc="references that fall into few buckets: the order table is full in places",
                       weights=dict(add=40, execute=8, cancel=5, delete=14, sweep=5, replace=17), symbols=4, levels=60, stride=9,
                       wrong=0.02, reuse=0.1, collide=True, crowd=60),
    "full": Profile(doc="more live orders than the order table holds (in the small preset: soon)",
                    weights=dict(add=70, execute=4, cancel=4, delete=10, sweep=2, replace=10), levels=200, wrong=0.01, crowd=1 << 30),
}
