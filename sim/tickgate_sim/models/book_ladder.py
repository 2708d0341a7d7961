"""The price ladders alone, against lists of orders that are scanned for the best."""
from collections import Counter, defaultdict

from tickgate.spec.presets import TICK_SIZES
from tickgate.spec.records import NO_FAULT, OVERFILL, TABLE_FULL, UNKNOWN_REFERENCE
from tickgate_hdl.book.ladder import Ladder

from .hop import Script

NEAR, FAR = "near", "far"       # where an order rests when it has no rank
AFTER_ADD, AFTER_REMOVE = 4, 5  # cycles from an operation to the next one, at the least
TOP = (1 << 32) - 1


class LadderScript(Script):
    """Random operations as close as they may be, then both sides of all ladders are taken apart from the best on.

    ``ranks``: those that orders may have; ``adding``: share of adds; ``best``: share of removals that take from the best level; ``outside``: share of
    orders outside the ladder; ``depth``: most orders a side; ``late``: probability that an operation comes later than it could.
    """

    resting = {"removals.valid": 0, "adds.valid": 0, "fast_valid": 0, "load": 0, "clear": 0}
    quiet = ("tops.valid",)

    def __init__(self, seed, operations, *, symbols, tick_bits, ranks, adding=0.5, best=0.3, outside=0.0, depth=1000, late=0.2):
        super().__init__(seed, 1 << 32)    # until it is known where it ends
        self.tick_bits, self.slots, self.ranks, self.outside, self.late = tick_bits, range(symbols), ranks, outside, late
        self.done = Counter()
        self._orders = {(slot, side): defaultdict(list) for slot in self.slots for side in range(2)}    # shares by rank, NEAR and FAR
        self._start()
        for _ in range(operations):
            rng = self.rng
            slot, side = rng.choice(self.slots), rng.randrange(2)
            size = sum(map(len, self._orders[slot, side].values()))
            if rng.random() < (0.02 if size >= depth else adding if size else 0.95):
                self._add(slot, side) if rng.random() < 0.95 else self._refused(slot, side)
            elif not size or rng.random() < 0.05:
                self._miss(slot)
            elif rng.random() < 0.25:
                self._replace(slot, side, best)
            else:
                self._remove(slot, side, best)
        for slot in self.slots:
            for side in range(2):
                while any(self._orders[slot, side].values()):
                    self._remove(slot, side, best=0.9)
        self.cycles = self._at + 10

    # ---- the model

    def _best(self, slot, side):
        """Lowest rank with orders, or ``None``."""
        return min((rank for rank, shares in self._orders[slot, side].items() if shares and rank not in (NEAR, FAR)), default=None)

    def _price(self, slot, side, rank):
        index = rank if side else (1 << self.tick_bits) - 1 - rank
        return self._base[slot] + TICK_SIZES[self._tick[slot]] * index

    def _expect_top(self, cycle, slot, **fields):
        want = {f"tops.payload.{name}": value for name, value in fields.items()} | {"tops.valid": 1}
        for side, name in enumerate(("bid", "ask")):
            orders, rank = self._orders[slot, side], self._best(slot, side)
            unknown = bool(orders[NEAR] or orders[FAR] and rank is None)
            side_fields = {"unknown": int(unknown), "some": int(rank is not None)}
            if rank is not None:
                side_fields |= {"price": self._price(slot, side, rank), "qty": sum(orders[rank])}
            want |= {f"tops.payload.{name}.{field}": value for field, value in side_fields.items()}
        self.expect(cycle, want)

    # ---- choices

    def _where(self):
        rng = self.rng
        return rng.choice((NEAR, FAR, FAR)) if rng.random() < self.outside else rng.choice(self.ranks)

    def _shares(self):
        return self.rng.choice((0, 1, 100, 500, self.rng.getrandbits(20), TOP, TOP))

    def _pick(self, slot, side, best):
        """Where an order is that goes, and its place there."""
        rng, orders = self.rng, self._orders[slot, side]
        rank = self._best(slot, side)
        if rank is None or rng.random() >= best:
            rank = rng.choice([where for where, shares in orders.items() if shares])
        return rank, rng.randrange(len(orders[rank]))

    # ---- operations; each begins at self._at and moves it on

    def _start(self):
        for row in range(1 << max(self.tick_bits, 2)):
            self.drive(row, {"clear": 1, "clear_row": row})
        self._tick = {slot: self.rng.randrange(len(TICK_SIZES)) for slot in self.slots}
        spans = {slot: TICK_SIZES[tick] << self.tick_bits for slot, tick in self._tick.items()}
        self._base = {slot: self.rng.choice((0, TOP + 1 - spans[slot], self.rng.randrange(TOP - spans[slot]))) for slot in self.slots}
        for k, slot in enumerate(self.slots):
            self.drive(row + 1 + k, {"load": 1, "load_slot": slot, "load_base": self._base[slot], "load_tick": self._tick[slot]})
        self._at = row + 1 + len(self.slots) + 2

    def _operate(self, kind, cycle, slot, side, where=None, **op):
        """An operation of ``kind`` (``removals`` or ``adds``) at ``cycle``; ``where`` is ``None`` when it is on no order."""
        outside = where in (NEAR, FAR)
        fields = {"side": side, "outside": int(outside)} | ({"quiet": 0, "miss": 0} if kind == "removals" else {}) | op
        if where is not None:
            fields["rank"] = self.rng.getrandbits(self.tick_bits) & ~1 | (where == NEAR) if outside else where
        self.drive(cycle - 1, {"next_slot": slot})
        self.drive(cycle, {f"{kind}.valid": 1, **{f"{kind}.payload.{name}": value for name, value in fields.items()}})

    def _next(self, cycle):
        self._at = cycle + (self.rng.choice((1, 2, 3, 10)) if self.rng.random() < self.late else 0)

    def _fast(self, cycle, slot, side, price, shares, where, *, kept=0, fault=NO_FAULT):
        """The fast path of an order that comes to rest at ``where`` (nowhere: ``None``; it does not ask, or there is no room)."""
        asks = where is not None or self.rng.random() < 0.5
        self.drive(cycle, {"fast_valid": 1, "fast_asks": int(asks), "fast_kept": kept, "fast_slot": slot, "fast_side": side,
                           "fast_price": price, "fast_qty": shares})
        self.drive(cycle + 1, {"fast_fault": fault})
        if asks:
            self.drive(cycle + 1, {"fast_inside": int(where not in (NEAR, FAR, None)), "fast_near": int(where == NEAR), "fast_far": int(where == FAR)})
        if where is not None:
            self._orders[slot, side][where].append(shares)
        self._expect_top(cycle + Ladder.LATENCY_ADD, slot, side=side, add=1, fault=fault)

    def _order(self, slot, side):
        where, shares = self._where(), self._shares()
        return where, shares, self.rng.getrandbits(32) if where in (NEAR, FAR) else self._price(slot, side, where)

    def _add(self, slot, side):
        where, shares, price = self._order(slot, side)
        fast = self._at
        self._fast(fast, slot, side, price, shares, where)
        self._operate("adds", fast + 1, slot, side, where, price=price, qty=shares)
        self.done["add", where if where in (NEAR, FAR) else "inside"] += 1
        self._next(fast + 1 + AFTER_ADD)

    def _refused(self, slot, side):
        """An add that comes to rest nowhere."""
        self._fast(self._at, slot, side, self._price(slot, side, self.rng.choice(self.ranks)), self._shares(), None, fault=TABLE_FULL)
        self.done["refused"] += 1
        self._next(self._at + 1 + AFTER_ADD)

    def _miss(self, slot):
        shares = self._shares()
        self._operate("removals", self._at, slot, 0, miss=1, fault=UNKNOWN_REFERENCE, qty=shares, whole=0)
        self._expect_top(self._at + Ladder.LATENCY_REMOVE, slot, side=0, add=0, qty=shares, fault=UNKNOWN_REFERENCE)
        self.expect(self._at + Ladder.LATENCY_REMOVE + 1, {"order_price": 0})
        self.done["miss"] += 1
        self._next(self._at + AFTER_REMOVE)

    def _remove(self, slot, side, best):
        """An order goes whole, or some, all or more than all of its shares."""
        rng = self.rng
        where, place = self._pick(slot, side, best)
        orders = self._orders[slot, side][where]
        have = orders[place]
        kind = rng.choice(("whole", "all", "part", "overfill"))
        if kind == "overfill" and have == TOP or kind == "part" and have < 2:
            kind = "all"
        take = {"whole": rng.getrandbits(32), "all": have, "part": rng.randrange(1, max(2, have)), "overfill": min(TOP, have + rng.randint(1, 1000))}[kind]
        fault = OVERFILL if kind == "overfill" else NO_FAULT
        self._operate("removals", self._at, slot, side, where, whole=int(kind == "whole"), qty=take, order_qty=have, fault=fault)
        if kind == "part":
            orders[place] -= take
        else:
            del orders[place]
        self._expect_top(self._at + Ladder.LATENCY_REMOVE, slot, side=side, add=0, qty=have if kind == "whole" else take, fault=fault)
        self.expect(self._at + Ladder.LATENCY_REMOVE + 1, {"order_price": 0 if where in (NEAR, FAR) else self._price(slot, side, where)})
        self.done["remove", kind] += 1
        self._next(self._at + AFTER_REMOVE)

    def _replace(self, slot, side, best):
        """An order goes quietly, and another one of its side comes: sometimes back to its level, sometimes it is refused."""
        rng = self.rng
        old, place = self._pick(slot, side, best)
        orders = self._orders[slot, side][old]
        self._operate("removals", self._at, slot, side, old, whole=1, quiet=1, order_qty=orders[place])
        del orders[place]
        where, shares, price = self._order(slot, side)
        if rng.random() < 0.4 and old not in (NEAR, FAR):
            where, price = old, self._price(slot, side, old)
        fast = self._at + 2 + (rng.choice((1, 2, 7)) if rng.random() < self.late else 0)
        if rng.random() < 0.9:
            self._fast(fast, slot, side, price, shares, where, kept=1)
            self._operate("adds", fast + 3, slot, side, where, price=price, qty=shares)
            self._next(fast + 3 + AFTER_ADD)
        else:
            self._fast(fast, slot, side, price, shares, None, kept=1, fault=TABLE_FULL)
            self._next(max(self._at + AFTER_REMOVE, fast + 3))
        self.done["replace"] += 1
