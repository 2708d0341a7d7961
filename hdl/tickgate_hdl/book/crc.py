"""CRC-32 of a fixed number of bytes as two XOR matrices: what the data brings, and what the old value becomes."""
import zlib
from functools import lru_cache

from amaranth import Cat, Const


def _step(value, byte):
    """One byte through the CRC register, without the inversions before and after: ``zlib.crc32`` undone of them."""
    return zlib.crc32(bytes([byte]), value ^ 0xFFFFFFFF) ^ 0xFFFFFFFF


@lru_cache
def _matrices(size):
    """For each of 32 result bits: the data bits and the old bits it is the XOR of."""
    def run(value, data):
        for byte in data:
            value = _step(value, byte)
        return value

    from_data = [run(0, (1 << bit).to_bytes(size, "little")) for bit in range(8 * size)]
    from_old = [run(1 << bit, bytes(size)) for bit in range(32)]
    return tuple(([k for k, v in enumerate(from_data) if v >> bit & 1], [k for k, v in enumerate(from_old) if v >> bit & 1]) for bit in range(32))


def _xor(bits):
    return Cat(*bits).xor() if bits else Const(0, 1)


def crc_of_data(data):
    """What ``data`` (byte 0 in bits 7:0) brings: for a register between this and ``crc_next``."""
    return Cat(*[_xor([data[k] for k in bits]) for bits, _ in _matrices(len(data) // 8)])


def crc_next(old, brought, size):
    """``zlib.crc32(data, old)`` for data of ``size`` bytes, from what it brought."""
    return ~Cat(*[_xor([~old[k] for k in bits]) ^ brought[bit] for bit, (_, bits) in enumerate(_matrices(size))])
