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


def _parts(value, columns, count):
    """The XOR of some bits of ``value`` for each result bit, as ``count`` values of 32 bits: of its first bits, its next ones, and so on."""
    step = -(-len(value) // count)
    return [Cat(*[Cat(*[value[k] for k in bits if at <= k < at + step], Const(0, 1)).xor() for bits in columns]) for at in range(0, len(value), step)]


def crc_of_data(data, parts=2):
    """What ``data`` (byte 0 in bits 7:0) brings, in so many parts: ``zlib.crc32(data, old)`` is the XOR of these and of those of ``crc_of_old``. Each is a
    register's worth of logic; their XOR is for behind it."""
    return _parts(data, [bits for bits, _ in _matrices(len(data) // 8)], parts)


def crc_of_old(old, size, parts=2):
    """What the old value brings when data of ``size`` bytes follow, in so many parts."""
    first, *others = _parts(~old, [bits for _, bits in _matrices(size)], parts)
    return [~first, *others]
