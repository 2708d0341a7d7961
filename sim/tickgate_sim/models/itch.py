"""What feed.itch makes of messages, cycle by cycle. Which messages count as what is the twin's word; what is in them is that of ``tickgate.spec.itch50``."""
from collections import Counter
from itertools import pairwise

from tickgate.spec import hashing, itch50, records
from tickgate.spec import moldudp64 as mold
from tickgate.spec.registers import FEED
from tickgate.twin.itch import MARKET, TOO_SHORT, Feed
from tickgate.twin.moldudp64 import MoldUDP64
from tickgate.twin.net import Net
from tickgate_hdl.feed.events import Op

from .datagram import datagram_words
from .hop import Script
from .moldudp64 import BLOCK_WORDS, HEADER_WORDS, take
from .wire import LANES

COUNTERS = tuple(r.name for r in FEED.registers if r.access == "count")
LATENCY = 1               # cycles from the word with the last needed byte
CONTEXT_LATENCY = 2       # from it to the context, from a header to that of a gap
HOLD = 5                  # cycles for which the fields of an update stay, but for what it does
_LOAD_AT = 4              # cycles after a frame's first word until symbols may be loaded before it: the frame before is through
_SHOWN = 40               # types whose count is looked up in the end
_SHORT = ord(records.GAPS["message"][0])
_OPS = {**dict.fromkeys(b"AF", Op.ADD), **dict.fromkeys(b"ECX", Op.TAKE), ord("D"): Op.DELETE, ord("U"): Op.REPLACE}


class LocateModel:
    """Slots and the locates in them; the last slot loaded with a locate has it."""

    def __init__(self):
        self.slot_of = {}

    def load(self, slot, locate, tracked):
        """Load a slot; ``tracked`` 0 forgets what is in it. A locate must be forgotten in its own slot before another slot may have it."""
        if self.slot_of.get(locate, slot) != slot:
            raise ValueError(f"locate {locate} is in slot {self.slot_of[locate]}")
        self.slot_of = {k: v for k, v in self.slot_of.items() if v != slot}
        if tracked:
            self.slot_of[locate] = slot


