"""Sizes of the core that both sides must know."""
from dataclasses import dataclass

TICK_SIZES = (100, 50, 1)  # 1e-4 USD, by the code in the symbol's tick register


ULTRA_RAMS = 320           # of an SLR of a U280, which has three; each holds 4,096 words of 72 bits


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
    lanes: int = 4           # bytes a cycle on the wire's side: 4 for 10G, 8 for 25G
    burst_bits: int = 11     # with 8 lanes: words that wait while the path, which takes 4 bytes a cycle, is behind: 2^burst_bits
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
        need(self.lanes in (4, 8), f"lanes must be 4 (10G) or 8 (25G), not {self.lanes}")
        need(4 <= self.burst_bits <= 13, f"burst_bits must be 4 to 13, not {self.burst_bits}")

    @property
    def word(self):
        """Bytes of the words that the path works on, whatever the wire brings."""
        return 4

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
    def ultra_rams(self):
        """Those of the order table, and one a ladder."""
        return (self.tables * self.ways << max(0, self.index_bits - 12)) + (2 << self.slot_bits)

    @property
    def crossing(self):
        """Registers each way to the farthest memories of the order table: two at each crossing into another SLR, less one that is there anyhow."""
        return max(0, 2 * (-(-self.ultra_rams // ULTRA_RAMS) - 1) - 1)

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
    Preset(name="small25", symbols=4, tick_bits=8, index_bits=8, lanes=8, burst_bits=8),   # the same at 25G
    Preset(name="demo", symbols=16, tick_bits=12, index_bits=14),    # 65,536 orders
    # one SLR of a U280: 72 bits an order, so that it fits into one word of ultra RAM; references are below 2^35
    Preset(name="full", symbols=64, tick_bits=12, index_bits=16, reference_bits=35),   # 262,144 orders
    # across a U280: 640 ultra RAMs of the order table and 128 of the ladders, of 960; a level has 76 bits, four of them in 128 block RAMs of 2,016. The book is
    # in SLR2, beside the ports, with memories in SLR1 and SLR0: three registers each way. References are below 2^37
    Preset(name="wide", symbols=64, tick_bits=12, index_bits=18, reference_bits=37),   # 1,048,576 orders
)}
