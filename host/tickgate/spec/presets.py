"""Sizes of the core that both sides must know."""
from dataclasses import dataclass

TICK_SIZES = (100, 50, 1)  # 1e-4 USD, by the code in the symbol's tick register


@dataclass(frozen=True, kw_only=True)
class Preset:
    """What one build of the core holds. ``orders`` live orders fit without loss: four tenths of the order table's places."""

    name: str
    symbols: int             # slots, a power of two up to 64
    tick_bits: int           # ladder ticks a side: 2^tick_bits
    index_bits: int          # buckets a way of the order table: 2^index_bits
    tables: int = 5          # subtables with a hash each
    ways: int = 2            # entries a bucket
    reference_bits: int = 64  # bits of a reference that are kept; wider ones are a fault
    lanes: int = 4           # bytes a cycle
    filters: int = 4         # destinations that net lets through

    def __post_init__(self):
        def need(good, what):
            if not good:
                raise ValueError(f"preset {self.name}: {what}")

        need(self.symbols in (1, 2, 4, 8, 16, 32, 64), f"symbols must be a power of two up to 64, not {self.symbols}")
        need(self.tick_bits in (6, 8, 10, 12), f"tick_bits must be 6, 8, 10 or 12, not {self.tick_bits}")
        need(4 <= self.index_bits <= 18, f"index_bits must be 4 to 18, not {self.index_bits}")
        need(1 <= self.tables <= 5, f"tables must be 1 to 5, not {self.tables}")
        need(self.index_bits + 8 <= self.reference_bits <= 64, f"reference_bits must be index_bits + 8 to 64, not {self.reference_bits}")
        need(self.lanes == 4, f"lanes must be 4 (10G), not {self.lanes}")

    @property
    def ticks(self):
        """Ticks of the ladder, a side."""
        return 1 << self.tick_bits

    @property
    def places(self):
        """Entries of the order table."""
        return self.tables * self.ways << self.index_bits

    @property
    def orders(self):
        """Live orders that fit without loss."""
        return self.places * 2 // 5

    @property
    def slot_bits(self):
        return max(1, (self.symbols - 1).bit_length())

    @property
    def count_bits(self):
        """Width of an order count: no level can hold more orders than the table."""
        return self.places.bit_length()

    @property
    def quantity_bits(self):
        """Width of a level's quantity: every order of the table in one level, each of 2^32 - 1 shares, still fits."""
        return 32 + self.count_bits


PRESETS = {p.name: p for p in (
    Preset(name="small", symbols=4, tick_bits=8, index_bits=8),      # 1,024 orders: unit and formal tests
    Preset(name="demo", symbols=16, tick_bits=12, index_bits=14),    # 65,536 orders
    # one SLR of a U280: 72 bits an order, so that it fits into one word of ultra RAM; references are below 2^35
    Preset(name="full", symbols=64, tick_bits=12, index_bits=16, reference_bits=35),   # 262,144 orders
)}
