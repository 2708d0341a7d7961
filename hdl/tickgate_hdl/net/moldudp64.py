"""MoldUDP64: datagrams to numbered messages, two bytes at the least, any length and alignment, nothing delayed.

    header word  h0: session 0..1 · h1, h2: session 2..9 · h3, h4: sequence · h5: count, and the first block begins at lane 2
    blocks       begin ─► at[1]: length is there, judged; the next begin follows from it ─► …

A block of length n beginning at lane p ends at lane p + 2 + n counted from its first word. From 8 on, the next one begins two or more words later: a byte
counter finds it. From 4 to 7, it begins in the very word in which this one is judged. Below 4 the block lies within one word and so is told when it
begins ("inner"): it is stepped over and the next one begins behind it. So there are at most two blocks a word, and none is missed.

Judging takes three steps: at[1] does it fit (decides whether to go on), +1 is it new (sequence), +2 `ok` and `headers`.
Assumptions: a datagram's payload begins at lane 2, 11 words or more after the frame before (its headers). Source: tickgate.spec.moldudp64; rules: docs/path.md.
"""
from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from tickgate.spec import moldudp64, records

from ..stream.logic import all_ones, swap
from .messages import BLOCK_WORDS, BlockHeader, Gap, message_word
from .words import PAYLOAD_LANE, DatagramEnd, datagram_word

COUNTERS = {"packets": 1, "heartbeats": 1, "ends": 1, "runts": 1, "messages": 2, "duplicates": 2, "gaps": 1, "missing": 48, "sessions": 1, "overruns": 1,
            "suspect": 1}
