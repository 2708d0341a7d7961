"""ITCH 5.0: message words to keys for the order table, book events, and contexts of records. LATENCY 1 cycle for every type and alignment; contexts,
which wait for the book anyway, come one later.

Two rotators align the block once, to the END of fields: every last byte that matters lies at block offset 0 or 1 modulo 4 (a block is two bytes of length
and the message), so no field waits for more than the word with its last byte.

    e = bytes 4k-3 .. 4k of the block in its word k      f = bytes 4k-2 .. 4k+1, in word k, or k+1 when the block begins at lane 3
    reference 13..20 (e 4, 5)   new reference 21..28 (e 6, 7)   side 21 (e 6)   locate 3..4, type 2 (e 1)
    shares A F P 22..25 (f 6)   E C X 21..24 (e 6)   U 29..32 (e 8)   Q 13..20 (e 4, 5)
    price A F P C 34..37 (f 9)  U 33..36 (e 9)       Q 29..32 (e 8)   printable C 33 (e 9)   cross type Q 41 (f 10)
    code S W 13 (f 3)           H Y 21 (f 5)         h 22, its market 21

E C X send their key with the shares, not with the reference, so that a bubble of the line between the two words moves both.
A message counts as complete only when its block was judged to fit (``ok``) and is as long as its type (``sized``). Source: tickgate.spec.itch50.
"""
from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from tickgate.spec import hashing, itch50, records

from ..net.messages import BlockHeader, message_word
from ..stream.logic import swap
from .events import Op, Symbol, context, event, key
from .locate import LocateTable

COUNTERS = {"empty": 2, "unknown": 1, "short": 2, "longer": 1, "other": 1}
#: Types that are told apart, by what they do; those that want a tracked symbol are named once more.
GROUPS = {"add": "AF", "take": "ECX", "delete": "D", "replace": "U", "trade_c": "C", "trade_p": "P", "trade_q": "Q", "state": "HY", "halt": "h",
          "market": "SW", "of_symbol": "AFECXDUPQHYh"}
HEADER = itch50.BY_CODE[b"S"]["timestamp"].end                  # what all messages begin with


def bucket_of(low, rest, rows):
    """Bucket hash in gateware: one LUT a bit (tickgate.spec.hashing)."""
    bits = []
    for k, row in enumerate(rows):
        bit = low[k]
        for source in row:
            bit = bit ^ rest[source]
        bits.append(bit)
    return Cat(*bits)


