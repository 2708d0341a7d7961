"""Rows as the golden book says they must be, message by message, for the tests of the data commands."""
import gzip
import zlib
from collections import Counter

from tickgate.spec import itch50
from tickgate.twin.book import Book, new_counters


class Unlimited:
    """An order table that is never full."""

    def is_wide(self, reference):
        return False

    def take(self, reference):
        return True

    def give_back(self, room):
        pass


def blocks(raw):
    """Messages of a BinaryFILE, up to its end marker or to the last whole one; may be compressed and cut."""
    if raw[:2] == b"\x1f\x8b":
        raw = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(raw)
    at, out = 0, []
    while at + 2 <= len(raw):
        length = int.from_bytes(raw[at:at + 2], "big")
        if not length or at + 2 + length > len(raw):
            break
        out.append(raw[at + 2:at + 2 + length])
        at += 2 + length
    return out


def binaryfile(messages):
    """The BinaryFILE of some messages."""
    return b"".join(len(m).to_bytes(2, "big") + m for m in messages) + b"\0\0"


def decoded(messages):
    """``(number, letter, fields)`` of messages of known type and size."""
    return [(k, m[:1].decode(), itch50.BY_CODE[m[:1]].decode(m)) for k, m in enumerate(messages, 1)]


class Reference:
    """All books of a day. ``take`` one decoded message; returns the ``Outcome`` of a book message."""

    def __init__(self):
        self.books, self.names, self.lots, self.trading = {}, {}, {}, {}

    def book(self, locate):
        if locate not in self.books:
            self.books[locate] = Book(0, 1, 1 << 32, Unlimited(), new_counters())
        return self.books[locate]

    def take(self, letter, m):
        book = self.book(m["stock_locate"]) if letter in "AFECXDU" else None
        if letter == "R":
            self.names[m["stock_locate"]] = m["stock"].decode().strip()
            self.lots[m["stock_locate"]] = m["round_lot_size"]
        elif letter == "H":
            self.trading[m["stock_locate"]] = m["trading_state"].decode()
        elif letter in "AF":
            return book.add(m["order_ref"], int(m["side"] == b"S"), m["shares"], m["price"])
        elif letter in "ECX":
            return book.reduce(m["order_ref"], m["executed_shares" if letter != "X" else "cancelled_shares"])
        elif letter == "D":
            return book.delete(m["order_ref"])
        elif letter == "U":
            return book.replace(m["original_order_ref"], m["new_order_ref"], m["shares"], m["price"])
        return None

    def top(self, locate):
        """``bid_px bid_qty bid_orders ask_px ask_qty ask_orders``, None on an empty side."""
        out = []
        for side in self.book(locate).sides:
            level = side.top()[0]
            out += [level.price, level.quantity, len(level.orders)] if level else [None] * 3
        return tuple(out)

    def levels(self, locate, n):
        """Of each side, best first, ``n`` times ``(price, shares, orders)`` or None."""
        shot = self.book(locate).snapshot()
        return [[(d.price, d.quantity, d.count) for d in side[:n]] + [None] * (n - len(side[:n])) for side in (shot.bids, shot.asks)]


def bbo(messages, symbols=None):
    """Rows of every book message: time, symbol, number, top."""
    reference, out = Reference(), []
    for number, letter, m in decoded(messages):
        reference.take(letter, m)
        if letter in "AFECXDU":
            name = reference.names.get(m["stock_locate"])
            if symbols is None or name in symbols:
                out.append((m["timestamp"], name, number, *reference.top(m["stock_locate"])))
    return out


def changes(rows):
    """Rows without those that leave price and shares of a symbol's top as they were."""
    last, out = {}, []
    for row in rows:
        top = row[3], row[4], row[6], row[7]
        if last.get(row[1], (None,) * 4) != top:
            out.append(row)
        last[row[1]] = top
    return out


def table(text):
    """A CSV as a list of dicts: integers, None where there is nothing, texts."""
    names, *lines = [line.split(",") for line in text.splitlines()]
    return [{name: _value(value) for name, value in zip(names, line, strict=True)} for line in lines]


def _value(text):
    if text == "":
        return None
    try:
        return int(text)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            return text


def types(messages):
    """Counts by type letter."""
    return dict(Counter(m[:1].decode() for m in messages))


def unzipped(path):
    return gzip.decompress(path.read_bytes())
