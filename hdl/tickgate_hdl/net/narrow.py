"""Words of 8 bytes, as 25GBASE-R brings them, to the words of 4 bytes that the path works on.

    frames ─┬──────────────────────► low half ─► out
            └─► queue in block RAM ─► high half ─► out, a cycle later

While nothing waits, a word goes straight through; its low half is out LATENCY cycles after it came, its high half one cycle later, and what comes meanwhile
waits in the queue. So the path sees half the line's rate for ever, and bursts of the full rate as long as the queue has room; the wait is the backlog.
A frame that begins while no more than an eighth of the queue is free is dropped whole. One that is longer than that and finds no room later on is cut: the last
word that there was room for ends it, with ``error``, so that all that follows takes it for what it is. With 2^11 words an eighth is 2,048 bytes, more than a
frame has. Nothing is filtered before the queue: frames for nobody take room too.
"""
from amaranth import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..board.memory import DeepMemory
from .words import frame_word

WIDE, NARROW = 8, 4           # bytes a word
TIME_BITS = 16                # of a word's time that wait with it: 65 us


class Narrow(wiring.Component):
    """``2^depth_bits`` words of 8 bytes wait at the most. ``out_time_ns``: ``time_ns`` of the cycle in which the word came of which ``out`` is a half."""
    LATENCY = 1

    def __init__(self, *, depth_bits):
        if not 4 <= depth_bits <= 13:
            raise ValueError(f"depth_bits must be 4 to 13, not {depth_bits}")     # 2^13 words leave within 2^15 cycles at any clock above 250 MHz
        self.depth_bits = depth_bits
        super().__init__({
            "frames": In(stream.Signature(frame_word(WIDE), always_ready=True)), "time_ns": In(64),
            "out": Out(stream.Signature(frame_word(NARROW), always_ready=True)), "out_time_ns": Out(64),
            "overflow": Out(1)})                                                  # a frame was dropped, or cut

    def elaborate(self, platform):
        m = Module()
        depth = 1 << self.depth_bits
        word, valid = self.frames.p, self.frames.valid
        entry = data.StructLayout({"word": frame_word(WIDE), "time": TIME_BITS})
        m.submodules.ram = ram = DeepMemory(bank_bits=0, row_bits=self.depth_bits, width=entry.size, latency=1, primitive="block")

        # ---- what is taken
        head, tail = Signal(self.depth_bits), Signal(self.depth_bits)             # next to leave, next to fill
        waiting = Signal(self.depth_bits + 1)
        crowded, tight = Signal(), Signal()                                       # a cycle late: an eighth is free at the most; two words at the most
        dropping, taken, cut = Signal(), Signal(), Signal()
        drops = Mux(word.first, crowded, dropping)
        m.d.sync += [crowded.eq(waiting >= depth - depth // 8), tight.eq(waiting >= depth - 2)]
        m.d.comb += [taken.eq(valid & ~drops), cut.eq(taken & tight & ~word.last)]
        with m.If(valid):
            m.d.sync += dropping.eq(drops | cut)
        m.d.sync += self.overflow.eq(valid & word.first & crowded | cut)

        # ---- straight through, or into the queue
        out, rest = self.out.p, Signal(frame_word(NARROW), reset_less=True)
        rest_valid, readable = Signal(), Signal()                                 # a high half is to go; the word at head is read
        free, straight, leaves, waits = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            free.eq(~rest_valid & ~(self.out.valid & out.last)),                  # a frame is followed by a cycle without a word
            straight.eq(taken & free & (waiting == 0)), leaves.eq(free & readable), waits.eq(taken & ~straight)]
        now, put, next_head = Signal(entry), Signal(entry), Signal(self.depth_bits)
        m.d.comb += [
            now.word.eq(word), now.time.eq(self.time_ns), put.eq(now), put.word.last.eq(word.last | cut),
            put.word.error.eq(Mux(cut, 1, word.error)), put.word.count.eq(Mux(cut, WIDE, word.count)),
            next_head.eq(head + leaves),
            ram.a_write.eq(waits), ram.a_address.eq(tail), ram.a_in.eq(put), ram.b_address.eq(next_head)]
        # a word can be read from the cycle after its write on
        m.d.sync += [head.eq(next_head), tail.eq(tail + waits), waiting.eq(waiting + waits - leaves), readable.eq(waiting > leaves)]

        # ---- halves
        got = Signal(entry)
        m.d.comb += got.eq(Mux(readable, ram.b_out, now.as_value()))
        w, two = got.word, Signal()
        m.d.comb += two.eq(~w.last | (w.count > NARROW))
        m.d.sync += [self.out.valid.eq(rest_valid | straight | leaves), rest_valid.eq((straight | leaves) & two)]
        with m.If(rest_valid):
            m.d.sync += out.eq(rest)
        with m.Else():
            m.d.sync += [out.data.eq(w.data[:8 * NARROW]), out.first.eq(w.first), out.last.eq(~two), out.error.eq(w.error), out.count.eq(w.count)]
        with m.If(free):
            m.d.sync += [rest.data.eq(w.data[8 * NARROW:]), rest.first.eq(0), rest.last.eq(w.last), rest.error.eq(w.error), rest.count.eq(w.count - NARROW),
                         self.out_time_ns.eq(self.time_ns - (self.time_ns - got.time)[:TIME_BITS])]
        return m
