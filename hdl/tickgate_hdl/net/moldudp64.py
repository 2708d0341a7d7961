"""MoldUDP64: datagrams to numbered messages, two bytes at the least, any length and alignment, nothing delayed.

    header word  h0: session 0..1 · h1, h2: session 2..9 · h3, h4: sequence · h5: count, and the first block begins at lane 2
    blocks       begin ─► at[1]: length is there, judged; the next begin follows from it ─► …

A block of length n beginning at lane p ends at lane p + 2 + n counted from its first word. From 8 on, the next one begins two or more words later: a byte
counter finds it. From 4 to 7, it begins in the very word in which this one is judged. Below 4 the block lies within one word and so is told when it
begins ("inner"): it is stepped over and the next one begins behind it. So there are at most two blocks a word, and none is missed.

Where blocks begin follows from their lengths alone. Whether they count is decided beside it: at[1] does it fit, +1 are there blocks to come, is it new
(`blocks`, `old`), +2 `ok` and `headers`, +3 `expected`.
Assumptions: a datagram's payload begins at lane 2, 11 words or more after the frame before (its headers). Source: tickgate.spec.moldudp64; rules: docs/path.md.
"""
from amaranth import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from tickgate.spec import moldudp64, records

from ..stream.logic import all_ones, equal, swap
from .messages import BLOCK_WORDS, BlockHeader, Gap, message_word
from .words import PAYLOAD_LANE, DatagramEnd, datagram_word

COUNTERS = {"packets": 1, "heartbeats": 1, "ends": 1, "runts": 1, "messages": 2, "duplicates": 2, "gaps": 1, "missing": 48, "sessions": 1, "overruns": 1,
            "suspect": 1}
REASON = {name: ord(code) for name, (code, _) in records.GAPS.items()}
BLOCK = moldudp64.BLOCK.size
FAR = 1 << 13    # words to the next block while none is known


def countdown(m, name, *, load, value, down, clear):
    """A number of 16 bits that is loaded and counted down by 0 to 2. Returns whether one, and whether two are left: sign bits of two counters, so that
    nothing is compared on the way."""
    left = []
    for k in (1, 2):
        below = Signal(signed(17), init=-k, name=f"{name}_below{k}")     # the number - k
        m.d.sync += below.eq(Mux(load, value, below) - Mux(load, k, down))
        with m.If(clear):
            m.d.sync += below.eq(-k)
        left.append(below >= 0)
    return left


