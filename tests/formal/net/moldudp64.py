"""MoldUdp64: no block is handed on that ends behind its datagram, or behind its frame."""
from amaranth import Cat, Mux, Signal

from tickgate_hdl.net.moldudp64 import MoldUdp64
from tickgate_hdl.stream.logic import swap
from tickgate_sim.formal import proof

MOLD = "tickgate_hdl.net.moldudp64"
APART, SETTLE = 11, 5   # cycles from a frame's last word to the next payload, and to its end


@proof("a block that is handed on (`ok`, `headers`) ends within the payload, and within the frame as far as that is known; its header has its length",
       engine="bmc3", depth=22, seconds=1800, mutants=[
    (MOLD, "fit.eq(fits.bit_select(lane, 1))", "fit.eq(1)"),
    (MOLD, "within.eq(ends_at <= limit)", "within.eq(1)"),
])
def bounds(b):
    """Datagrams of any content, payload and frame length; the line may pause at any time. Frames are as far apart as their headers keep them."""
    m = b.m
    mold = b.part(MoldUdp64())
    word, valid, out = mold.datagrams.p, mold.datagrams.valid, mold.messages.p
    under_way, since, left, good = Signal(), Signal(4, init=APART), Signal(16), Signal()
    words = Signal(3)
    given, count = Signal(word.shape()), b.free("count", range(5))
    first = ~under_way
    b.assume(~valid | under_way | (since >= APART))
    m.d.comb += [given.eq(b.free("word", word.shape())), given.first.eq(first), given.left.eq(Mux(first, b.free("length", 16), left)),
                 given.count.eq(Mux((count == 0) | (count > 4), 4, count)), given.good.eq(Mux(words >= 3, good, b.free("good_now")))]
    b.drive(mold.datagrams.payload, given)
    with m.If(valid):
        m.d.sync += [left.eq(Mux(word.left > 4, word.left - 4, 0)), under_way.eq(~word.last), words.eq(Mux(first, 1, Mux(words == 7, 7, words + 1))),
                     since.eq(1)]
        with m.If(words == 2):
            m.d.sync += good.eq(given.good)
    with m.Elif(since != APART):
        m.d.sync += since.eq(since + 1)
    ended = b.before(valid & word.last, "ended", SETTLE)
    b.assume(~mold.ends.valid | ended)
    # ---- the block that is judged now: in the word behind that of its first byte, or after the frame's last word
    before, flush = Signal(32), b.before(valid & word.last, "flush")
    left_before, count_before = Signal(16), Signal(3)
    with m.If(valid):
        m.d.sync += [before.eq(word.data), left_before.eq(word.left), count_before.eq(word.count)]
    judged = out.at[1] & (valid | flush)
    length, end, fits = Signal(16), Signal(17), Signal()
    block = Cat(before, word.data) >> (out.lane << 3)
    m.d.comb += [length.eq(swap(block[:16])), end.eq(length + out.lane + 2),
                 fits.eq(judged & (end <= left_before) & Mux(flush, end <= count_before, ~word.last | (end <= word.count + 4)))]
    block_fits = Signal()
    with m.If(judged):
        m.d.sync += block_fits.eq(fits)
    h = mold.headers.p
    b.prove("a header is of a block that fits", ~(mold.headers.valid & h.outer) | b.before(fits, "fits", 2))
    b.prove("and has its length", ~(mold.headers.valid & h.outer) | (h.outer_length == b.before(length, "length_of", 2)))
    b.prove("words of a block that does not fit are not ok", ~(mold.messages.valid & out.at[3:].any() & out.ok) | block_fits)
    b.cover("a block is handed on to the payload's last byte", mold.headers.valid & h.outer & (b.before(end, "end", 2) == b.before(left_before, "left", 2))
            & (h.outer_length == 8))
    b.cover("a block of the payload does not fit into the frame", judged & ~fits & (end <= left_before))
    b.cover("a word of a block is ok", mold.messages.valid & out.at[4] & out.ok)
