"""An order, a trade, and whose they are."""
from collections import Counter
from dataclasses import dataclass, field

BUY, SELL = 0, 1
#: What becomes of two orders of one owner that would trade: they do; the resting one goes; the incoming one goes; both lose the shares.
SELF_MATCH = ("trade", "oldest", "newest", "decrement")


@dataclass(eq=False, slots=True, kw_only=True)
class Order:
    """One order. The engine keeps ``shares`` (open), ``done`` (executed or prevented, with those of the orders it replaced), ``reference`` and ``live``."""

    owner: "Owner"
    book: object                # the ``OrderBook`` of its symbol; None: no such symbol
    sell: int                   # 0 or 1
    shares: int
    price: int                  # 1e-4 USD; of a market order nothing
    visible: bool = True
    attribution: bytes = b""    # shown with the order when not blank
    market: bool = False        # no limit: crosses only
    ioc: bool = False           # what does not trade at once goes
    post_only: bool = False     # never takes
    cross: str = ""             # O, C or H: takes part in that cross and nowhere else
    expires: int = 0            # ns since midnight; 0: with the day
    ticket: object = None       # what the owner calls it
    terms: dict = field(default_factory=dict)   # what the owner's protocol echoes
    reference: int = 0
    done: int = 0
    live: bool = False
    pending: bool = False       # its cancel waits for the cross

    @property
    def symbol(self):
        return self.book.name


@dataclass(eq=False, slots=True)
class Trade:
    """A trade: its match number, the two orders (buy, sell), and how much at what price."""

    match: int
    orders: tuple
    shares: int
    price: int                  # 1e-4 USD
    broken: bool = False


class Owner:
    """Whose orders they are: hears what happens to them and counts it. The crowd is one too, and does no more than that.

    ``shares``: by (what, symbol, sell), what being ``entered``, ``executed`` or ``gone``; ``position``: shares by symbol, without broken trades.
    """

    def __init__(self, name, self_match="trade"):
        if self_match not in SELF_MATCH:
            raise ValueError(f"{name}: self match must be one of {', '.join(SELF_MATCH)}, not {self_match}")
        self.name, self.self_match = name, self_match
        self.shares, self.position = Counter(), Counter()

    def _count(self, what, order, shares):
        self.shares[what, order.symbol, order.sell] += shares

    def _entered(self, order, live):
        self._count("entered", order, order.shares)
        if not live:
            self._count("gone", order, order.shares)

    def accepted(self, order, live):
        """Taken; when not ``live`` it is dead at once, and nothing follows."""
        self._entered(order, live)

    def replaced(self, old, new, live):
        """``old`` is out with the shares it has, ``new`` in."""
        self._count("gone", old, old.shares)
        self._entered(new, live)

    def canceled(self, order, shares, reason):
        self._count("gone", order, shares)

    def modified(self, order, shares):
        """``shares`` were taken off; 0: its side changed."""
        self._count("gone", order, shares)

    def self_matched(self, order, shares, prevented, price, liquidity):
        """``shares`` were taken off because ``prevented`` would have traded at ``price`` with an order of the same owner."""
        self._count("gone", order, shares)

    def executed(self, order, shares, price, liquidity, match):
        self._count("executed", order, shares)
        self.position[order.symbol] += -shares if order.sell else shares

    def broken(self, order, trade, reason):
        self.position[order.symbol] -= -trade.shares if order.sell else trade.shares

    def renewed(self, order):
        """It has a new reference and the last place of its queue."""
