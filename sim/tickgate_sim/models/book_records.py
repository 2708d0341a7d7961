"""Records alone: what each must be byte by byte, for messages on the line and tops of book that come out of nowhere."""
import zlib
from collections import Counter

from tickgate.spec import commands, itch50, records
from tickgate.spec.records import ASK, ASK_UNKNOWN, BID, BID_UNKNOWN, CROSSED, FAULTS, KINDS, SELL, STALE, VALID
from tickgate.spec.registers import PUBLISH
from tickgate_hdl.book.book import Book
from tickgate_hdl.book.publish import COUNTERS, Publisher
from tickgate_hdl.book.record import Record

from .book import passing
from .hop import Fields, Script

TOP = (1 << 32) - 1
_SOURCE, _DETAIL = (records.COMMON[name].offset for name in ("source", "detail"))
_TRADES = {ord("S"): ord("Q"), ord("H"): ord("T")}     # codes that lead to continuous trading
_ADDS, _CODES = b"AFU", {code[0]: at for code, at in itch50.STATUS_CODES.items()}


class Slot:
    """State of a symbol. ``empty``: its last top of book had no order on either side."""

    def __init__(self, empty=True):
        self.trading = self.reg_sho = self.halted = self.digest = 0
        self.empty = empty
        self.met = 0          # its last top of book: 1 locked, 2 crossed


class RecordModel:
    """Records as bytes (``sequence`` and lap bit 0) from contexts (fields by name) and tops of book, in order."""

    def __init__(self, slots):
        self._count = slots
        self.clear()

    def clear(self):
        self.slots = [Slot() for _ in range(self._count)]
        self.stale = self.wrong = (1 << self._count) - 1
        self.phase = self.stale_when = 0
        self._later = []
        self.counts = dict.fromkeys(COUNTERS, 0)

    def load(self, slot, stale):
        self.slots[slot] = Slot(self.slots[slot].empty)
        self._set(("stale", slot, stale), ("wrong", slot, stale))

    def distrust(self):
        """All books may be wrong, whatever the last record said."""
        self.stale = self.wrong = (1 << self._count) - 1

    def _set(self, *flags):
        for name, slot, value in flags:
            setattr(self, name, getattr(self, name) & ~(1 << slot) | value << slot)

    def later(self):
        """What the last record makes of stale and wrong, as arguments of ``apply``: it comes a cycle later."""
        later, self._later = self._later, []
        return later

    apply = _set

    def record(self, c, t_out_ns, top=None):
        """``c``: the context; ``top``: top of book with ``order_px``, for kind top_of_book."""
        kind = next(name for name, code in KINDS.items() if code == c["kind"])
        slot = None if c["market"] else self.slots[c["slot"]]
        fields = dict(slot=records.NO_SLOT if slot is None else c["slot"], source=c["source"], message=c["message"], detail=c["detail"],
                      t_wire_ns=c["time"], t_out_ns=t_out_ns, number=c["number"] & records.NUMBER_MASK)
        fields |= getattr(self, f"_{kind}")(c, slot, top)
        trading = reg_sho = 0
        if slot:
            trading, reg_sho = records.TRADING["operational_halt"] if slot.halted else slot.trading, slot.reg_sho
        raw = records.RECORDS[kind].encode(state=trading | reg_sho << 3 | self.phase << 5, **fields)
        if slot is None:
            return raw
        if kind == "top_of_book":
            slot.digest = zlib.crc32(bytes(raw[at] for at in records.DIGEST_BYTES), slot.digest)
        return self._with(raw, "digest", slot.digest)

    @staticmethod
    def _with(raw, name, value):
        field = records.COMMON[name]
        return raw[:field.offset] + value.to_bytes(field.size, "little") + raw[field.end:]

    def _top_of_book(self, c, slot, top):
        fields, best, flags = {}, [], SELL * top["side"]
        for name, there, unknown in (("bid", BID, BID_UNKNOWN), ("ask", ASK, ASK_UNKNOWN)):
            side = top[name]
            if side["unknown"]:
                flags |= unknown
            elif side["some"]:
                flags |= there
                fields |= {f"{name}_px": side["price"], f"{name}_qty": min(side["qty"], TOP)}
                best.append(side["price"])
        met = 0 if len(best) < 2 or best[0] < best[1] else 1 if best[0] == best[1] else 2
        fault = self._meets(slot, met)
        fault = top["fault"] or fault
        slot.met = met
        slot.empty = not any(top[name][part] for name in ("bid", "ask") for part in ("some", "unknown"))
        if fault:
            self._later = [("stale", c["slot"], 1), ("wrong", c["slot"], 1)]
        if fault or self.stale >> c["slot"] & 1:
            flags |= STALE
        elif not flags & (BID_UNKNOWN | ASK_UNKNOWN):
            flags |= VALID
        if met:
            flags |= CROSSED
        order_px, order_qty = (c["first"] >> 32, c["first"] & TOP) if top["add"] else (top["order_px"], top["qty"])
        return fields | dict(flags=flags, order_px=order_px, order_qty=order_qty, detail=fault)

    def _meets(self, slot, met):
        """The fault of a book that comes to be crossed or locked in continuous trading, counted."""
        if met <= slot.met or slot.halted or slot.trading != records.TRADING["T"] or self.phase != records.PHASES["Q"]:
            return records.NO_FAULT
        name = ("locked", "crossed")[met - 1]
        self.counts[name] += 1
        return records.BOOK_FAULTS[name][0] if self.stale_when & PUBLISH["stale_when"].mask(name) else records.NO_FAULT

    def _trade(self, c, slot, top):
        return dict(flags=STALE * (self.stale >> c["slot"] & 1) | SELL * c["side"], qty=c["first"], px=c["second"])

    def _gap(self, c, slot, top):
        return dict(flags=STALE, first=c["first"], count=c["second"])

    def _status(self, c, slot, top):
        message, code = chr(c["message"]), chr(c["detail"])
        if message == "S":
            self.phase = records.PHASES.get(code, self.phase)
        elif message == "H":
            slot.trading = records.TRADING.get(code, 0)
        elif message == "Y":
            slot.reg_sho = records.REG_SHO.get(code, 0)
        elif message == "h" and chr(c["extra"]) == "Q":
            slot.halted = {"H": 1, "T": 0}.get(code, slot.halted)
        if slot is None:
            return dict(flags=0)
        stale, wrong = (flags >> c["slot"] & 1 for flags in (self.stale, self.wrong))
        if c["source"] == commands.HOST:
            if message == commands.LETTERS[commands.HOLD]:
                stale, self._later = 1, [("stale", c["slot"], 1), ("wrong", c["slot"], 0)]
            elif message == commands.LETTERS[commands.ARM]:
                stale, self._later = wrong, [("stale", c["slot"], wrong)]
            elif message == commands.LETTERS[commands.BASE]:
                return dict(flags=STALE * stale, detail=c["detail"] if slot.empty else commands.REFUSED)
        return dict(flags=STALE * stale)


