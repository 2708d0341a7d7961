"""Messages in MoldUDP64 datagrams in Ethernet frames, in every form that is right and many that are not."""
import random
from itertools import accumulate
from typing import NamedTuple

from tickgate.spec import ethernet as eth
from tickgate.spec import moldudp64 as mold
from tickgate.twin.binary import writer

_ETHERNET, _VLAN, _IPV4, _UDP, _HEADER, _BLOCK = (writer(t).pack for t in (eth.ETHERNET, eth.VLAN, eth.IPV4, eth.UDP, mold.HEADER, mold.BLOCK))
_PAYLOAD = 1472           # bytes a UDP datagram carries in 1,500 bytes
_OPTIONS = 40             # bytes of IPv4 options, at most


class Stream(NamedTuple):
    """``frames``: pairs of bytes (without FCS) and whether the MAC marks its FCS bad; ``log``: pairs of frame index and fault, in order.

    A frame that was left out is logged with the index of the next one.
    """

    frames: list
    log: list


def udp_frame(payload, destination, *, tags=(), options=b"", protocol=eth.PROTOCOL_UDP, flags_fragment=0x4000, version=4, words=None,
              checksum_error=0, udp_length=None, slack=0, ethertype=eth.ETHERTYPE_IPV4, trailer=b""):
    """One frame with ``payload`` for ``destination`` (IPv4 address as integer, port).

    ``tags``: pairs of ethertype and VLAN tag; ``options``: of IPv4, multiple of 4 bytes; ``slack``: bytes that the IPv4 total length counts beyond
    the UDP datagram; ``trailer``: bytes after the IPv4 packet. The others put a wrong value where the right one belongs.
    """
    group, port = destination
    words = 5 + len(options) // 4 if words is None else words
    udp_length = eth.UDP.size + len(payload) if udp_length is None else udp_length
    total = eth.IPV4.size + len(options) + eth.UDP.size + len(payload) + slack
    address = group.to_bytes(4, "big")
    fields = [version << 4 | words, 0, total, 0x1234, flags_fragment, 17, protocol, 0, b"\x0a\0\0\x01", address]
    header = _IPV4(*fields) + options
    fields[7] = (0xFFFF ^ eth.ones_complement(header)) ^ checksum_error
    mac = b"\x01\0\x5e" + bytes([address[1] & 0x7F]) + address[2:]
    types = [kind for kind, _ in tags] + [ethertype]
    link = _ETHERNET(mac, b"\x02\0\0\0\0\x01", types[0]) + b"".join(_VLAN(tag, kind) for (_, tag), kind in zip(tags, types[1:]))
    return link + _IPV4(*fields) + options + _UDP(26477, port, udp_length, 0) + payload + bytes(slack) + trailer


