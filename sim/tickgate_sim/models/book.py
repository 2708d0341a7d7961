"""The hop ``book`` alone: ITCH messages as the parser hands them on, and the top of book that each must give, to the cycle."""
from collections import Counter

from tickgate.spec import ethernet as eth
from tickgate.spec import itch50
from tickgate.spec import moldudp64 as mold
from tickgate.spec.hashing import bucket
from tickgate.spec.presets import TICK_SIZES
from tickgate.twin.book import Book as BookTwin
from tickgate.twin.book import new_counters
from tickgate.twin.capacity import Capacity
from tickgate_hdl.book.book import Book
from tickgate_hdl.feed.events import Op, key
from tickgate_hdl.feed.itch import ItchParser
from tickgate_hdl.feed.locate import LocateTable

from ..streams import udp_frame
from .hop import Script
from .wire import on_wire, packet

_HEADERS = eth.ETHERNET.size + eth.IPV4.size + eth.UDP.size + mold.HEADER.size
_OPS = {b"A": Op.ADD, b"F": Op.ADD, b"E": Op.TAKE, b"C": Op.TAKE, b"X": Op.TAKE, b"D": Op.DELETE, b"U": Op.REPLACE}
_LATENCY = {Op.ADD: Book.LATENCY_ADD, Op.REPLACE: Book.LATENCY_REPLACE, Op.TAKE: Book.LATENCY_REMOVE, Op.DELETE: Book.LATENCY_REMOVE}   # without crossing
_SHARES = {"shares", "executed_shares", "cancelled_shares"}


def key_layout(preset):
    """Layout of the keys of a preset's order table."""
    return key(slot_bits=preset.slot_bits, index_bits=preset.index_bits, reference_bits=preset.reference_bits, tables=preset.tables)


def key_fields(preset, reference, slot, *, insert=0, whole=0, replace=0):
    """A key by its fields, as the parser makes it of a 64-bit reference."""
    kept = reference & (1 << preset.reference_bits) - 1
    buckets = {f"buckets.{k}": bucket(kept, k, preset.index_bits, preset.reference_bits) for k in range(preset.tables)}
    return {"insert": insert, "whole": whole, "replace": replace, "slot": slot, "rest": kept >> preset.index_bits, "wide": int(kept != reference), **buckets}


def new_book(preset, crossing=0):
    """``Book`` with the sizes of a preset."""
    return Book(key_layout=key_layout(preset), symbols=preset.symbols, tick_bits=preset.tick_bits, index_bits=preset.index_bits,
                reference_bits=preset.reference_bits, tables=preset.tables, ways=preset.ways, count_bits=preset.count_bits, crossing=crossing)


class Passing:
    """A message (bytes) that passes in a ``frame`` (``wire.Sent``): ``code``, ``layout``, ``fields`` and ``slot``; and when the parser tells what.

    ``first``: offset of its first byte in the frame; ``is_cut``: the frame ends inside.
    """

    def __init__(self, message, slot, frame, first, is_cut=False):
        self.code, self.layout = message[:1], itch50.BY_CODE[message[:1]]
        self.message, self.fields = message, self.layout.decode(message)
        self.slot, self.frame, self.is_cut = slot, frame, is_cut
        self._first = first

    def has(self, end):
        """Whether the frame brings all bytes before message offset ``end``."""
        return self._first + end <= len(self.frame.frame)

    def word(self, end):
        """Cycle of the word with the last byte before message offset ``end``."""
        return self.frame.cycle_of(self._first + end - 1)

    def told(self, end):
        """Cycle in which the parser tells what it knows then."""
        return self.word(end) + ItchParser.LATENCY

    @property
    def abandoned(self):
        """Cycle in which the parser tells that the frame was over too early."""
        return self.frame.last + ItchParser.LATENCY


def passing(messages, slots, rng, *, pause=0.0, cuts=0.0, start=4):
    """``Passing`` of those of ``messages`` (bytes) that have the length of their type and a locate in ``slots`` (by locate, or of type S or W), in frames
    of one to a hundred.

    ``pause``: probability that a word is late; ``cuts``: that a U is cut between its old reference and its price; ``start``: first cycle.
    """
    frames, members = [], []
    batch, left = [], 0
    ours = [message for message in messages if message[:1] in itch50.BY_CODE and len(message) == itch50.BY_CODE[message[:1]].size
            and (message[:1] in (b"S", b"W") or itch50.BY_CODE[message[:1]].decode(message)["stock_locate"] in slots)]
    for message in ours:
        left = left or rng.choice((1, 2, 10, 33))
        batch.append(message)
        left -= 1
        is_cut = message[:1] == b"U" and rng.random() < cuts
        if not left or is_cut or message is ours[-1]:
            frame = udp_frame(packet(batch), (0xE9000001, 1))
            layout = itch50.BY_CODE[message[:1]]
            cut = len(message) - rng.randrange(layout["original_order_ref"].end, layout["price"].end) if is_cut else 0
            frames.append((frame[:len(frame) - cut], False))
            members.append((batch, is_cut))
            batch, left = [], 0
    for frame, (batch, is_cut) in zip(on_wire(frames, rng, pause=pause, idle=(5, 9), start=start), members):
        at = _HEADERS
        for message in batch:
            at += mold.BLOCK.size
            slot = slots.get(itch50.BY_CODE[message[:1]].decode(message)["stock_locate"])
            yield Passing(message, slot, frame, at, is_cut and message is batch[-1])
            at += len(message)


