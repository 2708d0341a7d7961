"""Records, in message order: what a message was (``contexts``, ``gaps``) joined with what became of the book (``tops``).

    context ─► queue ─┬─► p0: join, decode ─► p1: state, crossing, flags ─► p2: CRC of data and digest ─► p3: digest ─► record
    top of book ──────┘
A context waits in a short queue until its top of book comes; one that needs none is due at its time, later than any top of book before it and sooner than
any behind it, so that records keep the order of messages and each kind has one latency. Rules: docs/path.md.
LATENCY: 3 cycles from ``tops`` to ``records``. DUE: cycles from a message that needs no top of book (when its update would come) to p0.
Assumptions: records of a slot are SPACING cycles apart or more (state, stale and digest are read in one and written in the next); contexts come
``late`` cycles after the update of their message would; tops of book ``far`` cycles later than those of a book without far memories.
"""
from functools import reduce
from operator import xor

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from tickgate.spec import commands, itch50, moldudp64, records
from tickgate.spec.registers import PUBLISH

from ..feed.events import context
from ..net.messages import Gap
from ..stream.logic import equal, mux_tree
from .book import Book
from .crc import crc_of_data, crc_of_old
from .ladder import top
from .record import KINDS, Record

QUEUE = 16
SPACING = 2                   # cycles
REMOVALS = b"DECX"
COUNTERS = tuple(r.name for r in PUBLISH.registers if r.access == "count")
TRADING = records.TRADING
State = data.StructLayout({
    "trading": 3, "reg_sho": 2, "halted": 1,
    "locked": 1, "crossed": 1})   # its last top of book


def closest(lanes):
    """Fewest cycles from the update of a removal to when a later record that needs no top of book is told: the next message's, or the trade of the same C."""
    after = [layout.size - itch50.NEEDED[code] + moldudp64.BLOCK.size + itch50.NEEDED[due]
             for code, layout in itch50.BY_CODE.items() if code in REMOVALS for due in itch50.NEEDED if due not in itch50.BOOK_TYPES]
    trade = itch50.BY_CODE[b"C"]["execution_price"].end - itch50.NEEDED[b"C"]
    return min(*after, trade) // lanes


