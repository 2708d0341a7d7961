"""A made-up trading day in ITCH 5.0, the same for the same seed everywhere: integers only.

``python -m tickgate.capture.synthetic`` writes the sample that is shipped.
"""
import gzip
import random
from bisect import bisect_right
from itertools import accumulate

from ..spec import itch50, moldudp64
from ..spec.presets import TICK_SIZES
from .sample import sample_path

SAMPLE = {"seed": 1, "symbols": 16, "messages": 60_000}

SECOND = 1_000_000_000
HOUR = 3600 * SECOND
START, SYSTEM, OPEN, CLOSE, END = 3 * HOUR, 4 * HOUR, 9 * HOUR + HOUR // 2, 16 * HOUR, 20 * HOUR   # ns since midnight
CENT, _, FINE = TICK_SIZES
CHEAP = 2                     # number of the symbol that trades below a dollar
STUB_ASK = 1_999_999_900      # 199,999.99 USD: the market maker's quote that nobody takes
NAMES = ("ALFA", "BRAVO", "CHARLIE", "DELTA", "ECHO", "FOXTROT", "GOLF", "HOTEL",
         "INDIA", "JULIETT", "KILO", "LIMA", "MIKE", "NOVEMBER", "OSCAR", "PAPA")
MAKERS = ("MKRA", "MKRB", "MKRC")
LEAST = 60                    # messages a symbol that a day must have
OPENING, CLOSING, HALT = "O", "C", "H"   # cross types
PIECE = 1 << 14               # messages that are handed out at once

#: Of 1000 messages of continuous trading, about so many are adds (some of them F), deletes, replaces, cancels, executions (E; some C and P instead), and L.
MIX = {"A": 410, "D": 350, "U": 110, "X": 35, "L": 5, "E": 90}


def day(seed, symbols=16, messages=60_000, **how):
    """A whole day as a BinaryFILE: ``messages`` messages of ``symbols`` symbols, then the end marker. Returns ``bytes``. ``how``: see ``pieces``."""
    return b"".join(pieces(seed, symbols, messages, **how))


def pieces(seed, symbols=16, messages=60_000, *, mix=None, auctions=True, halts=1):
    """The same piece after piece: whole messages, each behind its length, and the end marker at last.

    Pre-open orders (the book may be crossed), opening cross, continuous trading with halts and reopening crosses, closing cross. Prices walk around
    a middle; the third symbol trades below a dollar in steps of 0.0001 USD. Every D X E C U names a live order, none is executed beyond its shares.

    ``mix``: weights that replace some of ``MIX``; without ``auctions`` nothing crosses before the open and there is no cross; ``halts``: how many.
    Raises ``ValueError`` for what cannot be.
    """
    if symbols < 1 or messages < symbols * LEAST:
        raise ValueError(f"a day needs a symbol and {LEAST} messages for each, not {symbols} symbols and {messages} messages")
    if symbols >= 1 << 16:
        raise ValueError(f"a day has at most 65535 symbols, not {symbols}")
    if halts < 0 or halts * LEAST > messages:
        raise ValueError(f"there can be no {halts} halts in {messages} messages: each needs {LEAST}")
    weights = {**MIX, **(mix or {})}
    for name, weight in weights.items():
        if name not in MIX or weight < 0:
            raise ValueError(f"mix: {name}={weight} is none of {', '.join(MIX)} with a weight from 0")
    if not weights["A"]:
        raise ValueError("mix: without A there is nothing to trade")
    return _Day(seed, symbols, messages, weights, auctions, halts).pieces()


class _Book:
    """One symbol: its live orders, side ``B`` and ``S`` by price in order of arrival, and the middle that its prices walk around."""

    def __init__(self, locate, name, tick, middle):
        self.locate, self.name, self.tick, self.middle = locate, name, tick, middle
        self.orders = {}                    # reference: [side, shares, price]
        self.order = []                     # references of those that may be withdrawn, for a random one
        self.place = {}                     # where they are in it
        self.sides = {"B": {}, "S": {}}     # price: references, oldest first
        self.halted = False

    def add(self, reference, side, shares, price, stays=False):
        self.orders[reference] = [side, shares, price]
        if not stays:
            self.place[reference] = len(self.order)
            self.order.append(reference)
        self.sides[side].setdefault(price, []).append(reference)

    def remove(self, reference):
        side, _, price = self.orders.pop(reference)
        level = self.sides[side][price]
        level.remove(reference)
        if not level:
            del self.sides[side][price]
        if reference in self.place:
            place, last = self.place.pop(reference), self.order.pop()
            if last != reference:
                self.order[place], self.place[last] = last, place

    def take(self, reference, shares):
        self.orders[reference][1] -= shares
        if not self.orders[reference][1]:
            self.remove(reference)

    def best(self, side):
        prices = self.sides[side]
        return (max(prices) if side == "B" else min(prices)) if prices else None


