"""net: frame → datagram."""
from typing import NamedTuple

from tickgate.spec import ethernet as eth
from tickgate.spec.registers import NET

from .binary import counters, reader

_ETHERTYPE = eth.ETHERNET["ethertype"]
_IPV4 = reader(eth.IPV4, "version_ihl", "total_length", "flags_fragment", "protocol", "destination")
_UDP = reader(eth.UDP, "destination_port", "length")
_MORE_OR_OFFSET = 0x3FFF   # of flags_fragment


class Datagram(NamedTuple):
    """A UDP datagram of the feed inside its frame: payload is ``frame[start:start + length]``, as far as the frame goes."""

    frame: bytes
    bad_fcs: bool
    start: int      # byte offset in the frame
    length: int     # bytes, by the UDP header
    source: int     # number of the filter that took it

    @property
    def end(self):
        return self.start + self.length


class Net:
    """Ethernet, VLAN, IPv4 and UDP. ``filters``: pairs of IPv4 address (integer) and UDP port; ``None`` for one that is not in use."""

    def __init__(self, filters):
        self.filters = list(filters)
        self.counters = counters(NET)

    def take(self, frame, bad_fcs):
        """The ``Datagram`` of a frame (bytes, without preamble and FCS), or ``None`` when it is dropped: exactly one counter says why."""
        count = self.counters
        count["frames"] += 1
        count["bad_fcs"] += bad_fcs
        cause, datagram = self._judge(frame, bad_fcs)
        count[cause] += 1
        return datagram

    def _judge(self, frame, bad_fcs):
        at = _ETHERTYPE.offset
        for tags_left in range(eth.MAXIMUM_VLAN_TAGS, -1, -1):
            if len(frame) < at + _ETHERTYPE.size:
                return "short_frame", None
            ethertype = int.from_bytes(frame[at:at + _ETHERTYPE.size], "big")
            if ethertype not in eth.ETHERTYPE_VLAN or not tags_left:
                break
            at += eth.VLAN.size
        if ethertype != eth.ETHERTYPE_IPV4:
            return "not_ipv4", None
        ip = at + _ETHERTYPE.size
        if len(frame) < ip + eth.IPV4.size + eth.UDP.size:
            return "short_frame", None
        version_ihl, total_length, flags_fragment, protocol, destination = _IPV4.unpack_from(frame, ip)
        words = version_ihl & 15
        udp = ip + 4 * max(words, 5)
        if len(frame) < udp + eth.UDP.size:
            return "short_frame", None
        if version_ihl >> 4 != 4 or words < 5 or eth.ones_complement(frame[ip:udp]) != 0xFFFF:
            return "bad_header", None
        if flags_fragment & _MORE_OR_OFFSET:
            return "fragment", None
        if protocol != eth.PROTOCOL_UDP:
            return "not_udp", None
        port, length = _UDP.unpack_from(frame, udp)
        if not eth.UDP.size <= length <= total_length - 4 * words:
            return "bad_length", None
        destination = (int.from_bytes(destination, "big"), port)
        if destination not in self.filters:
            return "filtered", None
        return "datagrams", Datagram(frame, bad_fcs, udp + eth.UDP.size, length - eth.UDP.size, self.filters.index(destination))
