"""One symbol as the card is told of it."""
from dataclasses import dataclass

from tickgate.spec.presets import TICK_SIZES


@dataclass(frozen=True)
class Symbol:
    """A tracked symbol: its ``slot``, its ``locate`` of the day, and its ladder.

    ``base``: price of the lowest tick, 1e-4 USD; ``tick``: one of ``TICK_SIZES``, 1e-4 USD; ``name``: for people; ``stale``: whether
    its book is stale from the start (orders were there before the first message). Raises ``ValueError`` for values out of range.
    """

    slot: int
    locate: int
    base: int
    tick: int
    name: str = ""
    stale: bool = False

    def __post_init__(self):
        who = f"symbol {self.name or self.slot}"
        if self.slot < 0:
            raise ValueError(f"{who}: slot must be 0 or more, not {self.slot}")
        if not 0 <= self.locate < 1 << 16:
            raise ValueError(f"{who}: locate must be 0 to 65535, not {self.locate}")
        if not 0 <= self.base < 1 << 32:
            raise ValueError(f"{who}: base must be 0 to 2^32 - 1, not {self.base}")
        if self.tick not in TICK_SIZES:
            raise ValueError(f"{who}: tick must be one of {TICK_SIZES}, not {self.tick}")
