"""The whole path: frames in, records out."""
from tickgate.spec import commands, itch50
from tickgate.spec.clocks import ns_of_cycle
from tickgate.spec.moldudp64 import HEADER
from tickgate.spec.presets import TICK_SIZES
from tickgate.spec.records import BOOK_FAULTS, CONTINUOUS_PHASE, CONTINUOUS_STATE, GAPS, NO_FAULT, PHASES, REG_SHO, TRADING, state_of
from tickgate.spec.registers import BLOCKS, PUBLISH

from .binary import counters, reader
from .book import Book, new_counters
from .capacity import Capacity
from .itch import MARKET, TOO_SHORT, Feed
from .moldudp64 import Gap, MoldUDP64
from .net import Net
from .publish import Publisher

_PRICE_DIVISOR = 10_000   # prices are 1e-4 USD: for people only
_SHORT_MESSAGE = ord(GAPS["message"][0])
_P_DETAIL = ord("Y")
_REPLACE = ord("U")
_HALT_MARKET = ord("Q")   # operational halts of other markets say nothing of this one


def _reader(code, *names):
    return reader(itch50.BY_CODE[code], *names)


_ADD = _reader(b"A", "order_ref", "#side", "shares", "price")             # F is the same up to the price
_EXECUTED = _reader(b"E", "order_ref", "executed_shares")                 # C is the same up to the shares
_CANCELLED = _reader(b"X", "order_ref", "cancelled_shares")
_DELETED = _reader(b"D", "order_ref")
_REPLACED = _reader(b"U", "original_order_ref", "new_order_ref", "shares", "price")
_TRADED = _reader(b"P", "#side", "shares", "price")
_TRADED_AT = _reader(b"C", "executed_shares", "#printable", "execution_price")
_CROSSED = _reader(b"Q", "shares", "cross_price", "#cross_type")
_HALTED = _reader(b"h", "#market_code", "#halt_action")

_NEEDED = {code[0]: end for code, end in itch50.NEEDED.items()}
_CODE_AT = {code[0]: offset for code, offset in itch50.STATUS_CODES.items()}


def _by_byte(codes):
    return {ord(letter): value for letter, value in codes.items() if len(letter) == 1}


_TRADING, _REG_SHO, _PHASES = _by_byte(TRADING), _by_byte(REG_SHO), _by_byte(PHASES)
_HALTS = {ord("H"): True, ord("T"): False}
_MEETING = ("apart", "locked", "crossed")   # bid and ask, the later the worse


_COUNTER_MASK = {(block.name, r.name): (1 << r.width) - 1 for block in BLOCKS for r in block.registers if r.access == "count"}


class Slot:
    """What the card keeps of one symbol."""

    def __init__(self, symbol, book):
        self.symbol, self.book = symbol, book
        self.number = symbol.slot
        self.stale = self.wrong = bool(symbol.stale)   # wrong: since the slot was loaded or held
        self.is_empty = True                           # what the last record said
        self.trading, self.reg_sho, self.is_halted = TRADING["unknown"], REG_SHO["0"], False
        self.meeting = 0                               # of its last top of book, in ``_MEETING``
        self.digest = 0

    def state(self, phase):
        """The ``state`` byte."""
        return state_of(TRADING["operational_halt"] if self.is_halted else self.trading, self.reg_sho, phase)

    def is_continuous(self, phase):
        """Whether it is in continuous trading."""
        return self.trading == TRADING[CONTINUOUS_STATE] and not self.is_halted and phase == PHASES[CONTINUOUS_PHASE]