class _Day:
    def __init__(self, seed, symbols, messages, mix, auctions, halts):
        self.rng = random.Random(seed)
        self.mix, self.limits = list(mix), list(accumulate(mix.values()))
        self.auctions, self.halts = auctions, halts
        self.target, self.out, self.count, self.time = messages, [], 0, START
        self.reference, self.match, self.matches = 1000, 0, []
        self.books = []
        for k in range(symbols):
            cheap = k == CHEAP
            middle = 4000 + self.below(4000) if cheap else (1000 + self.below(30_000)) * CENT
            self.books.append(_Book(k + 1, NAMES[k] if k < len(NAMES) else f"SYM{k:05}", FINE if cheap else CENT, middle))
        self.weights = list(accumulate(1000 // (k + 2) + 10 for k in range(symbols)))   # a few symbols make most of the messages

    # -- small things

    def below(self, n):
        return self.rng.randrange(n)

    def one_in(self, n):
        return not self.rng.randrange(n)

    def emit(self, code, locate, **values):
        message = itch50.BY_CODE[code].encode(stock_locate=locate, tracking_number=2 * self.below(4), timestamp=self.time, **values)
        self.out.append(len(message).to_bytes(moldudp64.BLOCK.size, "big") + message)
        self.count += 1

    def of(self, code, book, **values):
        self.emit(code, book.locate, **values)

    def named(self, code, book, **values):
        self.emit(code, book.locate, stock=book.name, **values)

    def wait(self, most):
        self.time += 1 + self.below(most)

    def event(self, code, time):
        self.time = max(self.time + 1, time)
        self.emit(b"S", 0, event_code=code)

    def pick(self):
        at = self.below(self.weights[-1])
        return self.books[bisect_right(self.weights, at)]

    def shares(self):
        return 1 + self.below(99) if self.one_in(4) else 100 * (1 + self.below(1 + self.below(20)))

    def next_reference(self):
        self.reference += 1 + self.below(12)
        return self.reference

    def next_match(self):
        self.match += 1 + self.below(3)
        if self.matches is not None:
            self.matches.append(self.match)
        return self.match

    def price(self, book, side, may_cross=False):
        """A price for a new order: mostly near the middle, behind the other side's best unless it may cross."""
        away = self.below(2000) if self.one_in(60) else min(self.below(60), self.below(60)) - (4 if may_cross else 0)
        price = book.middle + (-away if side == "B" else away) * book.tick
        other = book.best("S" if side == "B" else "B")
        if other is not None and not may_cross:
            price = min(price, other - book.tick) if side == "B" else max(price, other + book.tick)
        return max(price, book.tick)

    # -- what happens to a book

    def add(self, book, side, price, stays=False):
        reference, shares = self.next_reference(), self.shares()
        fields = {"order_ref": reference, "side": side, "shares": shares, "price": price}
        if self.one_in(20):
            self.named(b"F", book, attribution=MAKERS[self.below(len(MAKERS))], **fields)
        else:
            self.named(b"A", book, **fields)
        book.add(reference, side, shares, price, stays)

    def delete(self, book):
        reference = book.order[self.below(len(book.order))]
        self.of(b"D", book, order_ref=reference)
        book.remove(reference)

    def cancel(self, book):
        reference = book.order[self.below(len(book.order))]
        shares = book.orders[reference][1]
        if shares == 1:
            return self.delete(book)
        cancelled = 1 + self.below(shares - 1)
        self.of(b"X", book, order_ref=reference, cancelled_shares=cancelled)
        book.take(reference, cancelled)

    def replace(self, book):
        old = book.order[self.below(len(book.order))]
        side = book.orders[old][0]
        new, shares, price = self.next_reference(), self.shares(), self.price(book, side)
        self.of(b"U", book, original_order_ref=old, new_order_ref=new, shares=shares, price=price)
        book.remove(old)
        book.add(new, side, shares, price)

    def execute(self, book):
        """An incoming order takes from the oldest of the best level; sometimes at a better price (C), sometimes a hidden order (P)."""
        side = "B" if book.best("B") is not None and (book.best("B") > book.middle or self.one_in(2)) else "S"
        price = book.best(side)
        if price is None:
            return self.add(book, side, self.price(book, side))
        reference = book.sides[side][price][0]
        shares = book.orders[reference][1]
        taken = shares if self.one_in(2) else 1 + self.below(shares)
        if self.one_in(5):
            self.named(b"P", book, order_ref=0, side="B", shares=taken, price=price, match_number=self.next_match())
            return None
        if self.one_in(12):
            better = max(price + (book.tick if side == "S" else -book.tick), 1)
            self.of(b"C", book, order_ref=reference, executed_shares=taken, match_number=self.next_match(), printable="N" if self.one_in(8) else "Y",
                    execution_price=better)
        else:
            self.of(b"E", book, order_ref=reference, executed_shares=taken, match_number=self.next_match())
        book.take(reference, taken)

    def imbalance(self, book, cross):
        direction = ("B", "S", "N")[self.below(3)]
        self.named(b"I", book, paired_shares=100 * self.below(500), imbalance_shares=0 if direction == "N" else 100 * (1 + self.below(90)),
                   imbalance_direction=direction, far_price=book.middle, near_price=book.middle, current_reference_price=book.middle,
                   cross_type=cross, price_variation="L")

    def cross(self, book, kind):
        """Orders that cross trade at the middle without a print of their own (C), then one print of all (Q)."""
        total = 0
        while book.best("B") is not None and book.best("S") is not None and book.best("B") >= book.best("S"):
            pair = [book.sides[side][book.best(side)][0] for side in "BS"]
            shares = min(book.orders[reference][1] for reference in pair)
            for reference in pair:
                self.of(b"C", book, order_ref=reference, executed_shares=shares, match_number=self.next_match(), printable="N",
                        execution_price=book.middle)
                book.take(reference, shares)
            total += shares
        self.named(b"Q", book, shares=total, cross_price=book.middle if total else 0, match_number=self.next_match(), cross_type=kind)

    def state(self, book, state, reason=" "):
        book.halted = state in "HP"
        self.named(b"H", book, trading_state=state, reason=reason)

    # -- the day

    def pieces(self):
        self.morning()
        yield from self.pre_open(self.target // 10)
        self.opening()
        yield from self.trade(self.target - len(self.books) * self.auctions - 3)
        self.evening()
        yield self.flush() + bytes(moldudp64.BLOCK.size)

    def flush(self):
        piece = b"".join(self.out)
        self.out.clear()
        return piece

    def morning(self):
        self.event("O", START)
        for book in self.books:
            self.wait(20_000)
            self.named(b"R", book, market_category="Q", financial_status="N", round_lot_size=100, round_lots_only="N", issue_classification="C",
                       issue_sub_type="Z", authenticity="P", short_sale_threshold="N", ipo_flag="N", luld_reference_price_tier="1", etp_flag="N",
                       inverse_indicator="N")
        for book in self.books:
            self.wait(20_000)
            self.state(book, "T")
            self.named(b"Y", book, reg_sho_action="0")
            for maker in MAKERS[:1 + self.below(len(MAKERS))]:
                self.named(b"L", book, mpid=maker, primary_market_maker="Y", market_maker_mode="N", market_participant_state="A")
        self.wait(SECOND)
        self.emit(b"V", 0, level_1=4800 * 10 ** 8, level_2=4500 * 10 ** 8, level_3=4100 * 10 ** 8)
        self.event("S", SYSTEM)
        for book in self.books:
            self.wait(1000)
            self.add(book, "B", book.tick, stays=True)
            self.add(book, "S", STUB_ASK, stays=True)

    def pre_open(self, until):
        begin = self.count
        while self.count < until:
            if len(self.out) >= PIECE:
                yield self.flush()
            self.time = max(self.time + 1, SYSTEM + (OPEN - SYSTEM) * (self.count - begin) // (until - begin + 1))
            for _ in range(1 + self.below(6)):
                book = self.pick()
                self.wait(2000)
                if self.one_in(4) and len(book.order) > 8:
                    self.delete(book)
                else:
                    side = "BS"[self.below(2)]
                    self.add(book, side, self.price(book, side, may_cross=self.auctions))

    def opening(self):
        self.time = max(self.time + 1, OPEN - 60 * SECOND)
        for book in self.books if self.auctions else ():
            for _ in range(2):
                self.wait(SECOND)
                self.imbalance(book, OPENING)
        self.event("Q", OPEN)
        for book in self.books if self.auctions else ():
            self.wait(100_000)
            self.cross(book, OPENING)

    def trade(self, until):
        """Bursts of messages, spread over the session, until ``until`` messages are out; symbols are halted on the way and reopened."""
        begin, span = self.count, until - self.count
        plan = [(span * 60 // 100, lambda: self.broken()), (span * 97 // 100, lambda: self.closing_imbalances(until))]
        for k in range(self.halts):      # from 10 to 90 % of the session, each an eighth of its share of that
            book, parts = self.books[(1 + k) % len(self.books)], 10 * self.halts
            plan += [(span * (self.halts + 8 * k + 3) // parts, lambda book=book: self.halt(book)),
                     (span * (self.halts + 8 * k + 4) // parts, lambda book=book: self.reopen(book))]
        plan.sort(key=lambda act: act[0])
        while self.count < until:
            if len(self.out) >= PIECE:
                yield self.flush()
            done = self.count - begin
            self.time = max(self.time + 1, OPEN + SECOND + (CLOSE - OPEN - 2 * SECOND) * done // span)
            if plan and done >= plan[0][0]:
                plan.pop(0)[1]()
            book = self.pick()
            for _ in range(min(1 + self.below(1 + self.below(24)), until - self.count)):
                self.wait(700)
                self.step(book if self.below(4) else self.pick())

    def step(self, book):
        if self.one_in(6) and not book.halted:
            moved = book.middle + (self.below(3) - 1) * book.tick
            book.middle = max(moved, 100 * book.tick)
        act = self.mix[bisect_right(self.limits, self.below(self.limits[-1]))]
        if len(book.order) < 30 or act == "A":
            side = "BS"[self.below(2)]
            self.add(book, side, self.price(book, side))
        elif act == "D" or book.halted:
            self.delete(book)
        elif act == "U":
            self.replace(book)
        elif act == "X":
            self.cancel(book)
        elif act == "L":
            self.named(b"L", book, mpid=MAKERS[self.below(len(MAKERS))], primary_market_maker="N", market_maker_mode="N",
                       market_participant_state="AW"[self.below(2)])
        else:
            self.execute(book)

    def halt(self, book):
        self.wait(1000)
        self.state(book, "P", "LUDP")

    def reopen(self, book):
        """Quotation only with a collar, cross, trading."""
        self.wait(1000)
        self.named(b"J", book, reference_price=book.middle, upper_price=book.middle + book.middle // 20, lower_price=book.middle - book.middle // 20)
        self.state(book, "Q", "LUDP")
        if self.auctions:
            self.imbalance(book, HALT)
            self.wait(SECOND)
            self.cross(book, HALT)
        self.state(book, "T")
        self.named(b"Y", book, reg_sho_action="1")

    def broken(self):
        self.wait(1000)
        if self.matches:
            self.emit(b"B", self.books[0].locate, match_number=self.matches[len(self.matches) // 2])
        self.matches = None

    def closing_imbalances(self, until):
        for book in self.books[:until - self.count] if self.auctions else ():
            self.wait(1_000_000)
            self.imbalance(book, CLOSING)

    def evening(self):
        self.event("M", CLOSE)
        for book in self.books if self.auctions else ():   # nothing crosses in continuous trading: one message each
            self.wait(100_000)
            self.cross(book, CLOSING)
        self.event("E", END)
        self.event("C", END + 300 * SECOND)


if __name__ == "__main__":
    sample_path().write_bytes(gzip.compress(day(**SAMPLE), 9, mtime=0))