class ItchParser(wiring.Component):
    LATENCY = 1          # from the word with the last needed byte to keys and updates
    CONTEXT_LATENCY = 2  # and to contexts; from a header to that of a gap

    def __init__(self, *, symbols, index_bits, reference_bits=64, tables=5, lanes=4):
        if lanes != 4:
            raise ValueError(f"lanes must be 4, not {lanes}")
        self.symbols, self.index_bits, self.reference_bits, self.tables = symbols, index_bits, reference_bits, tables
        self.slot_bits = slot_bits = max(1, (symbols - 1).bit_length())
        self.key_layout = key(slot_bits=slot_bits, index_bits=index_bits, reference_bits=reference_bits, tables=tables)
        super().__init__({
            "messages": In(stream.Signature(message_word(lanes), always_ready=True)),
            "headers": In(stream.Signature(BlockHeader, always_ready=True)),
            "time_ns": In(64),
            "load": In(1), "load_slot": In(slot_bits), "load_symbol": In(Symbol),
            "keys": Out(stream.Signature(self.key_layout, always_ready=True)),
            "updates": Out(stream.Signature(event(slot_bits), always_ready=True)),
            "abandoned": Out(1),  # the replace whose old reference was the last key is cut off: no update will come
            "contexts": Out(stream.Signature(context(slot_bits), always_ready=True)),
            "type_select": In(8), "type_count": Out(48),
            "clear": In(1), "clear_row": In(12),  # of the type counts
            "events": Out(data.StructLayout(COUNTERS))})

    def elaborate(self, platform):
        m = Module()
        word, valid = self.messages.p, self.messages.valid
        at, lane = word.at, word.lane

        # ---- align
        previous = Signal(32)
        window = Cat(previous, word.data)
        e, f = Signal(32), Signal(32)
        m.d.comb += [e.eq(window.bit_select(Cat(lane, Const(0, 1)) * 8 + 8, 32)),
                     f.eq(window.bit_select(Cat(Cat(lane + 1)[:2], Const(0, 1)) * 8 + 8, 32))]
        e_before, f_end_before = Signal(32), Signal(8)
        with m.If(valid):
            m.d.sync += [previous.eq(word.data), e_before.eq(e), f_end_before.eq(f[24:])]
        f_end = f[24:]                                          # block offset 4k+1
        at_f = [Mux(lane == 3, at[k + 1], at[k]) for k in range(len(at) - 1)]

        # ---- type, length, locate: from word 1
        message = Signal(8)
        length = Signal(16)
        with m.If(valid & at[1]):
            m.d.sync += [message.eq(e[8:16]), length.eq(Cat(e[:8], previous.word_select(lane, 8)))]
        # what follows from the type is settled when at[3] is set, `sized` a cycle later
        is_ = Signal(data.StructLayout(dict.fromkeys(GROUPS, 1)))
        size = Signal(6, init=63)
        m.d.sync += [is_[name].eq(Cat(*[message == ord(code) for code in codes]).any()) for name, codes in GROUPS.items()]
        with m.Switch(message):
            for code, layout in itch50.BY_CODE.items():
                with m.Case(code[0]):
                    m.d.sync += size.eq(layout.size)
            with m.Default():
                m.d.sync += size.eq(63)                         # never an event: no flag is set
        sized = Signal()
        m.d.sync += sized.eq(length >= size)
        m.submodules.locates = locates = LocateTable(symbols=self.symbols)
        m.d.comb += [locates.ask.eq(valid & at[1]), locates.locate.eq(swap(e[16:32])),
                     locates.load.eq(self.load), locates.load_slot.eq(self.load_slot), locates.load_symbol.eq(self.load_symbol)]
        tracked, slot = locates.tracked, locates.slot           # settled when at[5] is set

        # ---- keys
        live = Signal()                                         # the message is complete, of a tracked symbol
        m.d.comb += live.eq(word.ok & sized & tracked)
        # the last byte of e is in lane `lane` of this word, that of f in the lane behind: a frame that was cut may have ended before it
        e_there, f_there = word.there.bit_select(lane, 1), word.there.bit_select(Cat(lane + 1)[:2], 1)
        keys = self.keys.p
        reference = Signal(64)
        m.d.comb += reference.eq(Cat(swap(e), swap(e_before)))
        low, rest = reference[:self.index_bits], reference[self.index_bits:self.reference_bits]
        m.d.sync += [
            self.keys.valid.eq(valid & (live & e_there & (at[5] & (is_.add | is_.delete | is_.replace) | at[6] & is_.take | at[7] & is_.replace))),
            keys.insert.eq(is_.add | at[7]), keys.whole.eq(is_.delete | is_.replace), keys.replace.eq(is_.replace), keys.slot.eq(slot)]
        # here and below, fields are taken from what is on the line until the word comes: nobody looks at them before
        with m.If(at[5] | at[7]):
            m.d.sync += [keys.rest.eq(rest), keys.wide.eq(reference[self.reference_bits:].any() if self.reference_bits < 64 else 0),
                         *[keys.buckets[k].eq(bucket_of(low, rest, hashing.rows(k, self.index_bits, self.reference_bits))) for k in range(self.tables)]]

        # ---- events
        book = live & (e_there & (at[5] & is_.delete | at[6] & is_.take | at[9] & is_.replace) | f_there & at_f[9] & is_.add)
        up = self.updates.p
        m.d.sync += [
            self.updates.valid.eq(valid & book),
            up.op.eq(Mux(is_.add, Op.ADD, Mux(is_.take, Op.TAKE, Mux(is_.delete, Op.DELETE, Op.REPLACE)))), up.slot.eq(slot)]
        with m.If(at[6] & ~is_.replace):
            m.d.sync += up.side.eq(e[0])                        # B is 0x42, S is 0x53
        with m.If(at_f[6] & (is_.add | is_.trade_p)):           # a trade's quantity is kept here too
            m.d.sync += up.qty.eq(swap(f))
        with m.If(at[6] & is_.take | at[8] & is_.replace):
            m.d.sync += up.qty.eq(swap(e))
        with m.If(at_f[9] & is_.add):
            m.d.sync += up.price.eq(swap(f))
        with m.If(at[9] & is_.replace):
            m.d.sync += up.price.eq(swap(e))

        # ---- a replace whose frame ends between its old reference and its price: the book has begun with it
        half = Signal()
        begins = live & e_there & at[5] & is_.replace
        with m.If(valid):
            m.d.sync += half.eq((half | begins) & ~at[9] & ~word.last)
        m.d.sync += self.abandoned.eq(valid & word.last & (half & ~(at[9] & e_there) | begins))

        # ---- a word that may complete a record's message, and what of it is not kept: for contexts, which are made in the next cycle
        h_now = Mux(lane[1], at[6], at[5])                      # the word with block offset 22
        h_action, h_there = (x.bit_select(Cat(lane[0], ~lane[1]) * n, n) for x, n in ((word.data, 8), (word.there, 1)))
        came, was_trade, was_symbol, was_market = (Signal(name=n) for n in ("came", "was_trade", "was_symbol", "was_market"))
        time, price = Signal(64, reset_less=True), Signal(32, reset_less=True)
        market, action, printable, last_code = Signal(8), Signal(8), Signal(8), Signal(8)
        q_qty, q_price = Signal(64), Signal(32)
        m.d.sync += [came.eq(valid), was_trade.eq(live & f_there & (at_f[9] & (is_.trade_p | is_.trade_c) | at_f[10] & is_.trade_q)),
                     was_symbol.eq(live & (f_there & at_f[5] & is_.state | h_there & h_now & is_.halt)),
                     was_market.eq(word.ok & f_there & at_f[3] & is_.market), time.eq(self.time_ns),
                     price.eq(swap(f)), last_code.eq(f_end), market.eq(Mux(lane == 2, f_end_before, f_end)), action.eq(h_action)]
        with m.If(at[5]):
            m.d.sync += q_qty.eq(reference)
        with m.If(at[8]):
            m.d.sync += q_price.eq(swap(e))
        with m.If(at[9]):
            m.d.sync += printable.eq(e[:8])

        # ---- short book messages: told by the block's header alone, once a datagram, before any event of the next block can come
        h, h_valid = self.headers.p, self.headers.valid
        header = Signal(BlockHeader)
        header_valid, broken_outer, broken_inner, broken, raised = Signal(), Signal(), Signal(), Signal(), Signal()
        m.d.sync += [
            header.eq(h), header_valid.eq(h_valid),
            broken_outer.eq(h_valid & h.outer & (h.outer_length != 0) & ~h.outer_length[6:].any()
                            & Cat(*[(h.outer_type == c) & (h.outer_length[:6] < itch50.BY_CODE[bytes([c])].size) for c in itch50.BOOK_TYPES]).any()),
            broken_inner.eq(h_valid & h.inner & h.inner_length & Cat(*[h.inner_type == c for c in itch50.BOOK_TYPES]).any())]
        m.d.comb += broken.eq((broken_outer | broken_inner) & (header.first | ~raised))
        with m.If(header_valid):
            m.d.sync += raised.eq(raised & ~header.first | broken_outer | broken_inner)

        # ---- one context a record
        c = self.contexts.p
        m.d.sync += [self.contexts.valid.eq(self.updates.valid | broken | came & (was_trade | was_symbol | was_market & sized)),
                     c.slot.eq(slot), c.source.eq(word.source), c.number.eq(word.number), c.message.eq(message), c.time.eq(time),
                     c.market.eq(was_market | broken), c.extra.eq(market), c.side.eq(0), c.second.eq(0)]
        with m.If(self.updates.valid):                                    # first: price and shares; a removal's price is the book's to say
            m.d.sync += [c.kind.eq(records.TOP_OF_BOOK), c.detail.eq(0),
                         c.first.eq(Cat(Mux(is_.delete, 0, up.qty), Mux(is_.add | is_.replace, up.price, 0)))]
        with m.Elif(broken):
            m.d.sync += [c.kind.eq(records.GAP), c.detail.eq(ord(records.GAPS["message"][0])), c.time.eq(header.time),
                         c.message.eq(Mux(broken_outer, header.outer_type, header.inner_type)),
                         c.first.eq(Mux(broken_outer, header.number, header.inner_number)),
                         c.number.eq(Mux(broken_outer, header.number, header.inner_number))]
        with m.Elif(was_trade):
            m.d.sync += [c.kind.eq(records.TRADE), c.side.eq(is_.trade_p & up.side),
                         c.detail.eq(Mux(is_.trade_p, ord("Y"), Mux(is_.trade_c, printable, last_code))),
                         c.first.eq(Mux(is_.trade_q, q_qty, up.qty)), c.second.eq(Mux(is_.trade_q, q_price, price))]
        with m.Else():
            m.d.sync += [c.kind.eq(records.STATUS), c.detail.eq(Mux(is_.halt, action, last_code)), c.first.eq(0)]

        # ---- counters, in steps behind the headers: what they need of the header, what counts, the sums
        outer, inner = header_valid & header.outer, header_valid & header.inner
        known_now, size_now = Signal(), Signal(6)
        with m.Switch(h.outer_type):
            for code, layout in itch50.BY_CODE.items():
                with m.Case(code[0]):
                    m.d.comb += [known_now.eq(1), size_now.eq(layout.size)]
        known, size_of = Signal(), Signal(6)
        m.d.sync += [known.eq(known_now), size_of.eq(size_now)]
        n = Signal(data.StructLayout(dict.fromkeys(("empty", "some", "typed", "known", "below", "beyond", "inner_empty", "inner_some"), 1)))
        m.d.sync += [
            n.empty.eq(outer & (header.outer_length == 0)), n.some.eq(outer & (header.outer_length != 0)), n.typed.eq(outer & (header.outer_length >= HEADER)),
            n.known.eq(known), n.below.eq(header.outer_length < size_of), n.beyond.eq(header.outer_length > size_of),
            n.inner_empty.eq(inner & ~header.inner_length), n.inner_some.eq(inner & header.inner_length)]
        unlisted = Signal()                                     # a message that wants a symbol, whose symbol is not tracked
        passing = [Signal(name=f"passing{k}") for k in range(4)]
        m.d.sync += [passing[0].eq(valid & at[1]), *[passing[k].eq(passing[k - 1] & ~(valid & at[1])) for k in range(1, 4)]]
        m.d.comb += unlisted.eq(passing[3] & word.ok & sized & ~tracked & is_.of_symbol)
        ev = self.events
        m.d.sync += [
            ev.empty.eq(n.empty + n.inner_empty), ev.unknown.eq(n.typed & ~n.known), ev.short.eq((n.some & (~n.typed | n.known & n.below)) + n.inner_some),
            ev.longer.eq(n.typed & n.known & n.beyond), ev.other.eq(unlisted)]
        # messages that count are three words apart at the least, so that each finds the sum of the one before
        m.submodules.type_counts = counts = memory.Memory(shape=48, depth=256, init=[])
        write, read, show = counts.write_port(), counts.read_port(domain="comb"), counts.read_port(domain="comb")
        counted_type, so_far = Signal(8), Signal(48)
        m.d.sync += [counted_type.eq(header.outer_type), so_far.eq(read.data), self.type_count.eq(show.data)]
        m.d.comb += [read.addr.eq(header.outer_type), write.en.eq(self.clear | n.typed), show.addr.eq(self.type_select),
                     write.addr.eq(Mux(self.clear, self.clear_row[:8], counted_type)), write.data.eq(Mux(self.clear, 0, so_far + 1))]
        return m