class ItchScript(Script):
    """Messages, made from frames, into an ``ItchParser``. ``loads``: by index of the frame before which they are done, lists of (slot, locate, tracked).
    ``type_count``: by type, what a parser that was used before has counted; its memory knows no reset."""

    resting = {"messages.valid": 0, "headers.valid": 0, "load": 0, "clear": 0}
    quiet = ("keys.valid", "updates.valid", "contexts.valid", "abandoned")

    def __init__(self, seed, sent, filters, *, loads, index_bits, reference_bits, tables, type_count=(0,) * 256):
        end = sent[-1].last + 12
        super().__init__(seed, end + _SHOWN + 1)
        self._sizes = index_bits, reference_bits, tables
        self.twin, self.locates = Feed({}), LocateModel()
        self.twin.type_count = list(type_count)
        net, self._mold = Net(filters), MoldUDP64(mold.FIRST_SEQUENCE, LANES)
        self._held = [(0, {"messages.payload.ok": 0, "messages.payload.at": 0})]   # (cycle from which they hold, fields), in order
        self.taken, self.numbers = [], 0
        starts = [0]
        for k, s in enumerate(sent):
            self._load(s.cycles[0] + _LOAD_AT, loads.get(k, ()))
            datagram = net.take(s.frame, s.bad_fcs)
            words = list(s.words(self.rng))
            if datagram is None:
                self._words(s, words[HEADER_WORDS:], [], LANES * (HEADER_WORDS + 5) + 2)
                continue
            t = take(s, datagram, self._mold)
            self.taken.append(t)
            if len(self.taken) > 1:
                starts.append(t.first)
            self._held.append((t.first, {"messages.payload.source": datagram.source}))
            self._words(s, datagram_words(words, datagram), t.blocks, t.beyond)
            before = dict(self.twin.counters)
            self._messages(t)
            t.counts.clear()
            t.counts.update({name: self.twin.counters[name] - before[name] for name in COUNTERS})
        for t, (a, b) in zip(self.taken, pairwise([*starts, end])):
            self.expect_counts(a, b, t.counts)
        come = [code for code, n in enumerate(self.twin.type_count) if n]
        for k in range(_SHOWN):                          # those that came, and others
            code = come[k] if k < len(come) else self.rng.randrange(256)
            self.drive(end + k, {"type_select": code})
            self.expect(end + k + 1, {"type_count": self.twin.type_count[code]})
        held, changes = {}, sorted(self._held, key=lambda change: change[0])
        for cycle in range(self.cycles):
            while changes and changes[0][0] <= cycle:
                held.update(changes.pop(0)[1])
            self.drive(cycle, {"time_ns": self.time_ns(cycle), **held})

    # ---- in

    def _load(self, cycle, loads):
        if len(loads) > HEADER_WORDS - _LOAD_AT:
            raise ValueError("more loads than fit before the frame's datagram")
        for k, (slot, locate, tracked) in enumerate(loads):
            self.drive(cycle + k, {"load": 1, "load_slot": slot, "load_symbol.locate": locate, "load_symbol.tracked": tracked})
            self.locates.load(slot, locate, tracked)
        self.twin.locates = dict(self.locates.slot_of)

    def _words(self, sent, words, blocks, beyond):
        """Drive message words. After the last block that fits, one more seems to begin and is not handed on, as in the hop before."""
        place = {}
        outer = [b for b in blocks if not b.is_inner]
        begins = [(b.at, b.judged, b.is_new, b.number) for b in outer]
        if beyond is not None and beyond // LANES < len(sent.cycles):
            begins.append((beyond, (*sent.cycles, sent.last + 1)[beyond // LANES + 1], False, self.rng.getrandbits(32)))
        for k, (at, judged, is_new, number) in enumerate(begins):
            end = begins[k + 1][0] // LANES if k + 1 < len(begins) else len(sent.cycles)
            for word in range(at // LANES + 1, min(end + 1, at // LANES + BLOCK_WORDS, len(sent.cycles))):
                place[sent.cycles[word]] = 1 << word - at // LANES, at % LANES
            self._held.append((judged + 2, {"messages.payload.ok": int(is_new), "messages.payload.number": number & 0xFFFFFFFF}))
        for (before, _), (cycle, word) in pairwise(words):
            at, lane = place.get(cycle, (0, self.rng.randrange(LANES)))
            self._held.append((before + 1, {"messages.payload.at": at, "messages.payload.lane": lane}))   # of the next word, between words too
            there = (1 << word["count"]) - 1 if word["last"] else (1 << LANES) - 1
            self.drive(cycle, {"messages.valid": 1, **{f"messages.payload.{name}": value for name, value in (
                ("data", word["data"]), ("last", word["last"]), ("there", there))}})
        self._held.append((sent.last + 1, {"messages.payload.at": 0}))

    # ---- out

    def _messages(self, t):
        frame, was_short = t.sent.frame, False
        new = [b for b in t.blocks if b.is_new]
        self.numbers += len(new)
        told_in = Counter(b.header for b in new)         # blocks by the cycle of their header: one or two
        for b in new:
            kind, body = ("inner" if b.is_inner else "outer"), b.at + mold.BLOCK.size
            told = {"headers.valid": 1, f"headers.payload.{kind}": 1, f"headers.payload.{kind}_length": b.length,
                    "headers.payload.inner_number" if b.is_inner else "headers.payload.number": b.number,
                    "headers.payload.first": int(b.header == new[0].header), "headers.payload.time": self.time_ns(t.header)}
            if b.length:
                told[f"headers.payload.{kind}_type"] = frame[body]
            if told_in[b.header] == 1:
                told["headers.payload.outer" if b.is_inner else "headers.payload.inner"] = 0
            self.drive(b.header, told)
            event = self.twin.event(frame, body, b.length)
            if event is None:
                continue
            code, slot = event
            if slot != TOO_SHORT:
                self._event(t, b, code, slot)
            elif not was_short:
                was_short = True
                self._context(t, b.header, kind="gap", message=code, market=1, detail=_SHORT, number=b.number & 0xFFFFFFFF, first=b.number, second=0,
                              side=0, time=self.time_ns(t.header))

    def _context(self, t, cycle, *, kind, **values):
        """A context ``CONTEXT_LATENCY`` cycles after ``cycle``."""
        values = {"kind": records.KINDS[kind], "source": t.datagram.source, "time": self.time_ns(cycle), **values}
        self.expect(cycle + CONTEXT_LATENCY, {"contexts.valid": 1, **{f"contexts.payload.{name}": value for name, value in values.items()}})

    def _event(self, t, b, code, slot):
        """Keys, update and contexts of a message that is used, as far as the frame brought it."""
        layout, frame = itch50.BY_CODE[bytes([code])], t.sent.frame
        body = b.at + mold.BLOCK.size
        come = len(frame) - body
        m = layout.decode(frame[body:body + layout.size].ljust(layout.size, b"\0"))
        letter = chr(code)

        def cycle(end):
            return t.sent.cycle_of(body + end - 1)

        def key(reference, end, **flags):
            if come >= end:
                self._key(cycle(end) + LATENCY, slot, m[reference], flags)

        head = {"message": code, "number": b.number & 0xFFFFFFFF, **({"market": 1} if slot == MARKET else {"market": 0, "slot": slot})}
        needed = itch50.NEEDED[layout.code]
        if letter in "AF":
            key("order_ref", layout["order_ref"].end, insert=1)
        elif letter == "D":
            key("order_ref", layout["order_ref"].end, whole=1)
        elif letter in "ECX":
            key("order_ref", needed)
        elif letter == "U":
            key("original_order_ref", layout["original_order_ref"].end, whole=1, replace=1)
            key("new_order_ref", layout["new_order_ref"].end, insert=1, whole=1, replace=1)
            if layout["original_order_ref"].end <= come < needed:
                self.expect(t.sent.last + LATENCY, {"abandoned": 1})
        if come < needed:
            return
        wire = cycle(needed)
        if code in _OPS:
            shares = m.get("shares", m.get("executed_shares", m.get("cancelled_shares", 0)))
            update = {"slot": slot}
            if letter != "D":
                update["qty"] = shares
            if letter in "AFU":
                update["price"] = m["price"]
            if letter in "AF":
                update["side"] = m["side"][0] & 1
            self.expect(wire + LATENCY, {"updates.valid": 1, "updates.payload.op": _OPS[code].value})
            for later in range(HOLD):
                if wire + LATENCY + later < self.cycles:
                    self.expect(wire + LATENCY + later, {f"updates.payload.{name}": value for name, value in update.items()})
            self._context(t, wire, kind="top_of_book", **head, side=0, detail=0, first=update.get("price", 0) << 32 | shares, second=0)
        if letter == "C" and come >= layout["execution_price"].end:
            self._context(t, cycle(layout["execution_price"].end), kind="trade", **head, side=0, detail=m["printable"][0], first=m["executed_shares"],
                          second=m["execution_price"])
        elif letter == "P":
            self._context(t, wire, kind="trade", **head, side=m["side"][0] & 1, detail=ord("Y"), first=m["shares"], second=m["price"])
        elif letter == "Q":
            self._context(t, wire, kind="trade", **head, side=0, detail=m["cross_type"][0], first=m["shares"], second=m["cross_price"])
        elif layout.code in itch50.STATUS_CODES:
            extra = {"extra": m["market_code"][0]} if letter == "h" else {}
            self._context(t, wire, kind="status", **head, side=0, detail=frame[body + itch50.STATUS_CODES[layout.code]], first=0, second=0, **extra)

    def _key(self, cycle, slot, reference, flags):
        index_bits, reference_bits, tables = self._sizes
        is_wide = reference >> reference_bits != 0
        kept = reference & (1 << reference_bits) - 1
        self.expect(cycle, {"keys.valid": 1, **{f"keys.payload.{name}": value for name, value in {
            "insert": 0, "whole": 0, "replace": 0, **flags, "slot": slot, "rest": kept >> index_bits, "wide": int(is_wide),
            **{f"buckets.{k}": hashing.bucket(kept, k, index_bits, reference_bits) for k in range(tables)}}.items()}})
