"""Records, in message order: what a message was (``contexts``, ``gaps``) joined with what became of the book (``tops``).

    context ─► queue ─┬─► p0: join ─► p1: stale, state, flags ─► p2: CRC of the data ─► p3: digest ─► record
    top of book ──────┘
A context waits in a short queue until its top of book comes; one that needs none is due DUE cycles after it came, later than any top of book before it and
sooner than any behind it, so that records keep the order of messages and each kind has one latency. Rules: docs/path.md.
LATENCY: 3 cycles from ``tops`` to ``records``.
"""
from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from tickgate.spec import records

from ..feed.events import context
from ..net.messages import Gap
from .crc import crc_next, crc_of_data
from .ladder import top
from .record import KINDS, Record

QUEUE = 16
TRADING = records.TRADING
State = data.StructLayout({"trading": 3, "reg_sho": 2, "halted": 1})


class Publisher(wiring.Component):
    LATENCY = 3
    DUE = 8   # cycles from a context that needs no top of book to p0

    def __init__(self, *, slot_bits, quantity_bits):
        self.slot_bits = slot_bits
        self.context = context(slot_bits)
        super().__init__({
            "contexts": In(stream.Signature(self.context, always_ready=True)),
            "gaps": In(stream.Signature(Gap, always_ready=True)),
            "tops": In(stream.Signature(top(quantity_bits), always_ready=True)),
            "order_price": In(32),             # of a removal, one cycle after its top of book
            "time_ns": In(64),
            "records": Out(stream.Signature(Record, always_ready=True)),
            "stale": Out(1 << slot_bits),
            "load": In(1), "load_slot": In(slot_bits), "load_stale": In(1),
            "distrust": In(1),                 # every book may be wrong
            "clear": In(1), "clear_row": In(12)})

    def elaborate(self, platform):
        m = Module()
        slot_bits, slots = self.slot_bits, 1 << self.slot_bits

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
        due = Signal(self.DUE)
        m.d.sync += due.eq(Cat(arrives & (arriving.kind != records.TOP_OF_BOOK), due))

        # ---- p0: join
        taking = Signal()
        m.d.comb += taking.eq(self.tops.valid | due[-1])
        with m.If(taking):
            m.d.sync += head.eq(head + 1)
        valid1 = Signal()
        c, t = Signal(self.context, reset_less=True), Signal(self.tops.p.shape(), reset_less=True)
        m.d.sync += [valid1.eq(taking), c.as_value().eq(read.data), t.eq(self.tops.p)]

        # ---- p1: stale, state, flags
        is_top, is_trade, is_gap, is_status = (Signal(name=f"is_{k}") for k in ("top", "trade", "gap", "status"))
        m.d.comb += [is_top.eq(valid1 & (c.kind == records.TOP_OF_BOOK)), is_trade.eq(valid1 & (c.kind == records.TRADE)),
                     is_gap.eq(valid1 & (c.kind == records.GAP)), is_status.eq(valid1 & (c.kind == records.STATUS))]
        stale = self.stale
        fault = is_top & (t.fault != records.NO_FAULT)
        is_stale = Signal()
        m.d.comb += is_stale.eq(Mux(c.market, is_gap, stale.bit_select(c.slot, 1) | fault))
        with m.If(self.load):
            m.d.sync += stale.bit_select(self.load_slot, 1).eq(self.load_stale)
        with m.If(is_gap | self.distrust):
            m.d.sync += stale.eq(~0)
        with m.Elif(fault):
            m.d.sync += stale.bit_select(c.slot, 1).eq(1)
        m.submodules.states = states = memory.Memory(shape=State, depth=slots, init=[])
        state_write, state_read = states.write_port(), states.read_port(domain="comb")
        state, phase = Signal(State), Signal(3)
        m.d.comb += [state_read.addr.eq(c.slot), state.eq(state_read.data)]

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
        with m.If(is_status):
            with m.Switch(c.message):
                with m.Case(ord("H")):
                    m.d.comb += state.trading.eq(trading)
                with m.Case(ord("Y")):
                    m.d.comb += state.reg_sho.eq(reg_sho)
                with m.Case(ord("h")):
                    with m.If((c.extra == ord("Q")) & ((c.detail == ord("H")) | (c.detail == ord("T")))):
                        m.d.comb += state.halted.eq(c.detail == ord("H"))
                with m.Case(ord("S")):
                    m.d.sync += phase.eq(new_phase)
        shown_phase = Mux(is_status & (c.message == ord("S")), new_phase, phase)
        # a slot that is loaded anew starts without state and digest: written when no record needs the memories
        fresh, fresh_slot = Signal(), Signal(slot_bits)
        valid2, valid3 = Signal(), Signal()
        freshen = fresh & ~valid1 & ~valid3
        with m.If(self.load):
            m.d.sync += [fresh.eq(1), fresh_slot.eq(self.load_slot)]
        with m.Elif(freshen):
            m.d.sync += fresh.eq(0)
        m.d.comb += [
            state_write.en.eq(self.clear | freshen | is_status & ~c.market),
            state_write.addr.eq(Mux(self.clear, self.clear_row[:slot_bits], Mux(freshen, fresh_slot, c.slot))),
            state_write.data.eq(Mux(self.clear | freshen, 0, state.as_value()))]
        with m.If(self.clear):
            m.d.sync += [stale.eq(~0), phase.eq(0)]            # an empty book is right only for who knows that the market's is

        def clip(qty):
            return qty[:32] | qty[32:].any().replicate(32)

        bid, ask = t.bid.some & ~t.bid.unknown, t.ask.some & ~t.ask.unknown
        flags = Signal(8)
        with m.If(is_top):
            m.d.comb += flags.eq(Cat(~is_stale & ~t.bid.unknown & ~t.ask.unknown, bid, ask, t.bid.unknown, t.ask.unknown, is_stale,
                                     bid & ask & (t.bid.price >= t.ask.price), t.side))
        with m.Else():
            m.d.comb += flags.eq(Mux(is_stale, records.STALE, 0) | Mux(is_trade & c.side, records.SELL, 0))
        book_body, trade_body, gap_body = Signal(KINDS["top_of_book"]), Signal(KINDS["trade"]), Signal(KINDS["gap"])
        m.d.comb += [
            book_body.bid_px.eq(Mux(bid, t.bid.price, 0)), book_body.bid_qty.eq(Mux(bid, clip(t.bid.qty), 0)),
            book_body.ask_px.eq(Mux(ask, t.ask.price, 0)), book_body.ask_qty.eq(Mux(ask, clip(t.ask.qty), 0)),
            book_body.order_px.eq(Mux(t.add, c.first[32:], self.order_price)), book_body.order_qty.eq(Mux(t.add, c.first[:32], t.qty)),
            trade_body.qty.eq(c.first), trade_body.px.eq(c.second[:32]), gap_body.first.eq(c.first), gap_body.count.eq(c.second)]
        r = Signal(Record, reset_less=True)
        m.d.sync += [
            valid2.eq(valid1), r.kind.eq(c.kind), r.flags.eq(flags), r.slot.eq(Mux(c.market, records.NO_SLOT, c.slot)), r.source.eq(c.source),
            r.message.eq(c.message),
            r.state.eq(Mux(c.market, 0, Cat(Mux(state.halted, TRADING["operational_halt"], state.trading)[:3], state.reg_sho)) | shown_phase << 5),
            r.detail.eq(Mux(is_top, t.fault, c.detail)), r.t_wire_ns.eq(c.time), r.number.eq(c.number[:31]),
            r.body.eq(Mux(is_top, Record(book_body).body, Mux(is_trade, Record(trade_body).body, Mux(is_gap, Record(gap_body).body, 0))))]

        # ---- p2: what the data brings to the digest
        whole = r.as_value()
        covered = Cat(*[whole.word_select(k, 8) for k in records.DIGEST_BYTES])
        r3 = Signal(Record, reset_less=True)
        slot2, slot3 = Signal(slot_bits, reset_less=True), Signal(slot_bits, reset_less=True)
        top2, top3, market2, market3 = (Signal(name=n, reset_less=True) for n in ("top2", "top3", "market2", "market3"))
        brought = Signal(32, reset_less=True)
        m.d.sync += [slot2.eq(c.slot), top2.eq(is_top), market2.eq(c.market),
                     valid3.eq(valid2), r3.eq(r), slot3.eq(slot2), top3.eq(top2), market3.eq(market2), brought.eq(crc_of_data(covered))]

        # ---- p3: the symbol's digest
        m.submodules.digests = digests = memory.Memory(shape=32, depth=slots, init=[])
        digest_write, digest_read = digests.write_port(), digests.read_port(domain="comb")
        digest = Signal(32)
        m.d.comb += [
            digest_read.addr.eq(slot3), digest.eq(Mux(top3, crc_next(digest_read.data, brought, len(records.DIGEST_BYTES)), digest_read.data)),
            digest_write.en.eq(self.clear | freshen | valid3 & top3),
            digest_write.addr.eq(Mux(self.clear, self.clear_row[:slot_bits], Mux(freshen, fresh_slot, slot3))),
            digest_write.data.eq(Mux(self.clear | freshen, 0, digest)),
            self.records.valid.eq(valid3), self.records.p.eq(r3), self.records.p.digest.eq(Mux(market3, 0, digest)), self.records.p.t_out_ns.eq(self.time_ns)]
        return m