REASON = {name: ord(code) for name, (code, _) in records.GAPS.items()}


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
            "time_ns": In(64), "start": In(64), "restart": In(1),
            "expected": Out(64, init=moldudp64.FIRST_SEQUENCE), "session": Out(80),
            "events": Out(data.StructLayout(COUNTERS))})

    def elaborate(self, platform):
        m = Module()
        word, valid = self.datagrams.p, self.datagrams.valid
        expected = self.expected

        # ---- header, by its words
        h = [Signal(name=f"h{k}") for k in range(1, 6)]
        incoming, sequence = Signal(80), Signal(64)
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
            with m.If(word.last):
                m.d.sync += [x.eq(0) for x in h]
        known, same = Signal(), Signal()
        ahead, behind = Signal(65), Signal(65)                  # sequence - expected, expected - sequence
        m.d.sync += [same.eq(incoming == self.session), ahead.eq(sequence - expected), behind.eq(expected - sequence)]
        count = swap(word.data[:16])
        at_count = Signal()                                     # the header ends in this word
        m.d.comb += at_count.eq(valid & h[4] & word.good & (word.left >= PAYLOAD_LANE))
        opened, header_seen = Signal(), Signal()
        heartbeat, end = Signal(), Signal()
        header_time = Signal(64, reset_less=True)
        m.d.sync += opened.eq(at_count)
        with m.If(at_count):
            m.d.sync += [heartbeat.eq(count == moldudp64.HEARTBEAT), end.eq(count == moldudp64.END_OF_SESSION), header_time.eq(self.time_ns)]
        with m.If(valid & word.first):
            m.d.sync += header_seen.eq(0)
        with m.Elif(at_count):
            m.d.sync += header_seen.eq(1)

        # ---- where blocks begin
        tick, flush = Signal(), Signal()                        # a word, or the cycle after the frame's last one
        m.d.sync += flush.eq(valid & word.last)
        m.d.comb += tick.eq(valid | flush)
        previous = Signal(32)
        at = Signal(BLOCK_WORDS)
        lane = Signal(2)
        distance = Signal(16)                                   # bytes from lane 0 of this word to the next block, once the one under way is judged
        near = Signal()                                         # distance < 4
        left_before = Signal(16)                                # `left` of the word before
        window = Cat(previous, word.data)
        length = Signal(16)
        m.d.comb += length.eq(swap(window.bit_select(Cat(lane, Const(0, 1)) * 8, 16)))
        small = all_ones((~length[4:])[:12])                    # length < 16
        judging = at[1]

        def table(condition):
            """One LUT6 on the low length bits and the lane, for lengths below 16."""
            return small & Const(sum(condition(n + p + 2) << (n + 16 * p) for n in range(16) for p in range(4)), 64).bit_select(Cat(length[:4], lane), 1)

        end_lane = Signal(3)                                    # lane, in this word, at which a short block ends
        m.d.comb += end_lane.eq(length[:3] + lane + 2)          # modulo 8: 4..7 are lanes 0..3 of this word
        begin_short = judging & table(lambda ends: ends <= 7)
        begin = Signal()
        begin_lane = Signal(2)
        m.d.comb += [begin.eq(valid & (h[4] | begin_short | near & ~judging)),
                     begin_lane.eq(Mux(h[4], PAYLOAD_LANE, Mux(judging, end_lane[:2], distance[:2])))]
        b = [word.data.word_select(k, 8) for k in range(3)]
        inner_lane0, inner_lane1 = (begin_lane == 0) & (b[0] == 0) & (b[1][1:] == 0), (begin_lane == 1) & (b[1] == 0) & (b[2] == 0)
        inner_length = Signal()
        m.d.comb += inner_length.eq((begin_lane == 0) & b[1][0])
        inner_end = Mux(inner_length | (begin_lane == 1), 3, 2)

        # ---- judge: does the block fit; how many are to come
        blocks_left = Signal(16)
        fits, takes, takes_inner, overrun = Signal(), Signal(), Signal(), Signal()
        ends_at = Signal(17)
        m.d.comb += [
            ends_at.eq(length + lane + 2),
            fits.eq((ends_at <= left_before) & ~(valid & word.over & (ends_at > 4 + word.count))),
            takes.eq(tick & judging & (blocks_left != 0) & fits), overrun.eq(tick & judging & (blocks_left != 0) & ~fits),
            takes_inner.eq(begin & (inner_lane0 | inner_lane1) & (inner_end <= word.left) & Mux(judging, blocks_left[1:].any(), blocks_left != 0))]
        unused = Signal()                                       # blocks promised, but the datagram is over
        m.d.comb += unused.eq(self.ends.valid & header_seen & (blocks_left != 0))
        with m.If(at_count):
            m.d.sync += blocks_left.eq(Mux(count == moldudp64.END_OF_SESSION, 0, count))
        with m.Elif(overrun | unused | valid & word.first):
            m.d.sync += blocks_left.eq(0)
        with m.Else():
            m.d.sync += blocks_left.eq(blocks_left - takes - takes_inner)
        with m.If(valid):
            m.d.sync += [previous.eq(word.data), left_before.eq(word.left), at.eq(Mux(begin, 2, at << 1)),
                         distance.eq(Mux(judging, length + lane - 6, distance - 4)),
                         near.eq(Mux(judging, table(lambda ends: ends < 12), distance[3:] == 0))]
            with m.If(begin):
                m.d.sync += lane.eq(Mux(takes_inner, inner_end, begin_lane))
            with m.If(word.first):
                m.d.sync += [at.eq(0), near.eq(0)]
        with m.If(flush):
            m.d.sync += [at.eq(0), near.eq(0)]

        # ---- +1: new or seen before. The header's verdict is there: `ahead`, `behind` and `same` follow the sequence by two cycles
        j = Signal(BlockHeader)
        judged = Signal()
        m.d.sync += [judged.eq(tick & judging), j.outer.eq(takes), j.inner.eq(takes_inner), j.outer_length.eq(length),
                     j.outer_type.eq(window.bit_select(Cat(lane + 2, Const(0, 1))[:3] * 8, 8)), j.inner_length.eq(inner_length), j.inner_type.eq(b[2])]
        skip = Signal(16)                                       # blocks of this datagram that were seen before
        fresh = Signal()                                        # session or gap make everything new
        m.d.comb += fresh.eq(~(known & ~same) & (behind != 0) & ~behind[64])
        with m.If(opened):
            m.d.sync += skip.eq(Mux(fresh, Mux(behind[16:64].any(), 0xFFFF, behind[:16]), 0))
        next_number = Signal(64)
        old_outer, old_inner = Signal(), Signal()
        new_outer, new_inner = Signal(), Signal()
        m.d.comb += [
            old_outer.eq(j.outer & (skip != 0)), old_inner.eq(j.inner & Mux(j.outer, skip[1:].any(), skip != 0)),
            new_outer.eq(j.outer & ~old_outer), new_inner.eq(j.inner & ~old_inner)]
        with m.If(~opened):
            m.d.sync += skip.eq(skip - old_outer - old_inner)
        handed_on = Signal()                                    # something of this datagram was
        with m.If(at_count):
            m.d.sync += [next_number.eq(sequence), handed_on.eq(0)]
        with m.Else():
            m.d.sync += next_number.eq(next_number + j.outer + j.inner)
            with m.If(new_outer | new_inner):
                m.d.sync += handed_on.eq(1)

        # ---- +2: ok, number, headers
        ok, number = Signal(), Signal(32)
        headers = self.headers.p
        m.d.sync += [self.headers.valid.eq(new_outer | new_inner), headers.eq(j), headers.outer.eq(new_outer), headers.inner.eq(new_inner),
                     headers.number.eq(next_number), headers.inner_number.eq(next_number + j.outer), headers.first.eq(~handed_on),
                     headers.time.eq(header_time)]
        with m.If(judged):
            m.d.sync += [ok.eq(new_outer), number.eq(next_number[:32])]
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
        m.d.sync += waiting.eq((self.restart | waiting) & ~restarts)
        before = Signal(data.StructLayout({"expected": 64, "session": 80, "known": 1}))
        with m.If(opened):
            m.d.sync += [before.expected.eq(expected), before.session.eq(self.session), before.known.eq(known)]
        suspect = self.ends.valid & self.ends.p.suspect
        takes_back = suspect & header_seen
        last_time = Signal(64, reset_less=True)
        with m.If(valid & word.last):
            m.d.sync += last_time.eq(self.time_ns)
        new_session = opened & known & ~same
        gap = opened & ~(known & ~same) & (ahead != 0) & ~ahead[64]
        overran = Signal()
        with m.If(self.ends.valid):
            m.d.sync += overran.eq(0)
        with m.Elif(overrun):
            m.d.sync += overran.eq(1)
        broken = self.ends.valid & (self.ends.p.suspect | overran | unused)
        g = self.gaps.p
        from_start = Signal(64)
        m.d.comb += from_start.eq(sequence - moldudp64.FIRST_SEQUENCE)
        lost = Signal(64)
        m.d.comb += lost.eq(Mux(new_session, Mux(sequence == 0, 0, from_start), ahead[:64]))
        with m.If(new_session | gap):
            m.d.sync += [g.reason.eq(Mux(new_session, REASON["session"], REASON["missing"])), g.count.eq(lost),
                         g.first.eq(Mux(new_session, moldudp64.FIRST_SEQUENCE, expected)), g.time.eq(header_time)]
        with m.Else():
            m.d.sync += [g.reason.eq(Mux(self.ends.p.suspect, REASON["frame"], REASON["length"])), g.count.eq(0),
                         g.first.eq(Mux(takes_back, before.expected, expected)), g.time.eq(last_time)]
        source = Signal(3)
        with m.If(at_count):
            m.d.sync += source.eq(word.source)
        m.d.sync += [self.gaps.valid.eq(new_session | gap | broken), g.source.eq(Mux(opened, source, self.ends.p.source))]
        with m.If(restarts):
            m.d.sync += [known.eq(0), expected.eq(self.start)]
        with m.Elif(takes_back):
            m.d.sync += [known.eq(before.known), self.session.eq(before.session), expected.eq(before.expected)]
        with m.Elif(opened):
            m.d.sync += known.eq(1)
            with m.If(~known | new_session):
                m.d.sync += self.session.eq(incoming)
            with m.If(new_session | gap):
                m.d.sync += expected.eq(sequence)
        with m.Else():
            m.d.sync += expected.eq(expected + new_outer + new_inner)

        e = self.events
        m.d.comb += [
            e.packets.eq(opened & ~heartbeat & ~end), e.heartbeats.eq(opened & heartbeat), e.ends.eq(opened & end),
            e.runts.eq(self.ends.valid & ~header_seen), e.messages.eq(new_outer + new_inner), e.duplicates.eq(old_outer + old_inner),
            e.gaps.eq(gap), e.missing.eq(Mux(new_session | gap, lost[:48], 0)), e.sessions.eq(new_session), e.overruns.eq(overrun | unused),
            e.suspect.eq(suspect)]
        return m
