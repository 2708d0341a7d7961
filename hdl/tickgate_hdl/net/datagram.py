"""Ethernet, 802.1Q, IPv4 and UDP, received: frames to the datagrams of a few destinations.

The words pass undelayed; position in the headers is one-hot state beside them. The ethertype is in lanes 0 and 1 of word 3, one word later for each VLAN
tag, and everything after it moves by whole words:

    type   ethertype · version, header length      ip1  total length · id             ip2  fragment · protocol
    ip3    checksum · source                       ip4  source · destination          ip5  destination · (options or UDP source port)
    …      options                                 udp1 destination port · length     udp2 checksum · payload begins at lane 2

Checks run in a short pipeline behind the words and are settled 4 cycles after udp1, two words before the MoldUDP64 header is over.
A frame's counters and `ends` move 5 cycles after its last word. Sources: tickgate.spec.ethernet. Which drop counts when: docs/path.md.
"""
from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from tickgate.spec import ethernet
from tickgate.spec.commands import HOST

from ..stream.logic import all_ones, equal, swap
from .words import DatagramEnd, datagram_word, frame_word

#: Cycles from a frame's last word to its counters and `ends`.
SETTLE = 5

COUNTERS = ("frames", "datagrams", "not_ready", "not_ipv4", "bad_header", "fragment", "not_udp", "filtered", "bad_length", "short_frame", "bad_fcs")

Filter = data.StructLayout({"group": 32, "port": 16, "on": 1})


