"""Messages packed into MoldUDP64 packets in UDP, IPv4 and Ethernet, as an exchange sends them."""
import ipaddress
from dataclasses import dataclass

import numpy as np

from ..spec import ethernet, moldudp64
from .frames import FrameBatch

#: Longest message that a packet must be able to take, so that every BinaryFILE can be packed.
MAXIMUM_MESSAGE = 64
MAXIMUM_PAYLOAD = 65_535 - ethernet.IPV4.size - ethernet.UDP.size


@dataclass(frozen=True, kw_only=True)
class Packing:
    """How messages are packed and where the packets go.

    A packet is closed when the next message does not fit or comes more than ``max_gap_ns`` after the packet's first. Nasdaq fills packets up to the
    Ethernet MTU (1,500 bytes: 1,472 of UDP payload, 38 Add Orders) with messages of one burst, which carry the same time or nearly so; it sets no
    count limit that shows. Group and port are those of TotalView-ITCH.
    """

    session: str = "0000000001"                    # 10 characters
    max_messages: int = moldudp64.MAXIMUM_COUNT    # messages of a packet
    max_payload: int = 1472                        # bytes of UDP payload
    max_gap_ns: int = 1000                         # ns from a packet's first message to its last
    group: str = "233.54.12.111"                   # IPv4 multicast group
    port: int = 26477                              # UDP destination port
    source: str = "192.0.2.1"                      # IPv4 source address
    source_port: int = 26477
    source_mac: str = "02:00:00:00:00:01"
    vlans: tuple = ()                              # 802.1Q tags (priority and VLAN), outermost first; the outer one of two is an S-tag
    ttl: int = 16                                  # hops

    def __post_init__(self):
        def need(good, what):
            if not good:
                raise ValueError(f"packing: {what}")

        least = moldudp64.HEADER.size + moldudp64.BLOCK.size + MAXIMUM_MESSAGE
        need(len(self.session) == 10 and self.session.isascii(), f"session must have 10 ASCII characters, not {self.session!r}")
        need(1 <= self.max_messages <= moldudp64.MAXIMUM_COUNT, f"max_messages must be 1 to {moldudp64.MAXIMUM_COUNT}, not {self.max_messages}")
        need(least <= self.max_payload <= MAXIMUM_PAYLOAD, f"max_payload must be {least} to {MAXIMUM_PAYLOAD} bytes, not {self.max_payload}")
        need(self.max_gap_ns >= 0, f"max_gap_ns must not be negative, not {self.max_gap_ns}")
        need(0 < self.port < 1 << 16 and 0 < self.source_port < 1 << 16, f"ports must be 1 to 65535, not {self.source_port} and {self.port}")
        need(ipaddress.IPv4Address(self.group).is_multicast, f"group must be an IPv4 multicast address, not {self.group}")
        need(len(self.vlans) <= ethernet.MAXIMUM_VLAN_TAGS, f"vlans must be at most {ethernet.MAXIMUM_VLAN_TAGS} tags, not {len(self.vlans)}")
        ipaddress.IPv4Address(self.source)


#: The defaults.
NASDAQ = Packing()


def _headers(packing, length):
    """Ethernet to UDP header of a payload of ``length`` bytes."""
    group = ipaddress.IPv4Address(packing.group).packed
    c_tag, s_tag = ethernet.ETHERTYPE_VLAN
    types = [s_tag, c_tag, ethernet.ETHERTYPE_IPV4][2 - len(packing.vlans):]
    frame = ethernet.ETHERNET.encode(destination=bytes((1, 0, 0x5E, group[1] & 0x7F, *group[2:])),   # RFC 1112 section 6.4
                                     source=bytes.fromhex(packing.source_mac.replace(":", "")), ethertype=types[0])
    for tag, ethertype in zip(packing.vlans, types[1:], strict=True):
        frame += ethernet.VLAN.encode(tag=tag, ethertype=ethertype)
    udp = ethernet.UDP.encode(source_port=packing.source_port, destination_port=packing.port, length=ethernet.UDP.size + length)
    ip = {"version_ihl": 0x45, "total_length": ethernet.IPV4.size + len(udp) + length, "flags_fragment": 0x4000, "ttl": packing.ttl,
          "protocol": ethernet.PROTOCOL_UDP, "source": ipaddress.IPv4Address(packing.source).packed, "destination": group}
    return frame + ethernet.IPV4.encode(**ip, checksum=0xFFFF ^ ethernet.ones_complement(ethernet.IPV4.encode(**ip))) + udp


