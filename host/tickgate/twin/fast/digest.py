"""The running digest of a symbol's published book, as ``tickgate.spec.records`` defines it.

CRC-32 is linear: the CRC of a fixed number of bytes is the XOR of a table entry for each, and the tables can be read all at once.
"""
import zlib

import numpy as np
from numba import njit

from tickgate.spec.records import DIGEST_BYTES, RECORDS

_TOP = RECORDS["top_of_book"]
_HASHED = ("bid_px", "bid_qty", "ask_px", "ask_qty", "flags", "state")
_BYTES = [at for name in _HASHED for at in range(_TOP[name].offset, _TOP[name].end)]
if tuple(_BYTES) != tuple(DIGEST_BYTES):
    raise AssertionError(f"the digest is no longer over {', '.join(_HASHED)}")


def _tables():
    """For each hashed byte and each of its values what it does to the CRC, uint32[bytes, 256]; ``zlib.crc32`` says so itself."""
    count = len(_BYTES)
    nothing = zlib.crc32(bytes(count))
    return np.array([[zlib.crc32(bytes(at) + bytes([value]) + bytes(count - at - 1)) ^ nothing for value in range(256)] for at in range(count)],
                    np.uint32)


TABLES = _tables()
_ONES, _BYTE, _EIGHT = np.uint32(0xFFFFFFFF), np.uint32(0xFF), np.uint32(8)


@njit(inline="always")
def _word(tables, at, value):
    value = np.uint32(value)
    return (tables[at, value & _BYTE] ^ tables[at + 1, value >> _EIGHT & _BYTE]
            ^ tables[at + 2, value >> np.uint32(16) & _BYTE] ^ tables[at + 3, value >> np.uint32(24)])


@njit(inline="always")
def extend(tables, digest, bid_px, bid_qty, ask_px, ask_qty, flags, state):
    """The digest after one more record. ``tables``: ``TABLES``."""
    start = np.uint32(digest) ^ _ONES     # the CRC's state goes into the first four bytes
    crc = (_word(tables, 0, np.uint32(bid_px) ^ start) ^ _word(tables, 4, bid_qty) ^ _word(tables, 8, ask_px) ^ _word(tables, 12, ask_qty)
           ^ tables[16, np.uint8(flags)] ^ tables[17, np.uint8(state)])
    return crc ^ _ONES
