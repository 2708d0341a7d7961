"""Ethernet II, 802.1Q, IPv4 and UDP headers.

Sources: IEEE 802.3 clause 3, IEEE 802.1Q 9.6, RFC 791 section 3.1, RFC 768. Network byte order.
"""
from .layout import Field, Layout

ETHERTYPE_IPV4 = 0x0800
ETHERTYPE_VLAN = (0x8100, 0x88A8)   # C-tag, S-tag
PROTOCOL_UDP = 17
MINIMUM_FRAME = 60                  # bytes without FCS
MAXIMUM_VLAN_TAGS = 2               # more are not looked through: the frame counts as not IPv4

ETHERNET = Layout("ethernet", 14, (
    Field("destination", 0, 6, "bytes"),
    Field("source", 6, 6, "bytes"),
    Field("ethertype", 12, 2, unit="code"),
), source="IEEE 802.3 clause 3.2")

VLAN = Layout("vlan", 4, (
    Field("tag", 0, 2, unit="bits", doc="priority 15:13, drop eligible 12, VLAN 11:0"),
    Field("ethertype", 2, 2, unit="code", doc="of what follows"),
), doc="What follows an ethertype of 0x8100 or 0x88A8.", source="IEEE 802.1Q clause 9.6")

IPV4 = Layout("ipv4", 20, (
    Field("version_ihl", 0, 1, unit="bits", doc="version 7:4 (4), header length in words 3:0 (5 to 15)"),
    Field("dscp_ecn", 1, 1, unit="bits"),
    Field("total_length", 2, 2, unit="bytes", doc="header and payload; the frame may be longer (padding, FCS, trailers)"),
    Field("identification", 4, 2, unit="number"),
    Field("flags_fragment", 6, 2, unit="bits", doc="more fragments 13, offset in 8 bytes 12:0; neither may be set"),
    Field("ttl", 8, 1, unit="hops"),
    Field("protocol", 9, 1, unit="code"),
    Field("checksum", 10, 2, unit="ones' complement"),
    Field("source", 12, 4, "bytes"),
    Field("destination", 16, 4, "bytes"),
), source="RFC 791 section 3.1")

UDP = Layout("udp", 8, (
    Field("source_port", 0, 2, unit="port"),
    Field("destination_port", 2, 2, unit="port"),
    Field("length", 4, 2, unit="bytes", doc="header and payload"),
    Field("checksum", 6, 2, unit="ones' complement", doc="0: none; not verified, since the words have gone on before it could be"),
), source="RFC 768")


def ones_complement(data, start=0):
    """Ones' complement sum of 16-bit words (RFC 1071), folded; a header with its checksum in place gives 0xFFFF."""
    total = start + sum(int.from_bytes(data[k:k + 2].ljust(2, b"\0"), "big") for k in range(0, len(data), 2))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total
