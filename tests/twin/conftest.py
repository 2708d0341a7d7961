"""A small bench around the twin, and a second book that shares nothing with it but the tables of ``tickgate.spec``."""
import zlib

import pytest

from tickgate.spec import itch50, records
from tickgate.spec import moldudp64 as mold
from tickgate.spec.hashing import bucket
from tickgate.spec.presets import PRESETS
from tickgate.twin import Golden, Symbol
from tickgate_sim.streams import udp_frame

GROUP = (0xE9360C65, 26477)
SESSION = b"0000000001"
#: One symbol at 100.00 to 102.55 (256 ticks of 0.01), one at 1.00 to 1.0255 (ticks of 0.0001).
SYMBOLS = (Symbol(1, 11, 1_000_000, 100, "AAA"), Symbol(2, 22, 10_000, 1, "BBB"))


def message(code, locate=11, **fields):
    """One ITCH message by its layout."""
    return itch50.BY_CODE[code.encode()].encode(stock_locate=locate, tracking_number=0x0203, timestamp=0x0405060708AA, **fields)


def rows(array):
    """Records as dicts, each decoded as its own kind says."""
    kinds = {layout.code[0]: layout for layout in records.RECORDS.values()}
    return [{**kinds[raw[0]].decode(raw), "kind": kinds[raw[0]].name} for raw in (row.tobytes() for row in array)]


class Bench:
    """A twin and the feed that drives it: numbers go on by themselves."""

    def __init__(self, symbols=SYMBOLS, preset=PRESETS["small"], filters=(GROUP,), start=1):
        self.golden = Golden(preset, symbols, filters, start=start)
        self.number, self.session = start, SESSION

    def payload(self, messages, number=None, session=None, count=None):
        number = self.number if number is None else number
        return (mold.HEADER.encode(session=session or self.session, sequence=number, count=len(messages) if count is None else count)
                + b"".join(mold.BLOCK.encode(length=len(m)) + m for m in messages))

    def send(self, *messages, number=None, session=None, count=None, bad_fcs=False, cut=None, destination=GROUP, **shape):
        """One packet of messages; its records. ``cut``: bytes of the frame that come."""
        frame = udp_frame(self.payload(messages, number, session, count), destination, **shape)
        if number is None:
            self.number += len(messages)
        return self.raw(frame[:cut], bad_fcs)

    def raw(self, frame, bad_fcs=False, cycles=None):
        self.golden.frame(frame, bad_fcs, cycles)
        return rows(self.golden.take())

    def count(self, block):
        """Counters of a block that are not zero."""
        return {name: n for name, n in self.golden.counters[block].items() if n}