class DatagramReceiver(wiring.Component):
    """Frame words in, datagram words of the filtered destinations out. LATENCY 0: the datagram word is the frame word of the same cycle."""
    LATENCY = 0

    def __init__(self, *, lanes=4, filters=4):
        if lanes != 4:
            raise ValueError(f"lanes must be 4, not {lanes}")
        if not 1 <= filters <= HOST:                           # source of the records of host commands
            raise ValueError(f"filters must be 1 to {HOST}, not {filters}")
        self.filter_count = filters
        super().__init__({
            "frames": In(stream.Signature(frame_word(lanes), always_ready=True)),
            "enable": In(1),  # a frame whose first word comes while this is 0 is dropped
            "filters": In(data.ArrayLayout(Filter, filters)),
            "datagrams": Out(stream.Signature(datagram_word(lanes), always_ready=True)),
            "ends": Out(stream.Signature(DatagramEnd, always_ready=True)),
            "busy": Out(1),   # a frame that was taken is under way
            "events": Out(data.StructLayout({name: 1 for name in COUNTERS}))})

    def elaborate(self, platform):
        m = Module()
        word, valid = self.frames.p, self.frames.valid
        low, high = swap(word.data[:16]), swap(word.data[16:])
        taken_before = Signal()
        taken = Signal()
        m.d.comb += taken.eq(Mux(word.first, self.enable, taken_before))
        go = Signal()
        m.d.comb += go.eq(valid & taken)
        with m.If(valid):
            m.d.sync += taken_before.eq(taken & ~word.last)
        m.d.comb += self.busy.eq(taken_before)

        # ---- where in the headers this word is
        w1, w2, at_type = Signal(), Signal(), Signal()
        ip = [Signal(name=f"ip{k}") for k in range(1, 6)]
        at_options, udp1, udp2, payload = Signal(), Signal(), Signal(), Signal()
        places = [w1, w2, at_type, *ip, at_options, udp1, udp2, payload]
        tags = Signal(2)
        options = Signal(4)                                     # words of IPv4 options to come
        is_vlan, is_ipv4 = Signal(), Signal()
        m.d.comb += [is_vlan.eq(Cat(*[equal(low, Const(tag, 16)) for tag in ethernet.ETHERTYPE_VLAN]).any()),
                     is_ipv4.eq(equal(low, Const(ethernet.ETHERTYPE_IPV4, 16)))]
        again = at_type & is_vlan & (tags != ethernet.MAXIMUM_VLAN_TAGS)
        header_words = word.data[16:20]
        with m.If(valid):
            m.d.sync += [place.eq(0) for place in places]
            with m.If(~word.last & taken):
                m.d.sync += [
                    w1.eq(word.first), w2.eq(w1 & ~word.first), at_type.eq((w2 | again) & ~word.first),
                    ip[0].eq(at_type & ~again & is_ipv4 & ~word.first), *[ip[k].eq(ip[k - 1] & ~word.first) for k in range(1, 5)],
                    at_options.eq((ip[4] & (options != 0) | at_options & (options != 1)) & ~word.first),
                    udp1.eq((ip[4] & (options == 0) | at_options & (options == 1)) & ~word.first),
                    udp2.eq(udp1 & ~word.first), payload.eq((udp2 | payload) & ~word.first)]
        with m.If(go):
            with m.If(word.first):
                m.d.sync += tags.eq(0)
            with m.Elif(again):
                m.d.sync += tags.eq(tags + 1)
            with m.If(at_type):
                m.d.sync += options.eq(Mux(header_words > 5, header_words - 5, 0))
            with m.Elif(at_options):
                m.d.sync += options.eq(options - 1)

        # ---- fields
        length_words = Signal(4)                                # IPv4 header length
        total, udp_length = Signal(16), Signal(16)
        group, port = Signal(32), Signal(16)
        bad_version, fragment, not_udp = Signal(), Signal(), Signal()
        left = Signal(16)
        at_udp1 = Signal()                                      # last cycle's word was udp1
        m.d.sync += at_udp1.eq(go & udp1)
        with m.If(go):
            with m.If(at_type):
                m.d.sync += [length_words.eq(header_words), bad_version.eq((word.data[20:24] != 4) | (header_words < 5))]
            with m.If(ip[0]):
                m.d.sync += total.eq(low)
            with m.If(ip[1]):
                m.d.sync += [fragment.eq(low[:14].any()), not_udp.eq(word.data[24:32] != ethernet.PROTOCOL_UDP)]
            with m.If(ip[3]):
                m.d.sync += group[16:].eq(high)
            with m.If(ip[4]):
                m.d.sync += group[:16].eq(low)
            with m.If(udp1):
                m.d.sync += [port.eq(low), udp_length.eq(high), left.eq(high - (ethernet.UDP.size - 2))]
            with m.Elif(udp2 | payload):
                m.d.sync += left.eq(Mux(left[2:].any(), left - 4, 0))

        # ---- header checksum: halves of the words, their sum, the running sum, the fold
        in_header = Signal()                                    # the high half of this word belongs to the header
        m.d.comb += in_header.eq(at_type | ip[0] | ip[1] | ip[2] | ip[3] | ip[4] & (options != 0) | at_options & (options != 1))
        half_low, half_high = Signal(16, reset_less=True), Signal(16, reset_less=True)
        adding, starting = Signal(), Signal()
        m.d.sync += [half_low.eq(Mux(at_type, 0, low)), half_high.eq(Mux(in_header, high, 0)),
                     adding.eq(go & (at_type | Cat(ip).any() | at_options)), starting.eq(go & at_type)]
        total_sum = Signal(22, reset_less=True)
        folded = Signal(17, reset_less=True)
        with m.If(adding):
            m.d.sync += total_sum.eq(Mux(starting, 0, total_sum) + (half_low + half_high))
        m.d.sync += folded.eq(total_sum[:16] + total_sum[16:])
        bad_sum = Signal()
        m.d.sync += bad_sum.eq(~all_ones((folded[:16] + folded[16])[:16]))

        # ---- lengths and filters, one to three cycles after udp1
        room = Signal(17)                                       # what IPv4 leaves for UDP; negative: not even its header fits
        bad_length = Signal()
        matches = Signal(self.filter_count)
        unmatched = Signal()
        source = Signal(3)
        m.d.sync += room.eq(total - (length_words << 2))
        m.d.sync += bad_length.eq(room[16] | (udp_length < ethernet.UDP.size) | (udp_length > room[:16]))
        for k in range(self.filter_count):
            f = self.filters[k]
            m.d.sync += matches[k].eq(f.on & equal(Cat(group, port), Cat(f.group, f.port)))
        m.d.sync += unmatched.eq(~matches.any())
        for k in reversed(range(self.filter_count)):
            with m.If(matches[k]):
                m.d.sync += source.eq(k)
        good = Signal()
        m.d.sync += good.eq(~(bad_version | bad_sum | fragment | not_udp | bad_length | unmatched))

        # ---- datagram words
        out = self.datagrams.p
        over = Signal()
        m.d.comb += [
            over.eq(word.last & (left > word.count)),
            self.datagrams.valid.eq(valid & ~word.first & (udp2 | payload)), out.data.eq(word.data), out.first.eq(udp2), out.last.eq(word.last),
            out.left.eq(left), out.count.eq(word.count), out.good.eq(good), out.source.eq(source)]

        # ---- end of the frame: what it was is kept until the checks have settled
        ended = Signal(data.StructLayout({"valid": 1, "taken": 1, "typed": 1, "ipv4": 1, "payload": 1, "over": 1, "error": 1}))
        typed, ipv4 = Signal(), Signal()                        # the ethertype came; it was IPv4
        typed_now = at_type & ~again & ((word.count >= 2) | ~word.last)
        with m.If(valid):
            with m.If(word.first | word.last):
                m.d.sync += [typed.eq(0), ipv4.eq(0)]
            with m.Elif(typed_now):
                m.d.sync += [typed.eq(1), ipv4.eq(is_ipv4)]
        m.d.comb += [
            ended.valid.eq(valid & word.last), ended.taken.eq(taken), ended.error.eq(word.error), ended.over.eq(over),
            ended.typed.eq(~word.first & (typed | typed_now)), ended.ipv4.eq(~word.first & (ipv4 | typed_now & is_ipv4)),
            ended.payload.eq(~word.first & (payload | udp2 & (word.count >= 2)))]
        for k in range(SETTLE - 1):
            stage = Signal.like(ended, name=f"ended_{k + 1}")
            m.d.sync += stage.eq(ended)
            ended = stage
        whole = ended.valid & ended.taken & ended.typed & ended.ipv4 & ended.payload
        e = self.events
        bad_header = bad_version | bad_sum
        m.d.sync += [
            e.frames.eq(ended.valid), e.bad_fcs.eq(ended.valid & ended.error), e.not_ready.eq(ended.valid & ~ended.taken),
            e.not_ipv4.eq(ended.valid & ended.taken & ended.typed & ~ended.ipv4),
            e.short_frame.eq(ended.valid & ended.taken & (~ended.typed | ended.ipv4 & ~ended.payload)),
            e.bad_header.eq(whole & bad_header), e.fragment.eq(whole & ~bad_header & fragment),
            e.not_udp.eq(whole & ~bad_header & ~fragment & not_udp),
            e.bad_length.eq(whole & ~bad_header & ~fragment & ~not_udp & bad_length),
            e.filtered.eq(whole & ~bad_header & ~fragment & ~not_udp & ~bad_length & unmatched),
            e.datagrams.eq(whole & good), self.ends.valid.eq(whole & good), self.ends.p.suspect.eq(ended.over | ended.error), self.ends.p.source.eq(source)]
        return m