class _Wire:
    """The sending side: where the feed is, and what it sent lately."""

    def __init__(self, seed, filters, start, session, per_packet, plain):
        self.rng = random.Random(f"frames {seed}")
        self.filters, self.number, self.session = filters, start, session
        self.per_packet, self.plain = per_packet, plain
        self.recent = []                 # messages of this session, the last is number - 1
        self.out, self.log = [], []

    # ---- pieces

    def payload(self, number, messages, count=None):
        return (_HEADER(self.session, number, len(messages) if count is None else count)
                + b"".join(_BLOCK(len(message)) + message for message in messages))

    def shape(self, payload_size):
        """Random but right: tags, options, slack, padding or a trailer."""
        rng = self.rng
        if self.plain:
            return {}
        tags = tuple((rng.choice(eth.ETHERTYPE_VLAN), rng.getrandbits(16)) for _ in range(rng.choice((0, 0, 1, 1, 2))))
        options = rng.randbytes(4 * rng.choice((0, 0, 0, rng.randrange(_OPTIONS // 4 + 1))))
        slack = rng.choice((0, 0, 0, rng.randrange(8)))
        length = 14 + 4 * len(tags) + 20 + len(options) + 8 + payload_size + slack
        padding = max(0, eth.MINIMUM_FRAME - length) if rng.random() < 0.8 else 0
        trailer = bytes(padding) + rng.randbytes(rng.choice((0, 0, 0, 1, 2, 3, 4, 16, 19)))
        return {"tags": tags, "options": options, "slack": slack, "trailer": trailer}

    def send(self, payload, bad_fcs=False, **wrong):
        frame = udp_frame(payload, self.rng.choice(self.filters), **{**self.shape(len(payload)), **wrong})
        self.put(frame, bad_fcs)

    def put(self, frame, bad_fcs=False):
        self.out.append((frame, bad_fcs))

    def advance(self, messages):
        self.number += len(messages)
        self.recent = (self.recent + messages)[-100:]

    def packet(self, messages):
        """The next packet, as it should be."""
        self.send(self.payload(self.number, messages))
        self.advance(messages)

    # ---- faults: each is given the messages that are next and decides what becomes of them

    def gap(self, messages):
        self.advance(messages)

    def duplicate(self, messages):
        for _ in range(self.rng.randrange(2, 4)):
            self.send(self.payload(self.number, messages))
        self.advance(messages)

    def overlap(self, messages):
        back = self.rng.randrange(len(self.recent) + 1)
        self.send(self.payload(self.number - back, _fit(self.recent[len(self.recent) - back:] + messages)))
        self.packet(messages)

    def heartbeat(self, messages):
        self.send(self.payload(self.number, [], mold.HEARTBEAT))
        self.packet(messages)

    def heartbeat_gap(self, messages):
        self.advance(messages)
        self.send(self.payload(self.number, [], mold.HEARTBEAT))

    def end_of_session(self, messages):
        self.packet(messages)
        self.send(self.payload(self.number, [], mold.END_OF_SESSION))

    def new_session(self, messages):
        self.session = b"%010d" % self.rng.randrange(10**10)
        self.number, self.recent = self.rng.choice((1, 1, 1, 0, 5, (1 << 31) - 3, 1 << 40)), []
        self.packet(messages)

    def runt(self, messages):
        self.send(self.payload(self.number, messages)[:self.rng.randrange(mold.HEADER.size)], bad_fcs=self.rng.random() < 0.2)
        self.packet(messages)

    def cut(self, messages):
        """The frame ends early, often inside its messages."""
        before = len(self.out)
        self.packet(messages)
        frame, _ = self.out.pop(before)
        least = 0 if self.rng.random() < 0.2 else 42
        self.put(frame[:self.rng.randrange(least, len(frame)) or 1], self.rng.random() < 0.5)

    def bad_fcs(self, messages):
        self.send(self.payload(self.number, messages), bad_fcs=True)
        self.advance(messages)

    def count_high(self, messages):
        """More messages promised than sent; whether anything follows the last one in the frame is up to its shape."""
        trailer = {"trailer": b""} if self.rng.random() < 0.3 else {}
        self.send(self.payload(self.number, messages, len(messages) + self.rng.randrange(1, 4)), **trailer)
        self.advance(messages)

    def count_low(self, messages):
        self.send(self.payload(self.number, messages, self.rng.randrange(1, len(messages) + 1)))
        self.advance(messages)

    def long_block(self, messages):
        """One block's length reaches beyond the datagram."""
        payload = bytearray(self.payload(self.number, messages))
        at = mold.HEADER.size
        for message in messages[:self.rng.randrange(len(messages))]:
            at += mold.BLOCK.size + len(message)
        left = len(payload) - at - mold.BLOCK.size
        payload[at:at + mold.BLOCK.size] = _BLOCK(min(0xFFFF, left + self.rng.choice((1, 2, 3, 4, 100, 0xFFFF))))
        self.send(bytes(payload))
        self.advance(messages)

    def wrong_block(self, messages):
        """One block's length is wrong, within the datagram: what follows is read at the wrong place."""
        payload = bytearray(self.payload(self.number, messages))
        at = mold.HEADER.size
        payload[at:at + mold.BLOCK.size] = _BLOCK(self.rng.randrange(len(payload) - at))
        self.send(bytes(payload))
        self.advance(messages)

    def other_traffic(self, messages):
        """Frames that are none of ours, then the packet."""
        for name in self.rng.sample(_OTHERS, 3):
            self._other(name, self.payload(self.number, messages))
        self.packet(messages)

    def _other(self, name, payload):
        rng = self.rng
        group, port = rng.choice(self.filters)
        wrong = {}
        if name == "port":
            port ^= 1 << rng.randrange(16)
        elif name == "group":
            group ^= 1 << rng.randrange(32)
        elif name == "arp":
            wrong["ethertype"] = 0x0806
        elif name == "ipv6":
            wrong["ethertype"] = 0x86DD
        elif name == "tcp":
            wrong["protocol"] = 6
        elif name == "fragment":
            wrong["flags_fragment"] = rng.choice((0x2000, 1, 0x1FFF, 0x2010))
        elif name == "checksum":
            wrong["checksum_error"] = 1 << rng.randrange(16)
        elif name == "version":
            wrong["version"] = rng.choice((0, 5, 6, 15))
        elif name == "words":
            wrong["words"] = rng.randrange(5)
        elif name == "udp_short":
            wrong["udp_length"] = rng.randrange(eth.UDP.size)
        elif name == "udp_long":
            wrong.update(udp_length=eth.UDP.size + len(payload) + rng.randrange(1, 100), slack=0)
        elif name == "tags":
            wrong["tags"] = ((0x8100, 1), (0x88A8, 2), (0x8100, 3))
        if (group, port) in self.filters and name in ("port", "group"):
            return
        frame = udp_frame(payload, (group, port), **{**self.shape(len(payload)), **wrong})
        self.put(frame[:rng.randrange(1, 43)] if name == "tiny" else frame, rng.random() < 0.1)


_OTHERS = ("arp", "ipv6", "tcp", "fragment", "port", "group", "checksum", "version", "words", "udp_short", "udp_long", "tags", "tiny")

#: Faults that ``frames`` can put in, and how often each is taken.
FAULTS = {"gap": 2, "duplicate": 4, "overlap": 4, "heartbeat": 3, "heartbeat_gap": 1, "end_of_session": 1, "new_session": 1, "runt": 2, "cut": 4,
          "bad_fcs": 2, "count_high": 2, "count_low": 2, "long_block": 2, "wrong_block": 1, "other_traffic": 6}


def _fit(messages):
    """As many of the messages as a datagram carries."""
    sizes = accumulate((mold.BLOCK.size + len(message) for message in messages), initial=mold.HEADER.size)
    return [message for message, size in zip(messages, list(sizes)[1:]) if size <= _PAYLOAD]


def frames(messages, seed, *, filters, start=1, session=b"0000000001", per_packet=30, faults=0.0, kinds=FAULTS, plain=False):
    """A ``Stream`` of frames that carry the messages to the ``filters`` (pairs of IPv4 address as integer and port).

    ``start``: number of the first message; ``per_packet``: messages a packet, at most; ``faults``: probability of a fault at a packet, from ``kinds``
    (weights by name); ``plain``: no tags, options or trailers.
    """
    wire = _Wire(seed, list(filters), start, session, per_packet, plain)
    rng, names = wire.rng, list(kinds)
    weights = [kinds[name] for name in names]
    at = 0
    while at < len(messages):
        batch = _fit(messages[at:at + rng.choice((1, 1, 2, rng.randrange(1, per_packet + 1), rng.randrange(1, per_packet + 1), per_packet))])
        if not batch:
            raise ValueError(f"message {at} has {len(messages[at])} bytes and fits no datagram")
        at += len(batch)
        if faults and rng.random() < faults:
            name = rng.choices(names, weights)[0]
            wire.log.append((len(wire.out), name))
            getattr(wire, name)(batch)
        else:
            wire.packet(batch)
    return Stream(wire.out, wire.log)