class Brute:
    """A book by the letter of docs/path.md: one list of orders for all symbols, and a scan for every question."""

    def __init__(self, preset, symbols):
        self.preset, self.symbols = preset, {s.locate: s for s in symbols}
        self.orders = []                     # [slot, reference, sell, price, shares, (subtable, bucket)], oldest first
        self.published = {s.slot: b"" for s in symbols}
        self.stale = {s.slot for s in symbols if s.stale}
        self.outside = 0

    def find(self, slot, reference):
        return next((o for o in self.orders if o[:2] == [slot, reference]), None)

    def room(self, reference):
        p = self.preset
        rooms = [(k, bucket(reference, k, p.index_bits, p.reference_bits)) for k in range(p.tables)]
        taken, room = min((sum(o[5] == room for o in self.orders), room) for room in rooms)
        return room if taken < p.ways else None

    def place(self, symbol, price):
        """near, far or the price itself."""
        inside = [symbol.base + k * symbol.tick for k in range(self.preset.ticks)]
        if price in inside:
            return price
        return "below" if price < inside[0] else "above" if price >= inside[-1] + symbol.tick else "between"

    def best(self, symbol, sell):
        """Price and shares of the best level; whether it is unknown."""
        where = [(self.place(symbol, o[3]), o[4]) for o in self.orders if o[0] == symbol.slot and o[2] == sell]
        inside = [w for w, _ in where if isinstance(w, int)]
        near = {"between", "below" if sell else "above"}
        outside = [w for w, _ in where if not isinstance(w, int)]
        if near & set(outside) or (outside and not inside):
            return None, None, True
        if not inside:
            return None, None, False
        price = min(inside) if sell else max(inside)
        return price, sum(q for w, q in where if w == price), False

    def add(self, symbol, reference, sell, price, shares):
        if reference >> self.preset.reference_bits:
            return records.WIDE_REFERENCE
        if self.find(symbol.slot, reference):
            return records.DUPLICATE_REFERENCE
        room = self.room(reference)
        if room is None:
            return records.TABLE_FULL
        self.orders.append([symbol.slot, reference, sell, price, shares, room])
        self.outside += not isinstance(self.place(symbol, price), int)
        return 0

    def apply(self, raw):
        """A whole book message: what its record must say, or ``None`` when it is of no tracked symbol."""
        code = raw[:1]
        m = itch50.BY_CODE[code].decode(raw)
        symbol = self.symbols.get(m["stock_locate"])
        if symbol is None:
            return None
        fault, sell, price, shares = 0, 0, 0, 0
        if code in b"AF":
            sell, price, shares = m["side"][0] & 1, m["price"], m["shares"]
            fault = self.add(symbol, m["order_ref"], sell, price, shares)
        else:
            reference = m["original_order_ref"] if code == b"U" else m["order_ref"]
            order = self.find(symbol.slot, reference)
            if reference >> self.preset.reference_bits:
                fault = records.WIDE_REFERENCE
            elif order is None:
                fault = records.UNKNOWN_REFERENCE
            else:
                sell, price = order[2], order[3] if isinstance(self.place(symbol, order[3]), int) else 0
            if code in b"ECX":
                shares = m["cancelled_shares"] if code == b"X" else m["executed_shares"]
                if not fault and shares >= order[4]:
                    fault = records.OVERFILL if shares > order[4] else 0
                    self.orders.remove(order)
                elif not fault:
                    order[4] -= shares
            elif code == b"D" and not fault:
                shares = order[4]
                self.orders.remove(order)
            elif code == b"U":
                price, shares = m["price"], m["shares"]
                if not fault:
                    fault = self.add(symbol, m["new_order_ref"], sell, price, shares)
                    self.orders.remove(order)
        if fault:
            self.stale.add(symbol.slot)
        return self.record(symbol, code, fault, sell, price, shares)

    def record(self, symbol, code, fault, sell, price, shares):
        bid, bid_shares, bid_unknown = self.best(symbol, 0)
        ask, ask_shares, ask_unknown = self.best(symbol, 1)
        stale = symbol.slot in self.stale
        on = {"VALID": not (stale or bid_unknown or ask_unknown), "BID": bid is not None, "ASK": ask is not None, "BID_UNKNOWN": bid_unknown,
              "ASK_UNKNOWN": ask_unknown, "STALE": stale, "CROSSED": bid is not None and ask is not None and bid >= ask, "SELL": bool(sell)}
        clip = (1 << 32) - 1
        row = {"kind": "top_of_book", "flags": sum(1 << records.FLAGS[name][0] for name, is_on in on.items() if is_on), "slot": symbol.slot,
               "message": code[0], "detail": fault, "bid_px": bid or 0, "bid_qty": min(bid_shares or 0, clip), "ask_px": ask or 0,
               "ask_qty": min(ask_shares or 0, clip), "order_px": price, "order_qty": shares}
        return row

    def digest(self, slot, row):
        """Running digest after a record was published: CRC-32 over all that was hashed so far."""
        raw = b"".join(row[f].to_bytes(4, "little") for f in ("bid_px", "bid_qty", "ask_px", "ask_qty"))
        self.published[slot] += raw + bytes([row["flags"], row["state"]])
        return zlib.crc32(self.published[slot])


@pytest.fixture
def bench():
    return Bench()


@pytest.fixture
def make_bench():
    return Bench


@pytest.fixture
def make_message():
    return message


@pytest.fixture
def brute():
    return Brute


@pytest.fixture(scope="session")
def itch_data(real_data):
    """Directory of real ITCH files; skips when it is not there."""
    return real_data("itch")