class Golden:
    """Reference of the whole card: ``frame`` after ``frame``, then ``take`` the records they give.

    ``preset``: sizes (``tickgate.spec.presets``); ``symbols``: ``Symbol``s to track; ``filters``: pairs of IPv4 address (integer) and UDP port,
    in the card's order; ``start``: first message expected; ``clock``: ns of a cycle, for ``frame(…, cycles=…)``;
    ``capacity``: what takes the place of the preset's order table; ``stale_when``: what the register of that name has.
    Raises ``ValueError`` when symbols or filters do not fit the preset or each other.
    """

    def __init__(self, preset, symbols, filters, start=1, clock=ns_of_cycle, capacity=None, stale_when=0):
        symbols, filters = list(symbols), list(filters)
        if len(filters) > preset.filters:
            raise ValueError(f"{len(filters)} filters, the {preset.name} preset has {preset.filters}")
        for what in ("slot", "locate"):
            values = [getattr(s, what) for s in symbols]
            if len(set(values)) != len(values):
                raise ValueError(f"two symbols have the same {what}")
        if any(s.slot >= preset.symbols for s in symbols):
            raise ValueError(f"slot {max(s.slot for s in symbols)}, the {preset.name} preset has {preset.symbols}")
        self.net = Net(filters)
        self.mold = MoldUDP64(start, preset.word)
        self.feed = Feed({s.locate: s.slot for s in symbols})
        self._capacity = capacity or Capacity(preset)
        self._book_counters = new_counters()
        self.slots = {s.slot: Slot(s, Book(s.base, s.tick, preset.ticks, self._capacity, self._book_counters)) for s in symbols}
        self.phase = PHASES["none"]
        self.stale_when, self._publish_counters = stale_when, counters(PUBLISH)
        self._publish = Publisher(preset.lanes, clock)
        self._do = {ord("A"): self._add, ord("F"): self._add, ord("E"): self._execute, ord("C"): self._execute, ord("X"): self._cancel,
                    ord("D"): self._delete, ord("U"): self._replace, ord("P"): self._trade, ord("Q"): self._cross,
                    ord("S"): self._system_event, ord("W"): self._status, ord("H"): self._trading_action, ord("Y"): self._reg_sho,
                    ord("h"): self._halt}

    # ---- frames

    def frame(self, data, bad_fcs=False, cycles=None):
        """Process one frame (bytes from the destination address on, without FCS), marked by the MAC when its FCS was bad.

        ``cycles``: cycle of its first word when its words come one after the other, or of each word; it fills ``t_wire_ns``, which stays 0 without.
        With a virtual card, whose line has no word in one cycle of 33: ``tickgate.device.word_cycle(start, numpy.arange(words))``.
        """
        data = bytes(data)
        self._publish.begin_frame(cycles)
        datagram = self.net.take(data, bool(bad_fcs))
        if datagram is None:
            return
        self._publish.begin_datagram(datagram.source)
        header_last = datagram.start + HEADER.size - 1
        had_short = False
        for item in self.mold.items(datagram):
            if type(item) is Gap:
                self._publish.begin_datagram(datagram.source)
                self._gap(item.reason[0], 0, item.first, item.count, item.wire)
                continue
            number, at, length = item
            event = self.feed.event(data, at, length)
            if event is None:
                continue
            code, slot = event
            self._publish.begin_message(number, at, length)
            if slot == TOO_SHORT:
                if not had_short:
                    had_short = True
                    self._gap(_SHORT_MESSAGE, code, number, 0, header_last)
                continue
            needed = at + _NEEDED[code]
            if needed <= len(data):
                self._do[code](None if slot == MARKET else self.slots[slot], code, data, at, needed - 1)
            elif code == _REPLACE and at + _DELETED.size <= len(data):   # the frame was cut after the old reference
                self.slots[slot].book.abandon(_DELETED.unpack_from(data, at)[0])

    def _gap(self, reason, code, first, count, wire):
        for slot in self.slots.values():
            slot.stale = slot.wrong = True
        self._publish.gap(reason, code, first, count, self.phase, wire)

    # ---- book messages

    def _publish_book(self, slot, code, outcome, wire):
        self._book_counters["updates"] += 1
        tops = tuple(side.top() for side in slot.book.sides)
        fault = self._meet(slot, *(level for level, _ in tops))
        if fault and not outcome.fault:
            outcome = outcome._replace(fault=fault)
        if outcome.fault:
            slot.stale = slot.wrong = True
        slot.is_empty = not slot.book.orders
        self._publish.top_of_book(slot, code, outcome, tops, self.phase, wire)

    def _meet(self, slot, bid, ask):
        """How the best levels stand to each other; the fault that it is, when they came to it in continuous trading."""
        before, slot.meeting = slot.meeting, 0 if not (bid and ask) or bid.price < ask.price else 1 if bid.price == ask.price else 2
        if slot.meeting <= before or not slot.is_continuous(self.phase):
            return NO_FAULT
        name = _MEETING[slot.meeting]
        self._publish_counters[name] += 1
        return BOOK_FAULTS[name][0] if self.stale_when & PUBLISH["stale_when"].mask(name) else NO_FAULT

    def _add(self, slot, code, data, at, wire):
        reference, side, shares, price = _ADD.unpack_from(data, at)
        self._publish_book(slot, code, slot.book.add(reference, side & 1, shares, price), wire)

    def _execute(self, slot, code, data, at, wire):
        reference, shares = _EXECUTED.unpack_from(data, at)
        self._publish_book(slot, code, slot.book.reduce(reference, shares), wire)
        if code == ord("C") and at + _TRADED_AT.size <= len(data):
            shares, printable, price = _TRADED_AT.unpack_from(data, at)
            self._publish.trade(slot, code, 0, printable, shares, price, self.phase, at + _TRADED_AT.size - 1)

    def _cancel(self, slot, code, data, at, wire):
        reference, shares = _CANCELLED.unpack_from(data, at)
        self._publish_book(slot, code, slot.book.reduce(reference, shares), wire)

    def _delete(self, slot, code, data, at, wire):
        reference, = _DELETED.unpack_from(data, at)
        self._publish_book(slot, code, slot.book.delete(reference), wire)

    def _replace(self, slot, code, data, at, wire):
        self._publish_book(slot, code, slot.book.replace(*_REPLACED.unpack_from(data, at)), wire)

    # ---- trades

    def _trade(self, slot, code, data, at, wire):
        side, shares, price = _TRADED.unpack_from(data, at)
        self._publish.trade(slot, code, side & 1, _P_DETAIL, shares, price, self.phase, wire)

    def _cross(self, slot, code, data, at, wire):
        shares, price, cross_type = _CROSSED.unpack_from(data, at)
        self._publish.trade(slot, code, 0, cross_type, shares, price, self.phase, wire)

    # ---- status

    def _status(self, slot, code, data, at, wire):
        self._publish.status(slot, code, data[at + _CODE_AT[code]], self.phase, wire)

    def _system_event(self, slot, code, data, at, wire):
        self.phase = _PHASES.get(data[at + _CODE_AT[code]], self.phase)
        self._status(slot, code, data, at, wire)

    def _trading_action(self, slot, code, data, at, wire):
        slot.trading = _TRADING.get(data[at + _CODE_AT[code]], TRADING["unknown"])
        self._status(slot, code, data, at, wire)

    def _reg_sho(self, slot, code, data, at, wire):
        slot.reg_sho = _REG_SHO.get(data[at + _CODE_AT[code]], REG_SHO["0"])
        self._status(slot, code, data, at, wire)

    def _halt(self, slot, code, data, at, wire):
        market, action = _HALTED.unpack_from(data, at)
        if market == _HALT_MARKET:
            slot.is_halted = _HALTS.get(action, slot.is_halted)
        self._status(slot, code, data, at, wire)

    # ---- commands

    def command(self, command, number, cycle=None):
        """What the host's ``command`` (``tickgate.spec.commands.Command``) with this ``number`` does between two frames, and its record.

        ``cycle``: the one that its ``t_wire_ns`` tells, which stays 0 without. Raises ``ValueError`` for an unknown kind or slot.
        """
        kind, slot = command.kind, self.slots.get(command.slot)
        if slot is None or kind not in commands.LETTERS:
            raise ValueError(f"{command}: no such kind, or nothing is loaded in that slot")
        self._publish.begin_command(number, cycle)
        code = ord(commands.LETTERS[kind])
        if kind == commands.ADD:
            self._publish_book(slot, code, slot.book.add(command.reference, command.side, command.qty, command.price), 0)
        elif kind == commands.TAKE:
            self._publish_book(slot, code, slot.book.reduce(command.reference, command.qty), 0)
        elif kind == commands.DELETE:
            self._publish_book(slot, code, slot.book.delete(command.reference), 0)
        else:
            detail = 0
            if kind == commands.HOLD:
                slot.stale, slot.wrong = True, False
            elif kind == commands.ARM:
                slot.stale = slot.wrong
            elif slot.is_empty:
                slot.book.move(command.price, TICK_SIZES[command.qty])
            else:
                detail = commands.REFUSED
            self._publish.status(slot, code, detail, self.phase, 0)

    # ---- results

    def take(self):
        """Records since the last call: array of ``tickgate.spec.records.COMMON.dtype``, 64 bytes a row; lap bit and ``t_out_ns`` are 0."""
        return self._publish.take()

    def origins(self):
        """Where the records of the last ``take`` come from: array of ``ORIGIN``, a row a record."""
        return self._publish.origins()

    @property
    def counters(self):
        """Counters by register block and name: every ``count`` register of net, mold, feed, book and publish, wrapped where the register does."""
        hops = {"net": self.net.counters, "mold": self.mold.counters, "feed": self.feed.counters, "book": self._book_counters,
                "publish": self._publish_counters}
        return {hop: {name: n & _COUNTER_MASK[hop, name] for name, n in counts.items()} for hop, counts in hops.items()}

    @property
    def sequence(self):
        """Records so far: the sequence of the next."""
        return self._publish.sequence

    @property
    def type_count(self):
        """Messages of 11 bytes and more by their type byte (an integer), those that came."""
        return {code: n for code, n in enumerate(self.feed.type_count) if n}

    @property
    def expected(self):
        """Number of the next message expected."""
        return self.mold.expected

    @property
    def session(self):
        """The session's ten bytes, ``None`` before the first."""
        return self.mold.session

    @property
    def stale(self):
        """Slots whose book may be wrong, as a set."""
        return {number for number, slot in self.slots.items() if slot.stale}

    @property
    def live(self):
        """Orders in the order table."""
        return self._capacity.live

    def book(self, slot):
        """``Snapshot`` of a slot's book: levels with price, quantity, count and queue."""
        return self.slots[slot].book.snapshot()

    def describe(self, slot, levels=5):
        """A slot's book as text, for reports: state, the best levels with their queues, and what rests outside."""
        kept, book = self.slots[slot], self.book(slot)
        symbol = kept.symbol
        lines = [f"slot {slot} {symbol.name or '-'} locate {symbol.locate} base {_dollars(kept.book.base)} tick {_dollars(kept.book.tick)}: "
                 f"{'stale' if kept.stale else 'not stale'}, state {kept.state(self.phase):#04x}, digest {kept.digest:#010x}, "
                 f"{len(kept.book.orders)} orders"]
        for name, side, near, far in (("ask", book.asks, book.near[1], book.far[1]), ("bid", book.bids, book.near[0], book.far[0])):
            shown = [f"  {name} {_dollars(depth.price):>12} {_resting(depth)}" for depth in side[:levels]]
            if len(side) > levels:
                shown.append(f"  {name} {len(side) - levels} more levels")
            outside = [f"  {name} outside, {where:>4}: {_resting(depth)}" for where, depth in (("near", near), ("far", far)) if depth.count]
            lines += outside + shown[::-1] if name == "ask" else shown + outside
        return "\n".join(lines)


def _dollars(price):
    return f"{price // _PRICE_DIVISOR}.{price % _PRICE_DIVISOR:04}"


def _resting(depth, shown=4):
    queue = " ".join(f"{reference}:{quantity}" for reference, quantity in depth.queue[:shown])
    return f"{depth.quantity:>10} shares {depth.count:>5} orders  {queue}{' …' if depth.count > shown else ''}"