class MoldUdp64(wiring.Component):
    """Datagram words in, message words out. LATENCY 0: the message word is the datagram word of the same cycle."""
    LATENCY = 0

    def __init__(self, *, lanes=4):
        super().__init__({
            "datagrams": In(stream.Signature(datagram_word(lanes), always_ready=True)),
            "ends": In(stream.Signature(DatagramEnd, always_ready=True)),
            "messages": Out(stream.Signature(message_word(lanes), always_ready=True)),
            "headers": Out(stream.Signature(BlockHeader, always_ready=True)),
            "gaps": Out(stream.Signature(Gap, always_ready=True)),
            "time_ns": In(64), "start": In(64), "restart": In(1), "restarted": Out(1),
            "expected": Out(64, init=moldudp64.FIRST_SEQUENCE), "session": Out(80),
            "events": Out(data.StructLayout(COUNTERS))})

    def elaborate(self, platform):
        m = Module()
        word, valid = self.datagrams.p, self.datagrams.valid
        expected = self.expected

        # ---- header, by its words
        h = [Signal(name=f"h{k}") for k in range(1, 6)]
        incoming, sequence = Signal(80), Signal(64)
        count = swap(word.data[:16])
        promised, heartbeat, end_of_session = Signal(16), Signal(), Signal()
        header_time = Signal(64, reset_less=True)
        source = Signal(3)
        with m.If(valid):
            m.d.sync += [h[0].eq(word.first), *[h[k].eq(h[k - 1] & ~word.first) for k in range(1, 5)]]
            with m.If(word.first):
                m.d.sync += incoming[:16].eq(word.data[16:])
            with m.If(h[0]):
                m.d.sync += incoming[16:48].eq(word.data)
            with m.If(h[1]):
                m.d.sync += incoming[48:].eq(word.data)
            with m.If(h[2]):
                m.d.sync += sequence[32:].eq(swap(word.data))
            with m.If(h[3]):
                m.d.sync += sequence[:32].eq(swap(word.data))
            with m.If(h[4]):
                m.d.sync += [promised.eq(count), heartbeat.eq(count == moldudp64.HEARTBEAT), end_of_session.eq(count == moldudp64.END_OF_SESSION),
                             header_time.eq(self.time_ns), source.eq(word.source)]
            with m.If(word.last):
                m.d.sync += [x.eq(0) for x in h]
        known = Signal()
        other = Signal()                                        # it is another session
        # sequence - expected, expected - sequence and sequence - 1 with their signs, by the cycle after the header
        ahead, behind, since_first = Signal(signed(65)), Signal(signed(65)), Signal(signed(65))
        m.d.sync += [other.eq(known & ~equal(incoming, self.session)), ahead.eq(sequence - expected), behind.eq(expected - sequence),
                     since_first.eq(sequence - moldudp64.FIRST_SEQUENCE)]
        opened, header_seen = Signal(), Signal()                # the header ended in the word before, and is whole
        m.d.sync += opened.eq(valid & h[4] & word.good & word.left[1:].any() & (~word.last | word.count[1:].any()))
        with m.If(valid & word.first):
            m.d.sync += header_seen.eq(0)
        with m.Elif(opened):
            m.d.sync += header_seen.eq(1)

        # ---- where blocks begin
        tick, flush = Signal(), Signal()                        # a word, or the cycle after the frame's last one
        m.d.sync += flush.eq(valid & word.last)
        m.d.comb += tick.eq(valid | flush)
        previous = Signal(32)
        at = Signal(BLOCK_WORDS)
        lane = Signal(2)
        window = Cat(previous, word.data)
        lengths = [swap(window[8 * p:8 * p + 16]) for p in range(4)]
        length = Signal(16)
        m.d.comb += length.eq(swap(window.bit_select(Cat(lane, Const(0, 1)) * 8, 16)))
        judging = at[1]
        # it ends within this word: of lanes 0 to 2 that was known a word before, with both bytes of the length
        short_before = Signal(3)
        high_before = Signal()                                  # high byte of a length at lane 3 is not 0
        short = Cat(short_before, ~(high_before | word.data[2:8].any() | word.data[:2].all())).bit_select(lane, 1)

        def lookup(low, width, value):
            """``value(length, lane)`` of the length's low bits: a LUT for each of ``width`` bits, where adders would take a carry chain."""
            n = 1 << low
            tables = [Const(sum((value(k % n, k // n) >> bit & 1) << k for k in range(4 * n)), 4 * n) for bit in range(width)]
            return Cat(*[table.bit_select(Cat(length[:low], lane), 1) for table in tables])

        end_lane, end_words = lookup(2, 2, lambda n, p: (p + BLOCK + n) % 4), lookup(2, 2, lambda n, p: (p + BLOCK + n) // 4 - 3)
        words = Signal(signed(15), init=FAR)                    # behind this one until that in which the next block begins; -1: it is this one
        next_lane = Signal(2)
        begin = Signal()
        begin_lane = Signal(2)
        m.d.comb += [begin.eq(Mux(judging, short, words < 0)), begin_lane.eq(Mux(judging, end_lane, next_lane))]
        b = [word.data.word_select(k, 8) for k in range(3)]
        inner, inner_length, inner_end = Signal(), Signal(), Signal(2)
        m.d.comb += [
            inner.eq((begin_lane == 0) & (b[0] == 0) & (b[1][1:] == 0) | (begin_lane == 1) & (b[1] == 0) & (b[2] == 0)),
            inner_length.eq(~begin_lane[0] & b[1][0]), inner_end.eq(Mux(begin_lane[0] | b[1][0], 3, 2))]
        with m.If(valid):
            m.d.sync += [previous.eq(word.data), at.eq(Mux(begin, 2, at << 1)), high_before.eq(word.data[24:] != 0),
                         *[short_before[p].eq(swap(word.data[8 * p:8 * p + 16]) <= 7 - BLOCK - p) for p in range(3)],
                         words.eq(Mux(judging, length[2:], words) + Cat(Mux(judging, end_words, 3), Const(-1, 13))), next_lane.eq(begin_lane)]
            with m.If(begin):
                m.d.sync += lane.eq(Mux(inner, inner_end, begin_lane))
            with m.If(h[3]):
                m.d.sync += [words.eq(-1), next_lane.eq(PAYLOAD_LANE)]
        with m.If(flush | valid & word.first):
            m.d.sync += [at.eq(0), words.eq(FAR)]

        # ---- judge: does the block fit into the payload, and into the frame when its end is known
        room = [Signal(signed(17)) for _ in range(2)]           # `left` of the word before, less 2 and 4
        with m.If(valid):
            m.d.sync += [room[0].eq(word.left - 2), room[1].eq(word.left - 4)]
        fits = Cat(lengths[0] <= room[0], lengths[1] < room[0], lengths[2] <= room[1], lengths[3] < room[1])
        count_before = Signal.like(word.count)
        m.d.sync += count_before.eq(word.count)
        two, three = ((word.left[2:].any() | word.left[1] & rest) & (~word.last | word.count[2] | word.count[1] & more)
                      for rest, more in ((1, 1), (word.left[0], word.count[0])))    # that many bytes of this word belong to payload and frame

        ends_at, limit = Signal(4), Signal(4)                   # bytes from lane 0 of the word before; ends_at of a block below 16 bytes, up to 15
        m.d.comb += [ends_at.eq(lookup(4, 4, lambda n, p: min(p + BLOCK + n, 15))), limit.eq(Mux(flush, count_before, 4 + word.count))]
        j = Signal(BlockHeader)
        outer, fit, over, below16, within, inside, inside_fit = (
            Signal(name=f"judged_{n}") for n in ("outer", "fits", "over", "below16", "within", "inner", "inner_fits"))
        m.d.sync += [
            outer.eq(tick & judging), fit.eq(fits.bit_select(lane, 1)),
            over.eq(flush | valid & word.last), below16.eq(all_ones((~length[4:])[:12])), within.eq(ends_at <= limit),
            inside.eq(valid & begin & inner), inside_fit.eq(Mux(inner_end[0], three, two)),
            j.outer_length.eq(length), j.outer_type.eq(window.bit_select(Cat(lane + BLOCK, Const(0, 1))[:3] * 8, 8)),
            j.inner_length.eq(inner_length), j.inner_type.eq(b[2])]

        # ---- +1: is it one of those promised, and new. The header's verdict is there
        takes, takes_inner = Signal(), Signal()
        old_outer, old_inner, new_outer, new_inner = Signal(), Signal(), Signal(), Signal()
        down = takes + takes_inner
        one_left, two_left = countdown(m, "blocks", load=opened, value=Mux(end_of_session, 0, promised), down=down, clear=valid & word.first)
        fresh = ~other & (ahead < 0)                            # some were seen before; another session or a gap make everything new
        ancient = Signal()                                      # more than a packet can bring
        with m.If(opened):
            m.d.sync += ancient.eq(fresh & behind[16:].any())
        one_old, two_old = countdown(m, "old", load=opened, value=Mux(fresh, behind[:16], 0), down=down, clear=0)
        m.d.comb += [
            takes.eq(outer & fit & (~over | below16 & within) & one_left), takes_inner.eq(inside & inside_fit & Mux(outer, two_left, one_left)),
            old_outer.eq(takes & (one_old | ancient)), old_inner.eq(takes_inner & (Mux(outer, two_old, one_old) | ancient)),
            new_outer.eq(takes & ~old_outer), new_inner.eq(takes_inner & ~old_inner)]
        index = Signal(17)                                      # of the next block in the datagram
        handed_on = Signal()                                    # something of this datagram was
        with m.If(opened):
            m.d.sync += [index.eq(0), handed_on.eq(0)]
        with m.Else():
            m.d.sync += index.eq(index + down)
            with m.If(new_outer | new_inner):
                m.d.sync += handed_on.eq(1)

        # ---- +2: ok, number, headers
        ok, number = Signal(), Signal(32)
        headers, this_number = self.headers.p, sequence + index
        m.d.sync += [self.headers.valid.eq(new_outer | new_inner), headers.eq(j), headers.outer.eq(new_outer), headers.inner.eq(new_inner),
                     headers.number.eq(this_number), headers.inner_number.eq(sequence + (index + outer)), headers.first.eq(~handed_on),
                     headers.time.eq(header_time)]
        with m.If(outer):
            m.d.sync += [ok.eq(new_outer), number.eq(this_number[:32])]
        out = self.messages.p
        m.d.comb += [self.messages.valid.eq(valid & ~word.first), out.data.eq(word.data), out.at.eq(at), out.lane.eq(lane), out.ok.eq(ok),
                     out.number.eq(number), out.source.eq(word.source), out.last.eq(word.last),
                     out.there.eq(Cat(*[~word.last | (word.count > k) for k in range(len(out.there))]))]

        # ---- sequence and session; a restart waits until no datagram is under way, and a suspect one leaves them as they were
        under_way, waiting = Signal(), Signal()
        settling = Signal(8)                                    # cycles after a frame's last word, until its end has been dealt with
        m.d.sync += settling.eq(Cat(valid & word.last, settling))
        with m.If(valid):
            m.d.sync += under_way.eq(~word.last)
        restarts = Signal()
        m.d.comb += restarts.eq((self.restart | waiting) & ~under_way & (settling == 0))
        m.d.sync += [waiting.eq((self.restart | waiting) & ~restarts), self.restarted.eq(restarts)]
        before = Signal(data.StructLayout({"expected": 64, "session": 80, "known": 1}))
        with m.If(opened):
            m.d.sync += [before.expected.eq(expected), before.session.eq(self.session), before.known.eq(known)]
        suspect = self.ends.valid & self.ends.p.suspect
        takes_back = suspect & header_seen
        new_session, gap = opened & other, opened & ~other & (behind < 0)
        with m.If(restarts):
            m.d.sync += [known.eq(0), expected.eq(self.start)]
        with m.Elif(takes_back):
            m.d.sync += [known.eq(before.known), self.session.eq(before.session), expected.eq(before.expected)]
        with m.Elif(opened):
            m.d.sync += known.eq(1)
            with m.If(~known | other):
                m.d.sync += self.session.eq(incoming)
            with m.If(other | (behind < 0)):
                m.d.sync += expected.eq(sequence)
        with m.Else():
            m.d.sync += expected.eq(expected + (headers.outer + headers.inner))

        # ---- gaps: one found in the header is told a cycle after `opened`, one of the frame's end at once
        last_time = Signal(64, reset_less=True)
        with m.If(valid & word.last):
            m.d.sync += last_time.eq(self.time_ns)
        overrun = self.ends.valid & header_seen & one_left      # of a block that does not fit neither it nor one behind it was taken
        broken = suspect | overrun
        was_session, was_gap = Signal(), Signal()
        lost = Signal(64, reset_less=True)
        m.d.sync += [was_session.eq(new_session), was_gap.eq(gap)]
        with m.If(opened):
            m.d.sync += lost.eq(Mux(other, Mux(since_first < 0, 0, since_first[:64]), ahead[:64]))
        g = self.gaps.p
        with m.If(was_session | was_gap):
            m.d.sync += [g.reason.eq(Mux(was_session, REASON["session"], REASON["missing"])), g.count.eq(lost),
                         g.first.eq(Mux(was_session, moldudp64.FIRST_SEQUENCE, before.expected)), g.time.eq(header_time), g.source.eq(source)]
        with m.Else():
            m.d.sync += [g.reason.eq(Mux(self.ends.p.suspect, REASON["frame"], REASON["length"])), g.count.eq(0),
                         g.first.eq(Mux(takes_back, before.expected, expected)), g.time.eq(last_time), g.source.eq(self.ends.p.source)]
        m.d.sync += self.gaps.valid.eq(was_session | was_gap | broken)

        # ---- counters, a cycle behind
        e = self.events
        m.d.sync += [
            e.packets.eq(opened & ~heartbeat & ~end_of_session), e.heartbeats.eq(opened & heartbeat), e.ends.eq(opened & end_of_session),
            e.runts.eq(self.ends.valid & ~header_seen), e.messages.eq(new_outer + new_inner), e.duplicates.eq(old_outer + old_inner),
            e.gaps.eq(gap), e.sessions.eq(new_session), e.overruns.eq(overrun), e.suspect.eq(suspect)]
        m.d.comb += e.missing.eq(Mux(was_session | was_gap, lost[:48], 0))
        return m