def udp_frame(payload, packing=NASDAQ):
    """The frame, without FCS, that carries a UDP payload; UDP checksum 0 (none), padded to 60 bytes."""
    return (_headers(packing, len(payload)) + payload).ljust(ethernet.MINIMUM_FRAME, b"\0")


def mold_frame(sequence, messages=(), packing=NASDAQ, *, count=None, session=None):
    """One frame of a MoldUDP64 packet; ``count`` other than that of the messages for heartbeats, ends of session and wrong packets."""
    header = moldudp64.HEADER.encode(session=session or packing.session, sequence=sequence, count=len(messages) if count is None else count)
    return udp_frame(header + b"".join(moldudp64.BLOCK.encode(length=len(m)) + m for m in messages), packing)


def mold_frames(messages, times, packing=NASDAQ, *, sequence=moldudp64.FIRST_SEQUENCE):
    """``FrameBatch`` of messages (``bytes`` each, any content) with their times in ns, packed; a frame has the time of its last message.

    Raises ``ValueError`` for a message longer than a packet takes.
    """
    if len(messages) != len(times):
        raise ValueError(f"{len(messages)} messages, but {len(times)} times")
    blocks = [moldudp64.BLOCK.encode(length=len(m)) + m for m in messages]
    ends = np.cumsum([0, *map(len, blocks)]).tolist()
    times = [int(t) for t in times]
    return pack(b"".join(blocks), ends[:-1], ends[1:], times, cuts(ends[:-1], ends[1:], times, packing), sequence, packing)


def cuts(starts, ends, times, packing):
    """Index of the first message of each packet, for blocks from ``starts`` to ``ends`` and their times."""
    room, gap, most = packing.max_payload - moldudp64.HEADER.size, packing.max_gap_ns, packing.max_messages
    firsts, begin, limit, late = [], 0, -1, -1
    for k, (start, end, time) in enumerate(zip(starts, ends, times, strict=True)):
        if end > limit or time > late or k - begin == most:
            if end - start > room:
                raise ValueError(f"a message of {end - start - moldudp64.BLOCK.size} bytes does not fit a payload of {packing.max_payload}")
            firsts.append(k)
            begin, limit, late = k, start + room, time + gap
    return firsts


def pack(data, starts, ends, times, firsts, sequence, packing):
    """``FrameBatch`` of the blocks in ``data``: packets begin with the messages ``firsts``, the first one has number ``sequence``."""
    first = np.array(firsts, np.int64)
    following = np.append(first, len(starts))[1:]
    heads = np.zeros(len(first), moldudp64.HEADER.dtype)
    heads["session"] = packing.session.encode()
    heads["sequence"] = first.astype(np.uint64) + np.uint64(sequence)
    heads["count"] = following - first
    heads, size, frames, known = heads.tobytes(), moldudp64.HEADER.size, [], {}
    for k, (a, b) in enumerate(zip(firsts, following.tolist(), strict=True)):
        payload = heads[k * size:(k + 1) * size] + data[starts[a]:ends[b - 1]]
        length = len(payload)
        if length not in known:
            known[length] = _headers(packing, length)
        frame = known[length] + payload
        frames.append(frame if len(frame) >= ethernet.MINIMUM_FRAME else frame.ljust(ethernet.MINIMUM_FRAME, b"\0"))
    return FrameBatch.of(frames, [times[b - 1] for b in following.tolist()])