class BookScript(Script):
    """Inputs and outputs of ``new_book(preset)`` for ITCH messages: everything is cleared, ``symbols`` are loaded, then they come; ``rounds`` of that.

    ``kinds`` counts what happened: by type and fault, and abandoned ones.
    """

    resting = {"keys.valid": 0, "updates.valid": 0, "abandoned": 0, "load": 0, "clear": 0}
    quiet = ("tops.valid",)

    def __init__(self, preset, symbols, rounds, seed, *, pause=0.0, cuts=0.0, crossing=0):
        super().__init__(seed, 0)
        self.preset, self.late, self.kinds = preset, 2 * crossing, Counter()
        self._symbols = {s.locate: s for s in symbols}
        self._event = {}                             # what the event register takes, by cycle
        for messages in rounds:
            first, self.count = self.cycles, new_counters()
            self._start()
            slots = {s.locate: s.slot for s in symbols}
            items = [p for p in passing(messages, slots, self.rng, pause=pause, cuts=cuts, start=self.cycles + 4) if p.code in _OPS]
            self.cycles = items[-1].abandoned + 20 + self.late
            for item in items:
                self._message(item)
            self.expect_counts(first, self.cycles, self.count)
        self._hold_events()

    def _start(self):
        preset = self.preset
        for row in range(1 << max(preset.index_bits, preset.tick_bits, preset.slot_bits)):
            self.drive(self.cycles, {"clear": 1, "clear_row": row})
            self.cycles += 1
        for s in self._symbols.values():
            self.drive(self.cycles, {"load": 1, "load_slot": s.slot, "load_symbol.base": s.base, "load_symbol.tick": TICK_SIZES.index(s.tick)})
            self.cycles += 1
        capacity = Capacity(preset)
        self._books = {s.slot: BookTwin(s.base, s.tick, preset.ticks, capacity, self.count) for s in self._symbols.values()}

    def _key(self, cycle, *args, **kind):
        self.drive(cycle, {"keys.valid": 1, **{f"keys.payload.{name}": value for name, value in key_fields(self.preset, *args, **kind).items()}})

    def _message(self, p):
        f, layout, op = p.fields, p.layout, _OPS[p.code]
        needed = itch50.NEEDED[p.code]
        if op == Op.REPLACE:
            old, new = layout["original_order_ref"], layout["new_order_ref"]
            self._key(p.told(old.end), f[old.name], p.slot, whole=1, replace=1)
            if p.has(new.end):
                self._key(p.told(new.end), f[new.name], p.slot, insert=1, whole=1, replace=1)
        elif op == Op.ADD:
            self._key(p.told(layout["order_ref"].end), f["order_ref"], p.slot, insert=1)
        else:
            self._key(p.told(needed), f["order_ref"], p.slot, whole=int(op == Op.DELETE))
        if p.is_cut:
            self.drive(p.abandoned, {"abandoned": 1})
            self._books[p.slot].abandon(f["original_order_ref"])
            self.kinds["abandoned"] += 1
            return

        update, shares = p.told(needed), next((name for name in layout.field if name in _SHARES), None)
        self.drive(update, {"updates.valid": 1, "updates.payload.op": op.value})
        self._event.setdefault(p.word(layout["stock_locate"].end) + LocateTable.LATENCY + 1, {})["slot"] = p.slot
        if shares:
            self._event.setdefault(p.told(layout[shares].end), {})["qty"] = f[shares]
        if op == Op.ADD:
            self._event.setdefault(p.told(layout["shares"].end), {})["side"] = f["side"][0] & 1
        if op in (Op.ADD, Op.REPLACE):
            self._event.setdefault(update, {})["price"] = f["price"]

        outcome = self._apply(self._books[p.slot], p.code, f, f.get(shares))
        self.count["updates"] += 1
        self.kinds[p.code.decode(), outcome.fault] += 1
        top = {"valid": 1, "payload.side": outcome.sell, "payload.add": int(op in (Op.ADD, Op.REPLACE)), "payload.fault": outcome.fault}
        for name, side in zip(("bid", "ask"), self._books[p.slot].sides):
            top |= {f"payload.{name}.{field}": value for field, value in side_fields(*side.top()).items()}
        done = update + _LATENCY[op] + self.late
        if op in (Op.TAKE, Op.DELETE):
            top["payload.qty"] = outcome.quantity
            self.expect(done + 1, {"order_price": outcome.price})
        self.expect(done, {f"tops.{name}": value for name, value in top.items()})

    @staticmethod
    def _apply(book, code, f, shares):
        if code in b"AF":
            return book.add(f["order_ref"], f["side"][0] & 1, shares, f["price"])
        if code == b"U":
            return book.replace(f["original_order_ref"], f["new_order_ref"], shares, f["price"])
        return book.delete(f["order_ref"]) if code == b"D" else book.reduce(f["order_ref"], shares)

    def _hold_events(self):
        """The event register keeps each field until the parser has the next one. Its side means something for adds alone."""
        now = {}
        for cycle in range(self.cycles):
            now |= self._event.get(cycle, {})
            self.drive(cycle, {f"updates.payload.{name}": value for name, value in now.items()})


def side_fields(level, unknown):
    """Fields of one side of a top of book: of an unknown one no other counts, of an empty one price and quantity do not."""
    if unknown:
        return {"unknown": 1}
    return {"unknown": 0, "some": 1, "price": level.price, "qty": level.quantity} if level else {"unknown": 0, "some": 0}