class Publisher(wiring.Component):
    LATENCY = records.TOP_TO_RECORD
    DUE = Book.LATENCY_REMOVE - closest(lanes=4) + SPACING

    def __init__(self, *, slot_bits, quantity_bits, late=0, far=0):
        if not 0 <= late < Book.LATENCY_ADD:
            raise ValueError(f"late must be 0 to {Book.LATENCY_ADD - 1}, not {late}: a context comes before its top of book")
        self.slot_bits, self.due = slot_bits, self.DUE - late + far   # due: cycles from a context to p0
        self.context = context(slot_bits)
        super().__init__({
            "contexts": In(stream.Signature(self.context, always_ready=True)),
            "gaps": In(stream.Signature(Gap, always_ready=True)),
            "tops": In(stream.Signature(top(quantity_bits), always_ready=True)),
            "order_price": In(32),             # of a removal, one cycle after its top of book
            "time_ns": In(64),
            "records": Out(stream.Signature(Record, always_ready=True)),
            "stale": Out(1 << slot_bits),
            # a host's command moves an empty ladder
            "rebase": Out(1), "rebase_slot": Out(slot_bits), "rebase_base": Out(32), "rebase_tick": Out(2),
            "stale_when": In(PUBLISH["stale_when"].width),
            "load": In(1), "load_slot": In(slot_bits), "load_stale": In(1),
            "distrust": In(1),                 # every book may be wrong
            "clear": In(1), "clear_row": In(12),
            "events": Out(data.StructLayout({name: 1 for name in COUNTERS}))})

    def elaborate(self, platform):
        m = Module()
        slot_bits, slots = self.slot_bits, 1 << self.slot_bits

        def reg(value, name):
            """A pipeline register of the payload."""
            q = Signal(len(value), name=name, reset_less=True)
            m.d.sync += q.eq(value)
            return q

        # ---- queue of contexts
        m.submodules.queue = queue = memory.Memory(shape=self.context.size, depth=QUEUE, init=[])
        write, read = queue.write_port(), queue.read_port(domain="comb")
        head, tail = Signal(range(QUEUE)), Signal(range(QUEUE))
        arriving = Signal(self.context)
        g = self.gaps.p
        with m.If(self.gaps.valid):
            m.d.comb += [arriving.kind.eq(records.GAP), arriving.source.eq(g.source), arriving.market.eq(1), arriving.detail.eq(g.reason),
                         arriving.number.eq(g.first[:32]), arriving.time.eq(g.time), arriving.first.eq(g.first), arriving.second.eq(g.count)]
        with m.Else():
            m.d.comb += arriving.eq(self.contexts.p)
        arrives = self.contexts.valid | self.gaps.valid
        m.d.comb += [write.en.eq(arrives), write.addr.eq(tail), write.data.eq(arriving.as_value()), read.addr.eq(head)]
        with m.If(arrives):
            m.d.sync += tail.eq(tail + 1)
        due = Signal(self.due)
        m.d.sync += due.eq(Cat(arrives & (arriving.kind != records.TOP_OF_BOOK), due))

        # ---- p0: join; what the context is, and how the two sides stand to each other
        taking = Signal()
        m.d.comb += taking.eq(self.tops.valid | due[-1])
        with m.If(taking):
            m.d.sync += head.eq(head + 1)
        waiting, given = Signal(self.context), self.tops.p
        m.d.comb += waiting.as_value().eq(read.data)
        c, t = Signal(self.context, reset_less=True), Signal(given.shape(), reset_less=True)
        valid1 = Signal()
        m.d.sync += [valid1.eq(taking), c.eq(waiting), t.eq(given)]

        def first_stage(value, name):
            """A flag of the record in p1, 0 where there is none."""
            q = Signal(name=name)
            m.d.sync += q.eq(taking & value)
            return q

        is_top, is_trade, is_gap, is_status = (first_stage(waiting.kind == kind, f"is_{name}") for name, kind in (
            ("top", records.TOP_OF_BOOK), ("trade", records.TRADE), ("gap", records.GAP), ("status", records.STATUS)))
        has_slot = first_stage(~waiting.market, "has_slot")
        sets_trading, sets_reg_sho, sets_halted, sets_phase = (
            first_stage((waiting.kind == records.STATUS) & (waiting.message == ord(code)), f"sets_{name}")
            for name, code in (("trading", "H"), ("reg_sho", "Y"), ("halted", "h"), ("phase", "S")))
        holds, arms, moves = (
            first_stage((waiting.kind == records.STATUS) & (waiting.source == commands.HOST) & (waiting.message == ord(commands.LETTERS[kind])), name)
            for name, kind in (("holds", commands.HOLD), ("arms", commands.ARM), ("moves", commands.BASE)))
        has_bid, has_ask = given.bid.some & ~given.bid.unknown, given.ask.some & ~given.ask.unknown
        # these are 0 for all but tops of book: the other kinds have no valid top beside them
        bid, ask = reg(self.tops.valid & has_bid, "bid"), reg(self.tops.valid & has_ask, "ask")
        unknown = reg(given.bid.unknown | given.ask.unknown, "unknown")
        bid_clip, ask_clip = (reg(side.qty[32:].any(), f"{name}_clip") for name, side in (("bid", given.bid), ("ask", given.ask)))
        both = self.tops.valid & has_bid & has_ask
        crossed, locked = reg(both & (given.bid.price > given.ask.price), "crossed"), reg(both & equal(given.bid.price, given.ask.price), "locked")
        faulty = reg(self.tops.valid & (given.fault != records.NO_FAULT), "faulty")

        m.submodules.states = states = memory.Memory(shape=State, depth=slots, init=[])
        state_write, state_read = states.write_port(), states.read_port(domain="comb")
        held = state_read.data
        before = Signal(State, reset_less=True)
        m.d.comb += state_read.addr.eq(waiting.slot)
        m.d.sync += before.eq(held)
        trades = reg((held.trading == TRADING[records.CONTINUOUS_STATE]) & ~held.halted, "trades")

        # ---- p1: state of the slot and phase of the market
        state, phase = Signal(State), Signal(3)
        m.d.comb += state.eq(before)

        def decode(codes, target):
            """``target`` by the context's detail; codes of one letter only."""
            with m.Switch(c.detail):
                for code, value in codes.items():
                    if len(code) == 1:
                        with m.Case(ord(code)):
                            m.d.comb += target.eq(value)

        trading, reg_sho, new_phase = Signal(3), Signal(2), Signal(3)
        m.d.comb += new_phase.eq(phase)
        decode(TRADING, trading)
        decode(records.REG_SHO, reg_sho)
        decode(records.PHASES, new_phase)
        with m.If(sets_trading):
            m.d.comb += state.trading.eq(trading)
        with m.If(sets_reg_sho):
            m.d.comb += state.reg_sho.eq(reg_sho)
        with m.If(sets_halted & (c.extra == ord("Q")) & ((c.detail == ord("H")) | (c.detail == ord("T")))):
            m.d.comb += state.halted.eq(c.detail == ord("H"))
        with m.If(sets_phase):
            m.d.sync += phase.eq(new_phase)
        with m.If(is_top):
            m.d.comb += [state.locked.eq(locked), state.crossed.eq(crossed)]
        shown_phase = Mux(sets_phase, new_phase, phase)
        # a slot that is loaded anew starts without state and digest: written when no record needs the memories
        fresh, fresh_slot = Signal(), Signal(slot_bits)
        valid2, valid3 = Signal(), Signal()
        freshen = fresh & ~taking & ~valid1 & ~valid2 & ~valid3    # state: read in p0, written in p1; digest: in p2, in p3
        with m.If(self.load):
            m.d.sync += [fresh.eq(1), fresh_slot.eq(self.load_slot)]
        with m.Elif(freshen):
            m.d.sync += fresh.eq(0)
        m.d.comb += [
            state_write.en.eq(self.clear | freshen | is_top | is_status & ~c.market),
            state_write.addr.eq(Mux(self.clear, self.clear_row[:slot_bits], Mux(freshen, fresh_slot, c.slot))),
            state_write.data.eq(Mux(self.clear | freshen, 0, state.as_value()))]

        # ---- p1: a book that comes to be crossed or locked in continuous trading
        continuous, meets_crossed, meets_locked = Signal(), Signal(), Signal()
        m.d.comb += [
            continuous.eq(trades & (phase == records.PHASES[records.CONTINUOUS_PHASE])),
            meets_crossed.eq(crossed & ~before.crossed), meets_locked.eq(locked & ~before.crossed & ~before.locked)]
        distrusted = continuous & (meets_crossed & self.stale_when[PUBLISH["stale_when"].bit("crossed")]
                                   | meets_locked & self.stale_when[PUBLISH["stale_when"].bit("locked")])
        m.d.sync += [self.events.crossed.eq(continuous & meets_crossed), self.events.locked.eq(continuous & meets_locked)]

        # ---- p1: stale, written a cycle later but for gaps; what a host's command says to it
        stale, wrong, empty = self.stale, Signal(slots), Signal(slots)  # wrong: since the slot was loaded or held; empty: its book has no orders
        fault, is_stale, was_stale, was_wrong, can_move = Signal(), Signal(), Signal(), Signal(), Signal()

        def of_slot(flags, name):
            return mux_tree(m, c.slot, list(flags), f"{name}_of_slot")

        m.d.comb += [
            was_stale.eq(of_slot(stale, "stale")), was_wrong.eq(of_slot(wrong, "wrong")), can_move.eq(of_slot(empty, "empty")),
            fault.eq(faulty | distrusted),
            is_stale.eq(has_slot & Mux(arms, was_wrong, was_stale) | fault | holds | is_gap)]
        m.d.sync += self.rebase.eq(moves & can_move)
        with m.If(moves):
            m.d.sync += [self.rebase_slot.eq(c.slot), self.rebase_base.eq(c.first[32:]), self.rebase_tick.eq(c.first)]
        fault2, holds2, arms2, none2 = (Signal(name=f"{name}_2") for name in ("fault", "holds", "arms", "none"))
        slot2, was_wrong2, is_top2 = reg(c.slot, "slot_2"), reg(was_wrong | self.distrust, "was_wrong_2"), Signal(name="is_top_2")
        none = ~Cat(t.bid.some, t.bid.unknown, t.ask.some, t.ask.unknown).any()
        m.d.sync += [fault2.eq(fault), holds2.eq(holds), arms2.eq(arms & ~(self.load & (self.load_slot == c.slot))), none2.eq(none), is_top2.eq(is_top)]
        with m.If(fault2 | holds2 | arms2):
            m.d.sync += stale.bit_select(slot2, 1).eq(~arms2 | was_wrong2)
        with m.If(fault2 | holds2):
            m.d.sync += wrong.bit_select(slot2, 1).eq(fault2)
        with m.If(self.load):
            m.d.sync += [stale.bit_select(self.load_slot, 1).eq(self.load_stale), wrong.bit_select(self.load_slot, 1).eq(self.load_stale)]
        with m.If(is_gap | self.distrust):
            m.d.sync += [stale.eq(~0), wrong.eq(~0)]
        with m.If(is_top2):
            m.d.sync += empty.bit_select(slot2, 1).eq(none2)
        with m.If(self.clear):
            m.d.sync += [stale.eq(~0), wrong.eq(~0), empty.eq(~0), phase.eq(0)]   # an empty book is right only for who knows that the market's is

        # ---- p1: the record, but for its digest
        def clip(qty, over):
            return qty[:32] | over.replicate(32)

        def when(flag, value):
            return value & flag.replicate(len(value))

        detail = Mux(is_top, Mux(faulty, t.fault, Mux(distrusted, Mux(crossed, records.CROSSED_BOOK, records.LOCKED_BOOK), records.NO_FAULT)),
                     Mux(moves & ~can_move, commands.REFUSED, c.detail))
        top_flags = Cat(~was_stale & ~fault & ~unknown, bid, ask, t.bid.unknown, t.ask.unknown, is_stale, crossed | locked, t.side)
        flags = when(is_top, top_flags) | when(~is_top & is_stale, Cat(0, 0, 0, 0, 0, 1, 0, 0)) | when(is_trade & c.side, Cat(0, 0, 0, 0, 0, 0, 0, 1))
        book_body, trade_body, gap_body = Signal(KINDS["top_of_book"]), Signal(KINDS["trade"]), Signal(KINDS["gap"])
        m.d.comb += [
            book_body.bid_px.eq(when(bid, t.bid.price)), book_body.bid_qty.eq(when(bid, clip(t.bid.qty, bid_clip))),
            book_body.ask_px.eq(when(ask, t.ask.price)), book_body.ask_qty.eq(when(ask, clip(t.ask.qty, ask_clip))),
            book_body.order_px.eq(Mux(t.add, c.first[32:], self.order_price)), book_body.order_qty.eq(Mux(t.add, c.first[:32], t.qty)),
            trade_body.qty.eq(c.first), trade_body.px.eq(c.second[:32]), gap_body.first.eq(c.first), gap_body.count.eq(c.second)]
        r = Signal(Record, reset_less=True)
        m.d.sync += [
            valid2.eq(valid1), r.kind.eq(c.kind), r.flags.eq(flags), r.slot.eq(Mux(c.market, records.NO_SLOT, c.slot)), r.source.eq(c.source),
            r.message.eq(c.message),
            r.state.eq(Mux(c.market, 0, Cat(Mux(state.halted, TRADING["operational_halt"], state.trading)[:3], state.reg_sho)) | shown_phase << 5),
            r.detail.eq(detail), r.t_wire_ns.eq(c.time), r.number.eq(c.number[:31]),
            r.body.eq(when(is_top, Record(book_body).body) | when(is_trade, Record(trade_body).body) | when(is_gap, Record(gap_body).body))]

        # ---- p2: what the data and the digest so far bring to the new one
        whole = r.as_value()
        covered = Cat(*[whole.word_select(k, 8) for k in records.DIGEST_BYTES])
        m.submodules.digests = digests = memory.Memory(shape=32, depth=slots, init=[])
        digest_write, digest_read = digests.write_port(), digests.read_port(domain="comb")
        old = digest_read.data
        top3, market2 = Signal(), Signal(reset_less=True)
        r3, slot3 = Signal(Record, reset_less=True), Signal(slot_bits, reset_less=True)
        m.d.comb += digest_read.addr.eq(slot2)
        m.d.sync += [market2.eq(c.market), valid3.eq(valid2), r3.eq(r), slot3.eq(slot2), top3.eq(is_top2)]
        from_data = [reg(part, f"from_data_{k}") for k, part in enumerate(crc_of_data(covered, parts=3))]
        old_low, old_high = crc_of_old(old, len(records.DIGEST_BYTES))
        old_low, old_high = reg(Mux(is_top2, old_low, when(~market2, old)), "from_old_0"), reg(when(is_top2, old_high), "from_old_1")

        # ---- p3: the symbol's digest
        digest = Signal(32)
        m.d.comb += [
            digest.eq(old_low ^ old_high ^ when(top3, reduce(xor, from_data))),
            digest_write.en.eq(self.clear | freshen | top3),
            digest_write.addr.eq(Mux(self.clear, self.clear_row[:slot_bits], Mux(freshen, fresh_slot, slot3))),
            digest_write.data.eq(Mux(self.clear | freshen, 0, digest)),
            self.records.valid.eq(valid3), self.records.p.eq(r3), self.records.p.digest.eq(digest), self.records.p.t_out_ns.eq(self.time_ns)]
        return m