class RecordScript(Script):
    """Contexts of ITCH ``messages`` in every ``rounds``, tops of book with random contents at the book's latencies, gaps at frame heads and ends, slots
    that are loaded anew meanwhile; everything is cleared before a round. ``late``: the publisher's. ``seen`` counts records by kind and by what is
    special about them.
    """

    resting = {"contexts.valid": 0, "gaps.valid": 0, "tops.valid": 0, "load": 0, "clear": 0, "distrust": 0}
    quiet = ("records.valid", "rebase")

    def __init__(self, publisher, slots, rounds, seed, *, quantity_bits, late=0, **pace):
        super().__init__(seed, 1 << 32)
        self.seen, self._quantity_bits = Counter(), quantity_bits
        self._count, self._layout, self._late = 1 << publisher.slot_bits, Fields(Record), late
        self.model, self._now = RecordModel(self._count), 0
        for number, messages in enumerate(rounds):
            for row in range(self._count):
                self.drive(self._now + row, {"clear": 1, "clear_row": row})
            self.model.clear()
            self.model.stale_when = number % (1 << PUBLISH["stale_when"].width)
            self._joins = {}                   # context and top of each record, by the cycle in which they are joined
            self._loads = {}
            for slot in range(self._count):    # else they stay stale
                self._loads[self._now + self._count + slot] = slot, 0
                self.drive(self._now + self._count + slot, {"load": 1, "load_slot": slot, "load_stale": 0})
            self._round(list(passing(messages, slots, self.rng, start=self._now + 2 * self._count + 4, **pace)))
        self.cycles = self._now

    # ---- what comes when

    def _round(self, items):
        rng, frame = self.rng, None
        opening = self._now + 2 * self._count + 4                          # trading begins while the first frame's headers pass
        self._due(opening, kind=records.STATUS, message=ord("S"), detail=ord("Q"), market=1, first=0)
        for slot in range(self._count):
            self._due(opening + 2 + 2 * slot, kind=records.STATUS, message=ord("H"), detail=ord("T"), slot=slot, first=0)
        self._due(opening + 2 + 2 * self._count, kind=records.STATUS, message=ord("h"), detail=ord("H"), extra=ord("Q"), slot=0, first=0)
        for p in items:
            if p.is_cut:
                continue
            if p.frame is not frame:
                if frame is not None and rng.random() < 0.06:
                    self._gap(frame.last + 5, "F")                     # as net and moldudp64 do it, after the frame's last record
                frame = p.frame
                if rng.random() < 0.06:
                    self._gap(p.word(0) + 2, "G")                      # before its first record
            self._message(p)
        end = frame.last + 40
        for cycle in range(self._now + 2 * self._count + 20, end - 40, 97):
            self._load(cycle)
        self._run(end)

    def _context(self, cycle, **fields):
        c = dict(slot=0, market=0, side=0, extra=0, second=0, source=self.rng.randrange(4), number=self.rng.getrandbits(32),
                 time=self.rng.getrandbits(64)) | fields
        self.drive(cycle + self._late, {"contexts.valid": 1, **{f"contexts.payload.{name}": value for name, value in c.items()}})
        return c

    def _message(self, p):
        rng, f, code = self.rng, p.fields, p.code[0]
        cycle = p.told(itch50.NEEDED[p.code])
        slot = dict(market=1) if code in itch50.MARKET_WIDE else dict(slot=p.slot)
        if code in itch50.BOOK_TYPES:
            is_add = code in _ADDS
            c = self._context(cycle, kind=records.TOP_OF_BOOK, message=code, detail=0, first=rng.getrandbits(64), **slot)
            latency = Book.LATENCY_REPLACE if code == ord("U") else Book.LATENCY_ADD if is_add else Book.LATENCY_REMOVE
            self._join(cycle + latency, c, self._top(cycle + latency, is_add))
            if code == ord("C"):
                self._due(p.told(p.layout["execution_price"].end), kind=records.TRADE, message=code, detail=f["printable"][0], first=f["executed_shares"],
                          second=f["execution_price"], **slot)
        elif code in itch50.TRADE_TYPES:
            self._due(cycle, kind=records.TRADE, message=code, detail=rng.choice(b"YNOC"), side=rng.randrange(2), first=f["shares"],
                      second=rng.getrandbits(32), **slot)
        elif code in _CODES:
            extra = rng.choice(b"QQQB") if code == ord("h") else rng.getrandbits(8)
            if "market" not in slot and rng.random() < 0.4:             # a command of the host in its place
                letter = ord(commands.LETTERS[rng.choice((commands.HOLD, commands.HOLD, commands.ARM, commands.ARM, commands.BASE))])
                self._due(cycle, kind=records.STATUS, message=letter, detail=0, source=commands.HOST, first=rng.getrandbits(64), **slot)
                return
            detail = _TRADES[code] if code in _TRADES and rng.random() < 0.6 else p.message[_CODES[code]]
            self._due(cycle, kind=records.STATUS, message=code, detail=detail, extra=extra, first=0, **slot)

    def _due(self, cycle, **fields):
        self._join(cycle + Publisher.DUE, self._context(cycle, **fields))

    def _join(self, cycle, context, top=None):
        if self._joins.setdefault(cycle, (context, top))[0] is not context:
            raise ValueError(f"two records are due in cycle {cycle}: the messages are too close")

    def _gap(self, cycle, reason):
        rng = self.rng
        gap = dict(reason=ord(reason), source=rng.randrange(4), first=rng.getrandbits(64), count=rng.getrandbits(64), time=rng.getrandbits(64))
        self.drive(cycle, {"gaps.valid": 1, **{f"gaps.payload.{name}": value for name, value in gap.items()}})
        c = dict(kind=records.GAP, market=1, message=0, detail=gap["reason"], source=gap["source"], number=gap["first"] & TOP, time=gap["time"],
                 first=gap["first"], second=gap["count"])
        self._join(cycle + Publisher.DUE - self._late, c)

    def _top(self, cycle, is_add):
        """A top of book: often locked, crossed, unknown or too large for the record."""
        rng = self.rng
        some = rng.choice((0.2, 0.9, 0.9, 0.9))

        def side():
            return dict(some=rng.random() < some, unknown=rng.random() < 0.1, price=rng.choice((0, 1, 2, TOP, rng.getrandbits(32))),
                        qty=rng.choice((0, TOP, TOP + 1, rng.getrandbits(32), 1 << rng.randrange(self._quantity_bits))))

        top = dict(side=rng.randrange(2), add=int(is_add), qty=rng.getrandbits(32), order_px=rng.getrandbits(32), bid=side(), ask=side(), fault=0)
        if rng.random() < 0.3:
            top["ask"]["price"] = top["bid"]["price"]
        if rng.random() < (0.15 if top["bid"]["price"] >= top["ask"]["price"] else 0.02):
            top["fault"] = rng.choice([code for code, _ in FAULTS.values()])
        flat = {"valid": 1, **{f"payload.{name}": top[name] for name in ("side", "add", "qty", "fault")},
                **{f"payload.{name}.{field}": int(value) for name in ("bid", "ask") for field, value in top[name].items()}}
        self.drive(cycle, {f"tops.{name}": value for name, value in flat.items()})
        self.drive(cycle + 1, {"order_price": top["order_px"]})
        return top

    def _load(self, cycle):
        """A slot is loaded whose records are not on their way."""
        near = {c["slot"] for at, (c, _) in self._joins.items() if cycle - 5 <= at < cycle + 30 and not c["market"]}
        free = [slot for slot in range(self._count) if slot not in near]
        if free:
            slot, stale = self.rng.choice(free), self.rng.randrange(2)
            self.drive(cycle, {"load": 1, "load_slot": slot, "load_stale": stale})
            self._loads[cycle] = slot, stale

    # ---- what must come of it

    def _run(self, end):
        model, later = self.model, []
        for cycle in range(self._now, end):
            self.drive(cycle, {"time_ns": self.time_ns(cycle), "stale_when": model.stale_when})
            if cycle > self._now + 1:
                self.expect(cycle, {"stale": model.stale})
            context, top = self._joins.get(cycle - 1, (None, None))
            if context:                                    # stale and state are looked at in the cycle after the join
                out = cycle - 1 + Publisher.LATENCY
                raw = model.record(context, self.time_ns(out), top)
                self.expect(out, {"records.valid": 1} | {f"records.payload.{f.name}": int.from_bytes(raw[f.offset:f.end], "little")
                                                         for f in records.COMMON.fields})
                self._see(context, raw)
                if context["source"] == commands.HOST and context["message"] == ord(commands.LETTERS[commands.BASE]) and raw[_DETAIL] != commands.REFUSED:
                    self.expect(cycle + 1, {"rebase": 1, "rebase_slot": context["slot"], "rebase_base": context["first"] >> 32,
                                            "rebase_tick": context["first"] & 3})
            arms = context and context["source"] == commands.HOST and context["message"] == ord(commands.LETTERS[commands.ARM])
            distrusted = self.rng.random() < (0.5 if arms else 0.002)
            if distrusted:
                self.drive(cycle, {"distrust": 1})
            if cycle in self._loads:
                model.load(*self._loads[cycle])
                self.seen["load"] += 1
            if distrusted or context is not None and context["kind"] == records.GAP:     # whatever else is in the same cycle
                model.distrust()
                self.seen["distrust"] += distrusted
            else:
                model.apply(*later)
            later = model.later()
            if distrusted:                                     # an arm in this cycle knows of it
                self.seen["arm beside distrust"] += ("stale", 0) in [(name, value) for name, _, value in later]
                later = [(name, slot, value or name == "stale") for name, slot, value in later]
        self.expect_counts(self._now, end, model.counts)
        self.seen.update({f"{name} in continuous trading": n for name, n in model.counts.items()})
        self._now = end

    def _see(self, context, raw):
        flags = raw[records.COMMON["flags"].offset]
        self.seen[next(name for name, code in KINDS.items() if code == context["kind"])] += 1
        self.seen.update(name for name, (bit, _) in records.FLAGS.items() if flags >> bit & 1)
        if raw[0] == records.TOP_OF_BOOK:
            self.seen.update(f"fault {name}" for name, (code, _) in records.BOOK_FAULTS.items() if raw[_DETAIL] == code)
        elif raw[_SOURCE] == commands.HOST:
            self.seen[chr(context["message"]), raw[_DETAIL] if context["message"] == ord(commands.LETTERS[commands.BASE]) else bool(flags & STALE)] += 1
