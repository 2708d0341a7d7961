"""ITCH 5.0: message words to keys for the order table, book events, and contexts of records. LATENCY 1 cycle for every type and alignment.

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
    LATENCY = 1

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

        # ---- type, length, locate: in word 1
        types = {code: Signal(name=f"is_{code.decode()}") for code in (b"A", b"F", b"E", b"C", b"X", b"D", b"U", b"P", b"Q", b"S", b"W", b"H", b"Y", b"h")}
        message = Signal(8)
        locate = Signal(16)
        with m.If(valid & at[1]):
            m.d.sync += [*[flag.eq(e[8:16] == code[0]) for code, flag in types.items()], message.eq(e[8:16]), locate.eq(swap(e[16:32]))]
        t = {code.decode(): flag for code, flag in types.items()}
        is_add, is_take, is_delete, is_replace = t["A"] | t["F"], t["E"] | t["C"] | t["X"], t["D"], t["U"]
        sized = Signal()
        length = Signal(16)
        with m.If(valid & at[1]):
            m.d.sync += length.eq(Cat(e[:8], previous.word_select(lane, 8)))
        size = Signal(6)
        with m.Switch(message):
            for code, layout in itch50.BY_CODE.items():
                with m.Case(code[0]):
                    m.d.comb += size.eq(layout.size)
            with m.Default():
                m.d.comb += size.eq(63)                         # never an event: no flag is set
        m.d.sync += sized.eq(length >= size)
        m.submodules.locates = locates = LocateTable(symbols=self.symbols)
        m.d.comb += [locates.locate.eq(locate), locates.load.eq(self.load), locates.load_slot.eq(self.load_slot), locates.load_symbol.eq(self.load_symbol)]
        tracked, slot = locates.tracked, locates.slot           # settled when at[5] is set

        # ---- keys
        whole = Signal()                                        # this word belongs to a complete message of a tracked symbol
        m.d.comb += whole.eq(valid & word.ok & sized & tracked)
        # the last byte of e is in lane `lane` of this word, that of f in the lane behind: a frame that was cut may have ended before it
        e_there, f_there = word.there.bit_select(lane, 1), word.there.bit_select(Cat(lane + 1)[:2], 1)
        keys = self.keys.p
        reference = Signal(64)
        m.d.comb += reference.eq(Cat(swap(e), swap(e_before)))
        low, rest = reference[:self.index_bits], reference[self.index_bits:self.reference_bits]
        m.d.sync += [
            self.keys.valid.eq(whole & e_there & (at[5] & (is_add | is_delete | is_replace) | at[6] & is_take | at[7] & is_replace)),
            keys.insert.eq(is_add | at[7]), keys.whole.eq(is_delete | is_replace), keys.replace.eq(is_replace), keys.slot.eq(slot)]
        with m.If(valid & (at[5] | at[7])):
            m.d.sync += [keys.rest.eq(rest), keys.wide.eq(reference[self.reference_bits:].any() if self.reference_bits < 64 else 0),
                         *[keys.buckets[k].eq(bucket_of(low, rest, hashing.rows(k, self.index_bits, self.reference_bits))) for k in range(self.tables)]]

        # ---- events
        book = Signal()
        m.d.comb += book.eq(whole & (e_there & (at[5] & is_delete | at[6] & is_take | at[9] & is_replace) | f_there & at_f[9] & is_add))
        up = self.updates.p
        m.d.sync += [
            self.updates.valid.eq(book),
            up.op.eq(Mux(is_add, Op.ADD, Mux(is_take, Op.TAKE, Mux(is_delete, Op.DELETE, Op.REPLACE)))), up.slot.eq(slot)]
        with m.If(valid):
            with m.If(at[6] & ~is_replace):
                m.d.sync += up.side.eq(e[0])                    # B is 0x42, S is 0x53
            with m.If(at_f[6] & is_add):
                m.d.sync += up.qty.eq(swap(f))
            with m.If(at[6] & is_take | at[8] & is_replace):
                m.d.sync += up.qty.eq(swap(e))
            with m.If(at_f[9] & is_add):
                m.d.sync += up.price.eq(swap(f))
            with m.If(at[9] & is_replace):
                m.d.sync += up.price.eq(swap(e))

        # ---- a replace whose frame ends between its old reference and its price: the book has begun with it
        half = Signal()
        begun = half | whole & e_there & at[5] & is_replace
        with m.If(valid):
            m.d.sync += half.eq(begun & ~at[9] & ~word.last)
        m.d.sync += self.abandoned.eq(valid & word.last & begun & ~book)

        # ---- contexts of trades and status
        side, printable = Signal(), Signal(8)
        p_qty, c_qty, q_qty, q_price = Signal(32), Signal(32), Signal(64), Signal(32)
        with m.If(valid):
            with m.If(at[6]):
                m.d.sync += [side.eq(e[0]), c_qty.eq(swap(e))]
            with m.If(at[5]):
                m.d.sync += q_qty.eq(reference)
            with m.If(at_f[6]):
                m.d.sync += p_qty.eq(swap(f))
            with m.If(at[8]):
                m.d.sync += q_price.eq(swap(e))
        h_now = Mux(lane[1], at[6], at[5])                      # the word with block offset 22
        h_market = Mux(lane == 2, f_end_before, f_end)
        h_action = word.data.word_select(Cat(lane[0], ~lane[1]), 8)
        m.d.comb += printable.eq(e[:8])
        trade = whole & f_there & (at_f[9] & (t["P"] | t["C"]) | at_f[10] & t["Q"])
        h_there = word.there.bit_select(Cat(lane[0], ~lane[1]), 1)
        symbol_status = whole & (f_there & at_f[5] & (t["H"] | t["Y"]) | h_there & h_now & t["h"])
        market_status = valid & word.ok & sized & f_there & at_f[3] & (t["S"] | t["W"])
        printable_before = Signal(8)                            # at lane 3 the price ends a word after offset 33
        with m.If(valid):
            m.d.sync += printable_before.eq(printable)
        c_detail = Mux(lane == 3, printable_before, printable)

        # ---- short book messages: told by the block's header alone, once a datagram, before any event of the next block can come
        h, h_valid = self.headers.p, self.headers.valid
        broken_outer, broken_inner, broken, raised = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            broken_outer.eq(h_valid & h.outer & (h.outer_length != 0)
                            & Cat(*[(h.outer_type == c) & (h.outer_length < itch50.BY_CODE[bytes([c])].size) for c in itch50.BOOK_TYPES]).any()),
            broken_inner.eq(h_valid & h.inner & h.inner_length & Cat(*[h.inner_type == c for c in itch50.BOOK_TYPES]).any()),
            broken.eq((broken_outer | broken_inner) & (h.first | ~raised))]
        with m.If(h_valid):
            m.d.sync += raised.eq(raised & ~h.first | broken_outer | broken_inner)

        # ---- one context a record
        c = self.contexts.p
        m.d.sync += [self.contexts.valid.eq(book | trade | symbol_status | market_status | broken),
                     c.slot.eq(slot), c.source.eq(word.source), c.number.eq(word.number), c.message.eq(message), c.time.eq(self.time_ns),
                     c.market.eq(market_status | broken), c.extra.eq(h_market), c.second.eq(0)]
        with m.If(book):                                        # first: price and shares; a removal's price is the book's to say
            m.d.sync += [c.kind.eq(records.TOP_OF_BOOK), c.side.eq(0), c.detail.eq(0),
                         c.first.eq(Cat(Mux(is_take, swap(e), Mux(is_delete, 0, up.qty)), Mux(is_add, swap(f), Mux(is_replace, swap(e), 0))))]
        with m.Elif(trade):
            m.d.sync += [c.kind.eq(records.TRADE), c.side.eq(t["P"] & side), c.detail.eq(Mux(t["P"], ord("Y"), Mux(t["C"], c_detail, f_end))),
                         c.first.eq(Mux(t["P"], p_qty, Mux(t["C"], c_qty, q_qty))), c.second.eq(Mux(t["Q"], q_price, swap(f)))]
        with m.Elif(broken):
            m.d.sync += [c.kind.eq(records.GAP), c.side.eq(0), c.detail.eq(ord(records.GAPS["message"][0])), c.time.eq(h.time),
                         c.message.eq(Mux(broken_outer, h.outer_type, h.inner_type)),
                         c.first.eq(Mux(broken_outer, h.number, h.inner_number)),
                         c.number.eq(Mux(broken_outer, h.number, h.inner_number))]
        with m.Else():
            m.d.sync += [c.kind.eq(records.STATUS), c.side.eq(0), c.detail.eq(Mux(t["h"], h_action, f_end)), c.first.eq(0)]

        # ---- counters, one cycle behind
        header = Signal(BlockHeader)
        header_valid, known = Signal(), Signal()
        size_of = Signal(6)
        m.d.sync += [header.eq(h), header_valid.eq(h_valid), known.eq(0), size_of.eq(0)]
        with m.Switch(h.outer_type):
            for code, layout in itch50.BY_CODE.items():
                with m.Case(code[0]):
                    m.d.sync += [known.eq(1), size_of.eq(layout.size)]
        outer, inner = header_valid & header.outer, header_valid & header.inner
        outer_some, inner_some = header.outer_length != 0, header.inner_length
        below_header, below_size = header.outer_length < HEADER, header.outer_length < size_of
        counted = outer & ~below_header
        unlisted = Signal()                                     # a message that wants a symbol, whose symbol is not tracked
        passing = [Signal(name=f"passing{k}") for k in range(5)]
        m.d.sync += [passing[0].eq(valid & at[1]), *[passing[k].eq(passing[k - 1] & ~(valid & at[1])) for k in range(1, 5)]]
        symbol_types = is_add | is_take | is_delete | is_replace | t["P"] | t["Q"] | t["H"] | t["Y"] | t["h"]
        m.d.comb += unlisted.eq(passing[3] & word.ok & sized & ~tracked & symbol_types)
        ev = self.events
        m.d.comb += [
            ev.empty.eq((outer & ~outer_some) + (inner & ~inner_some)), ev.unknown.eq(counted & ~known),
            ev.short.eq((outer & outer_some & (below_header | known & below_size)) + (inner & inner_some)),
            ev.longer.eq(counted & known & (header.outer_length > size_of)),
            ev.other.eq(unlisted)]
        m.submodules.type_counts = counts = memory.Memory(shape=48, depth=256, init=[])
        write, read, show = counts.write_port(), counts.read_port(domain="comb"), counts.read_port(domain="comb")
        m.d.comb += [read.addr.eq(header.outer_type), write.en.eq(self.clear | counted), show.addr.eq(self.type_select),
                     write.addr.eq(Mux(self.clear, self.clear_row[:8], header.outer_type)), write.data.eq(Mux(self.clear, 0, read.data + 1))]
        m.d.sync += self.type_count.eq(show.data)
        return m
