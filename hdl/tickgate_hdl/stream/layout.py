"""Byte layouts of ``tickgate.spec`` as structs of bits.

Byte 0 of anything is in bits 7:0. So a little-endian number is a slice as it is, a big-endian one has its bytes turned round.
"""
from amaranth.lib import data

from .logic import swap


def struct(layout):
    """``data.StructLayout`` with the fields of a ``tickgate.spec`` layout as they lie in memory; ``8 * layout.size`` bits.

    Fields of little-endian layouts are numbers as they are. Those of big-endian layouts are raw bytes: read them with ``field``.
    """
    return data.StructLayout({f.name: 8 * f.size for f in layout.fields})


def field(raw, layout, name):
    """Value of one field in ``raw``, the bytes of ``layout`` as one vector. Numbers are numbers; text and bytes have byte 0 in bits 7:0."""
    f = layout[name]
    part = raw[8 * f.offset:8 * f.end]
    return swap(part) if f.kind == "uint" and layout.order == "big" else part
