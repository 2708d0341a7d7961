"""Moves the ladder of a symbol while the feed runs.

A symbol whose book has moved to the edge of its ladder is held (stale), all its orders are deleted, the empty ladder gets its new base, and the orders are
added again. Messages of the feed meet the card's book in whatever state it is: they fault, and what they left wrong is put right by comparing the card's
book with the true one, until both are equal. Then the symbol is held once more, which forgets these faults, and is armed if none came since.

The card's book is that of a twin that has taken commands and messages in the card's order; the true one that of a twin without limits which has taken the
same messages. Other symbols are not touched.
"""
from dataclasses import dataclass, field

from ..spec import commands as spec
from ..spec.commands import Command
from ..spec.records import TABLE_FULL, WIDE_REFERENCE
from .commands import tick_code

EDGE = 8        # the middle of the book may come as near to an edge as this part of the ladder
SPREAD = 2      # quotes further apart than this part of the ladder are none that it should follow: stubs
ROUNDS = 16     # holds before arming is given up: what the card has no room for will never be right


def centred(price, tick, ticks):
    """Base of a ladder of ``ticks`` ticks with ``price`` in its middle, on the grid, none of it below 0 or above 2^32."""
    base = (price // tick - ticks // 2) * tick
    return min(max(base, 0), ((1 << 32) - ticks * tick) // tick * tick)


def wanted(bid, ask, base, tick, ticks):
    """The base that a ladder should have for these best prices (``None``: there is none): ``base`` while their middle is an eighth of the ladder from both
    edges, while a side is empty or they are too far apart, and when a move would not bring the middle further from the edge. ``base`` may be ``None``: the
    ladder has no place yet. Prices in 1e-4 USD."""
    if bid is None or ask is None or (ask - bid) * SPREAD > ticks * tick:
        return base
    price = (bid + ask) // 2
    new, edge = centred(price, tick, ticks), ticks * tick // EDGE
    if base is None:
        return new
    near = not base + edge <= price < base + ticks * tick - edge
    return new if near and abs(new - base) > edge else base


@dataclass
class Move:
    """One re-centring. Times are card times in ns, of the first hold and of the arming (0 while that is to come)."""

    slot: int
    old: int           # base, 1e-4 USD
    new: int
    orders: int        # live when it began
    began: int = 0
    ended: int = 0
    commands: int = 0
    refused: int = 0   # bases that met a book that was not empty
    holds: int = 0
    given_up: bool = False
    stage: str = field(default="hold", repr=False)
    pending: set = field(default_factory=set, repr=False)   # references that a command is under way for


class Recentring:
    """Watches the symbols and moves one at a time.

    ``mirror``: twin of the card (``Golden``); ``truth``: the one without limits, each symbol in the slot of its locate (``tickgate.twin.unbounded``), on the
    same messages; ``port``: ``CommandPort``. ``step`` pushes what is next, ``took_effect`` is told which commands' records have come, once ``mirror`` has
    taken them. ``moves``: all that were begun. A symbol of which the true book is stale is left alone, and left stale when it became so meanwhile.
    """

    def __init__(self, mirror, truth, port):
        self.mirror, self.truth, self.port = mirror, truth, port
        self.moves, self.now = [], None

    @property
    def busy(self):
        """Whether a move is under way."""
        return self.now is not None

    def took_effect(self, row, command):
        """A command's record."""
        move = self.now
        move.pending.discard(command.reference)
        if command.kind == spec.HOLD:
            move.began = move.began or int(row["t_wire_ns"])
        elif command.kind == spec.ARM:
            move.ended = int(row["t_wire_ns"])
        elif command.kind == spec.BASE and row["detail"] == spec.REFUSED:
            move.refused += 1
        elif command.kind == spec.ADD and row["detail"] in (TABLE_FULL, WIDE_REFERENCE):
            move.given_up = True   # it will never be the true book

    def step(self):
        """Push the commands that are next, as many as there is room for."""
        if self.now is None:
            self._choose()
        if self.now is None:
            return
        slot = self.mirror.slots[self.now.slot]
        true = self.truth.slots[slot.symbol.locate]
        if true.stale or self.now.given_up:
            self.now.given_up = True
            if not self.port.waiting:      # what is under way is this move's
                self.now = None
        elif not self.port.waiting or self.now.stage in ("delete", "fill"):
            getattr(self, f"_{self.now.stage}")(slot, true)

    # ---- stages: each is entered again until it goes on to the next

    def _choose(self):
        for number, slot in self.mirror.slots.items():
            true = self.truth.slots[slot.symbol.locate]
            if true.stale or any(m.given_up and m.slot == number for m in self.moves):
                continue
            base = self._wanted(slot, true)
            if base != slot.book.base:
                self.now = Move(number, slot.book.base, base, len(slot.book.orders))
                self.moves.append(self.now)
                return

    def _hold(self, slot, true):
        self._push(spec.HOLD)
        self.now.holds += 1
        self.now.stage = "delete"

    def _delete(self, slot, true):
        todo = [r for r in slot.book.orders if r not in self.now.pending]
        room = self.port.room
        for reference in todo[:room]:
            self._push(spec.DELETE, reference)
        if len(todo) < room:   # right behind the last of them, before the feed brings more
            base = self._wanted(slot, true)
            if base != slot.book.base:
                self.now.new = base
            self._push(spec.BASE, price=self.now.new, qty=tick_code(slot.book.tick))
            self.now.stage = "moved"

    def _moved(self, slot, true):
        self.now.stage = "fill" if slot.book.base == self.now.new else "delete"
        self.step()

    def _fill(self, slot, true):
        todo = self._differences(slot.book, true.book)
        for kind, reference, fields in [d for d in todo if d[1] not in self.now.pending][:self.port.room]:
            self._push(kind, reference, **fields)
        if not todo and not self.port.waiting:
            if self.now.holds > ROUNDS:
                self.now.given_up = True
                return
            self._push(spec.HOLD)
            self.now.holds += 1
            self.now.stage = "check"

    def _check(self, slot, true):
        if self._differences(slot.book, true.book):
            self.now.stage = "fill"
            self.step()
        else:
            self._push(spec.ARM)
            self.now.stage = "armed"

    def _armed(self, slot, true):
        if slot.stale:          # something went wrong since the hold
            self.now.ended = 0
            self.now.stage = "fill"
            self.step()
        else:
            self.now = None

    @staticmethod
    def _wanted(slot, true):
        bid, ask = (side.prices[0 if side.sell else -1] if side.prices else None for side in true.book.sides)
        return wanted(bid, ask, slot.book.base, slot.book.tick, slot.book.ticks)

    @staticmethod
    def _differences(ours, true):
        """What makes our book the true one: kind, reference and fields of commands, one a reference."""
        todo = []
        for reference, order in ours.orders.items():
            other = true.orders.get(reference)
            if other is None or other.sell != order.sell or other.quantity > order.quantity or not _rests(ours, order, other):
                todo.append((spec.DELETE, reference, {}))
            elif other.quantity < order.quantity:
                todo.append((spec.TAKE, reference, {"qty": order.quantity - other.quantity}))
        todo += [(spec.ADD, reference, {"side": other.sell, "qty": other.quantity, "price": other.level.price})
                 for reference, other in true.orders.items() if reference not in ours.orders]
        return todo

    def _push(self, kind, reference=0, **fields):
        self.port.push(Command(kind, self.now.slot, reference, **fields))
        self.now.commands += 1
        if reference or kind in (spec.ADD, spec.TAKE, spec.DELETE):
            self.now.pending.add(reference)


def _rests(book, order, other):
    """Whether an order rests where one of the other's price does."""
    side, where = book.sides[order.sell], book.where(order.sell, other.level.price)
    return order.level is (getattr(side, where) if isinstance(where, str) else side.levels.get(where))
