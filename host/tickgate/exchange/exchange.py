"""The whole exchange in process: engine, members, feed, and the faults of order entry. Time is given, so a run is the same for the same seed."""
import heapq
import random
from collections import Counter
from itertools import count

from tickgate.spec import ouch50

from .engine import PHASES, Engine
from .faults import OrderFaults, happens
from .feed import Feed
from .member import Member
from .orders import Order, Owner
from .publisher import Publisher
from .requests import Cancel, Nonsense, kind_of

SESSION = "0000000001"


class Exchange:
    """``engine`` matches, ``feed`` publishes, ``members`` (by name) trade, ``crowd`` owns everybody else's orders.

    ``advance`` moves time and does what is due; requests come by ``submit``. ``counts``: faults and what the order port saw, by name.
    Raises ``ValueError`` for symbols that are none.
    """

    def __init__(self, symbols, *, seed=0, faults=None, line_faults=None, session=SESSION, lines="ab"):
        symbols = list(symbols)
        bad = [name for name in symbols if not 0 < len(name) <= 8 or not name.isascii() or name != name.strip().upper()]
        if not symbols or bad or len(set(symbols)) != len(symbols):
            raise ValueError(f"symbols must be different names of 1 to 8 capital letters, not {','.join(symbols) or 'none'}")
        self.session, self.faults = session, faults or OrderFaults()
        self.feed = Feed(session, seed=seed, faults=line_faults, names=lines)
        self.engine = Engine(symbols, Publisher(self.feed.message))
        self.members, self.crowd, self.counts, self.ended = {}, Owner("crowd"), Counter(), False
        self.ending = False              # what happens again and again is to stop
        self.delayed = Counter()         # requests that wait, by kind and member
        self.tell = lambda text: None    # hears, in a line each, what people may want to know
        self.random = random.Random(f"{seed} orders")
        self._due, self._order, self._last, self._seen = [], count(), {}, 0

    @property
    def now(self):
        """ns since midnight."""
        return self.engine.now

    def add_member(self, name, password, protocol="ouch50", **how):
        """A member that may log in; ``how``: see ``Member``. Raises ``ValueError``."""
        if name in self.members:
            raise ValueError(f"member {name} is there already")
        self.members[name] = member = Member(self.engine, name, password, protocol, **how)
        return member

    def phase(self, code):
        """The next system event; members hear of the day's start and end."""
        self.engine.phase(code)
        self.tell(f"phase {code}")
        if code in "OC":
            for member in self.members.values():
                member.event("S" if code == "O" else "E")
        self.settle()

    # ---- time

    def at(self, when, act):
        """Call ``act()`` at a time, ns since midnight."""
        heapq.heappush(self._due, (max(when, self.now), next(self._order), act))

    def advance(self, now):
        """Do what is due until then, and publish it."""
        while self._due and self._due[0][0] <= now:
            when, _, act = heapq.heappop(self._due)
            self.engine.advance(when)
            act()
            self.settle()
        self.engine.advance(now)
        self.feed.flush(self.now)

    def settle(self):
        """After anything that may have traded: choose which trades are broken later, and publish."""
        for match in range(self._seen + 1, self.engine.match + 1) if self.faults.bust else ():
            trade = self.engine.trades.get(match)
            if trade and any(order.owner is not self.crowd for order in trade.orders) and happens(self.random, self.faults.bust):
                self._later(lambda match=match: self._bust(match))
        self._seen = self.engine.match
        self.feed.flush(self.now)

    def _later(self, act):
        self.at(self.now + self.random.randrange(self.faults.later + 1), act)

    def _bust(self, match):
        if self.engine.bust(match):
            self.counts["busts"] += 1
            self.tell(f"trade {match} is broken")

    @property
    def waiting(self):
        """Whether anything is still to happen by itself."""
        return bool(self._due)

    def finish(self):
        """The rest of the day at once: what is due happens, phases up to C, end of session on all sides."""
        self.ending = True
        while self._due:
            self.advance(self._due[0][0])
        for code in PHASES[PHASES.find(self.engine.day) + 1 if self.engine.day else 0:]:
            self.phase(code)
        while self._due:
            self.advance(self._due[0][0])
        self.ended = True
        self.feed.end(self.now)

    # ---- requests

    def submit(self, member, raw):
        """A request of a member has come in. It is handled at once, or later, or never, as the faults have it."""
        member.sent[kind_of(raw)] += 1
        if happens(self.random, self.faults.ignore):
            self.counts["silenced"] += 1
            member.ignore(raw)
            return
        if not self.faults.delay:
            self._handle(member, raw)
            self.settle()
            return
        when = max(self._last.get(member.name, 0), self.now + self.random.randrange(self.faults.delay + 1))
        self._last[member.name] = when
        self.delayed[kind_of(raw), member] += 1
        self.at(when, lambda: self._late(member, raw))

    def _late(self, member, raw):
        self.delayed[kind_of(raw), member] -= 1
        self._handle(member, raw)

    def _handle(self, member, raw):
        if happens(self.random, self.faults.race):
            self._race(member, raw)
        before = self.engine.reference
        member.request(raw)
        if self.faults.renew and self.engine.reference > before and happens(self.random, self.faults.renew):
            order = next(reversed(member.live.values()), None)
            if order is not None:
                self._later(lambda: self._renew(order))

    def _renew(self, order):
        if order.live and not order.cross:
            self.counts["renewals"] += 1
            self.engine.renew(order)

    def _race(self, member, raw):
        """Somebody takes from the order whose cancel has come, and from all that stand before it, just in time."""
        try:
            asked = member.words.read(raw, self.now, member.firm)
        except Nonsense:
            return
        order = member.live.get(asked.ticket) if isinstance(asked, Cancel) else None
        if order is None or order.cross or not self.engine.trading(order.book):
            return
        shares = sum(other.shares for other in order.book.ahead(order)) + 1 + self.random.randrange(order.shares)
        if shares <= ouch50.MAXIMUM_QUANTITY:
            self.counts["races"] += 1
            self.engine.enter(Order(owner=self.crowd, book=order.book, sell=1 - order.sell, shares=shares, price=order.price, ioc=True))
