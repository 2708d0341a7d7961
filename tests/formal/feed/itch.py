"""ItchParser: nothing reaches book or records but by a message that was handed on, is long enough for its type, and is of a tracked symbol."""
from unittest import mock

from amaranth import Cat, Module, Mux, Signal

from tickgate.spec import itch50, records
from tickgate_hdl.feed import itch
from tickgate_sim.formal import proof

ITCH = "tickgate_hdl.feed.itch"
BOOK, TRADES, STATES, MARKET = itch50.BOOK_TYPES, b"PCQ", b"HYh", b"SW"


def any_locates(tables):
    """Locate tables whose answers the bench gives, in a list: 65,536 rows of memory are not what this proof is about."""
    class Locates(itch.LocateTable):
        def __init__(self, **sizes):
            super().__init__(**sizes)
            tables.append(self)

        def elaborate(self, platform):
            return Module()
    return Locates


@proof("keys, updates and contexts come of no message that is skipped: block not handed on, type unknown or of another kind, shorter than its type, symbol not "
       "tracked; and a block gives one update at the most", within=26, mutants=[
    (ITCH, "live.eq(word.ok & sized & tracked)", "live.eq(sized & tracked)"),
    (ITCH, "live.eq(word.ok & sized & tracked)", "live.eq(word.ok & tracked)"),
    (ITCH, "live.eq(word.ok & sized & tracked)", "live.eq(word.ok & sized)"),
    (ITCH, "was_market & sized", "was_market"),
])
def skipped(b):
    """Blocks of any content begin at any word and lane and may be cut by the end of a frame; the line may pause at any time. Whether a block is handed on
    is settled from its word 3 on, the answer to a locate LATENCY cycles after it was asked; before that they are anything."""
    m, tables = b.m, []
    with mock.patch.object(itch, "LocateTable", any_locates(tables)):
        parser = itch.ItchParser(symbols=2, index_bits=2, reference_bits=12, tables=1)
        inside = parser.elaborate("formal")
    b.part(parser, inside=inside)
    table, = tables
    word, valid = parser.messages.p, parser.messages.valid
    # ---- blocks
    at, lane, kept_ok = Signal.like(word.at, name="block_at"), Signal.like(word.lane, name="block_lane"), Signal()
    begins, last, ok = b.free("begins"), b.free("last"), b.free("ok")
    settled = at[3:].any()
    given = Signal(word.shape())
    m.d.comb += [given.eq(b.free("word", word.shape())), given.at.eq(at), given.lane.eq(lane), given.last.eq(last), given.ok.eq(Mux(settled, kept_ok, ok))]
    b.drive(parser.messages.payload, given)
    with m.If(valid):
        m.d.sync += at.eq(Mux(last, 0, Mux(begins, 2, at << 1)))
        with m.If(begins):
            m.d.sync += lane.eq(b.free("lane", 2))
        with m.If(at[2]):
            m.d.sync += kept_ok.eq(ok)
    with m.If(b.before(table.ask, "asked", table.LATENCY - 1)):
        m.d.sync += [table.tracked.eq(b.free("tracked")), table.slot.eq(b.free("slot"))]
    # ---- what the block says of itself
    before, code, length = Signal(32), Signal(8), Signal(16)
    block = Cat(before, word.data) >> (lane << 3)
    with m.If(valid):
        m.d.sync += before.eq(word.data)
        with m.If(at[1]):
            m.d.sync += [code.eq(block[16:24]), length.eq(Cat(block[8:16], block[:8]))]

    def whole(codes):
        """A word of a block that was handed on, of one of these types and long enough for it."""
        return valid & settled & kept_ok & Cat(*[(code == c) & (length >= itch50.BY_CODE[bytes([c])].size) for c in codes]).any()

    book, trades, states, market = whole(BOOK) & table.tracked, whole(TRADES) & table.tracked, whole(STATES) & table.tracked, whole(MARKET)
    b.prove("keys are of a book message", ~parser.keys.valid | b.before(book, "key_of", parser.LATENCY))
    b.prove("updates are of a book message", ~parser.updates.valid | b.before(book, "update_of", parser.LATENCY))
    contexts, c = parser.contexts.valid, parser.contexts.p
    for kind, what in ((records.TOP_OF_BOOK, book), (records.TRADE, trades), (records.STATUS, states | market),
                       (records.GAP, parser.headers.valid)):
        b.prove(f"contexts of kind {kind} are of a message of that kind",
                ~(contexts & (c.kind == kind)) | b.before(what, f"context{kind}", parser.CONTEXT_LATENCY))
    b.prove("no other kind of context", ~contexts | Cat(*[c.kind == k for k in (records.TOP_OF_BOOK, records.TRADE, records.STATUS, records.GAP)]).any())
    told = Signal()                                                 # the block under way gave its update
    with m.If(b.before(valid & at[1], "new_block")):
        m.d.sync += told.eq(0)
    with m.Elif(parser.updates.valid):
        m.d.sync += told.eq(1)
    b.prove("one update a block", ~(parser.updates.valid & told))
    # ---- every kind comes, and what is skipped goes all the way too
    for name in "ADXU":
        b.cover(f"an update by {name}", parser.updates.valid & (b.before(code, f"code_{name}") == ord(name)))
    for kind, name in ((records.TRADE, "P"), (records.TRADE, "C"), (records.TRADE, "Q"), (records.STATUS, "h"), (records.STATUS, "S")):
        b.cover(f"a context by {name}", contexts & (c.kind == kind) & (b.before(code, f"context_{name}", 2) == ord(name)))
    b.cover("a block of another type, handed on and tracked", at[9] & kept_ok & table.tracked & (code == ord("Z")) & (length == 40))
