"""Streams of one symbol that a book likes least: each is what must be there before, and the messages to measure."""
from tickgate.spec import itch50
from tickgate.twin.binary import writer

_PACK = {m.code: writer(m).pack for m in itch50.MESSAGES}
_TIME, _STOCK, _SHARES = bytes(6), b"TICKGATE", 100


class Script:
    """Messages of one symbol, by what they do. ``price``: of a level, counted in ticks from the middle of the ladder upward."""

    def __init__(self, symbol, preset):
        self.symbol, self.middle, self.levels = symbol, preset.ticks // 2, preset.ticks // 2
        self.orders = preset.orders

    def price(self, level):
        return self.symbol.base + self.symbol.tick * (self.middle + level)

    def _pack(self, code, *fields):
        return _PACK[code](code, self.symbol.locate, 0, _TIME, *fields)

    def add(self, reference, level, shares=_SHARES, side=b"S"):
        return self._pack(b"A", reference, side, shares, _STOCK, self.price(level))

    def delete(self, reference):
        return self._pack(b"D", reference)

    def execute(self, reference, shares=1):
        return self._pack(b"E", reference, shares, 0)

    def execute_at(self, reference, shares=1):
        return self._pack(b"C", reference, shares, 0, b"Y", self.price(0))

    def cancel(self, reference, shares=1):
        return self._pack(b"X", reference, shares)

    def replace(self, old, new, level):
        return self._pack(b"U", old, new, _SHARES, self.price(level))


def _many(script, count):
    return range(1, 1 + min(count, script.orders // 2))


def adds_one_level(s, count):
    return [], [s.add(r, 0) for r in _many(s, count)]


def adds_improve(s, count):
    """Every one a new best, down the ladder; when it is over they go and it begins again."""
    out = []
    while len(out) < count:
        out += [s.add(k + 1, s.levels - 1 - k) for k in range(s.levels)] + [s.delete(k + 1) for k in range(s.levels)]
    return [], out


def deletes_one_level(s, count):
    return [s.add(r, 0) for r in _many(s, count)], [s.delete(r) for r in _many(s, count)]


def deletes_new_best(s, count):
    """Every one takes the whole best level, so the next must be found: all levels of the ladder, then levels 65 ticks apart, so that each lies in another
    group of the bitmap."""
    first, second = list(range(0, s.levels)), list(range(0, s.levels, 65))
    before = [s.add(k + 1, level) for k, level in enumerate(first)]
    out = [s.delete(k + 1) for k in range(len(first))]
    while len(out) < count:
        out += [s.add(k + 1, level) for k, level in enumerate(second)] + [s.delete(k + 1) for k in range(len(second))]
    return before, out


def executes_one_order(s, count):
    return [s.add(1, 0, 0xFFFFFFFF)], [s.execute(1) for _ in range(count)]


def executes_with_price(s, count):
    return [s.add(1, 0, 0xFFFFFFFF)], [s.execute_at(1) for _ in range(count)]


def cancels_one_order(s, count):
    return [s.add(1, 0, 0xFFFFFFFF)], [s.cancel(1) for _ in range(count)]


def replaces_move_best(s, count):
    """One order that goes up and down by a tick, among others behind it."""
    return [s.add(0, 0)] + [s.add(1_000_000 + k, 10 + k) for k in range(20)], [s.replace(k, k + 1, k % 3) for k in range(count)]


def add_then_delete(s, count):
    return [s.add(1_000_000, 1)], [m for r in range(1, 1 + count // 2) for m in (s.add(r, 0), s.delete(r))]


def execute_then_delete(s, count):
    """The tightest there is for the order table: the delete reads the entry in the cycle in which the execute writes it."""
    there = _many(s, count // 2)
    return [s.add(r, 0) for r in there], [m for r in there for m in (s.execute(r), s.delete(r))]


PATTERNS = {
    "A, one level": adds_one_level, "A, each a new best (then D)": adds_improve,
    "D, one level": deletes_one_level, "D, each uncovers a new best": deletes_new_best,
    "E, one order": executes_one_order, "C, one order": executes_with_price, "X, one order": cancels_one_order,
    "U, moves the best": replaces_move_best, "A then D, the same order": add_then_delete, "E then D, the same order": execute_then_delete}
