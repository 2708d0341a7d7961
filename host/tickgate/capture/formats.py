"""Headers of capture files, in either byte order.

Sources: draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng.
"""
import struct
from functools import lru_cache

from ..spec.layout import Field, Layout

ETHERNET = 1             # link type
PACKET_LIMIT = 262_144   # bytes: no capture tool stores more of a packet
ORDERS = ("little", "big")

#: Magic number of a pcap file and what the fraction of its times counts, in ns.
PCAP_MAGIC = {0xA1B2C3D4: 1000, 0xA1B23C4D: 1}

PCAP_FILE = (
    Field("magic", 0, 4, unit="code"),
    Field("major", 4, 2, unit="number"),
    Field("minor", 6, 2, unit="number"),
    Field("zone", 8, 4, unit="s", doc="always 0"),
    Field("accuracy", 12, 4, unit="digits", doc="always 0"),
    Field("snap_length", 16, 4, unit="bytes"),
    Field("link_type", 20, 4, unit="code", doc="15:0 link type; above: how long the FCS is"),
)
PCAP_RECORD = (
    Field("seconds", 0, 4, unit="s since 1970"),
    Field("fraction", 4, 4, unit="us or ns"),
    Field("captured", 8, 4, unit="bytes"),
    Field("original", 12, 4, unit="bytes"),
)

SECTION, INTERFACE, OLD_PACKET, SIMPLE_PACKET, ENHANCED_PACKET = 0x0A0D0D0A, 1, 2, 3, 6
BYTE_ORDER_MAGIC = 0x1A2B3C4D
OPTION_END, OPTION_RESOLUTION, OPTION_OFFSET = 0, 9, 14

BLOCK = (
    Field("type", 0, 4, unit="code"),
    Field("length", 4, 4, unit="bytes", doc="of the whole block; once more in its last four bytes"),
)
SECTION_BODY = (
    Field("byte_order", 8, 4, unit="code"),
    Field("major", 12, 2, unit="number"),
    Field("minor", 14, 2, unit="number"),
    Field("section_length", 16, 8, unit="bytes"),
)
INTERFACE_BODY = (
    Field("link_type", 8, 2, unit="code"),
    Field("reserved", 10, 2, unit="number"),
    Field("snap_length", 12, 4, unit="bytes", doc="0: no limit"),
)
OPTION = (
    Field("code", 0, 2, unit="code"),
    Field("length", 2, 2, unit="bytes", doc="of the value, without its padding to four bytes"),
)
SIMPLE_BODY = (
    Field("original", 8, 4, unit="bytes"),
)
_PACKET_TAIL = (
    Field("high", 12, 4, unit="upper half of the time"),
    Field("low", 16, 4, unit="lower half of the time"),
    Field("captured", 20, 4, unit="bytes"),
    Field("original", 24, 4, unit="bytes"),
)
ENHANCED_BODY = (
    Field("interface", 8, 4, unit="number"), *_PACKET_TAIL,
)
OLD_BODY = (
    Field("interface", 8, 2, unit="number"),
    Field("drops", 10, 2, unit="packets"), *_PACKET_TAIL,
)


@lru_cache
def layout(fields, order):
    """The layout of these fields in a byte order; block bodies with the block's head before them."""
    if fields[0].offset:
        fields = BLOCK + fields
    return Layout("capture", fields[-1].end, fields, order=order)


@lru_cache
def struct_of(fields, order):
    """The same as a ``struct.Struct``, fields in order."""
    whole = layout(fields, order).fields
    return struct.Struct(("<" if order == "little" else ">") + "".join({2: "H", 4: "I", 8: "Q"}[f.size] for f in whole))
