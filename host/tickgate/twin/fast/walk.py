"""What can be said of a BinaryFILE without books: message counts, and where a time begins. A few ns a message.

``data``: any object with a buffer, from the start of a message on. A message that is not whole, and a length of 0, end the walk.
"""
import numpy as np
from numba import njit

from tickgate.spec import itch50
from tickgate.spec.moldudp64 import BLOCK

from .intrinsics import big16, big64, byte, prefetch
from .layout import SIZES

_PREFIX, _ONE, _NONE = np.uint64(BLOCK.size), np.uint64(1), np.uint64(0)
_STAMP = itch50.BY_CODE[b"A"]["timestamp"]
_STAMPED, _STAMP_MASK = np.uint64(_STAMP.end), np.uint64((1 << 8 * _STAMP.size) - 1)
_STAMP_LOAD = np.uint64(_STAMP.end - 8)
_WALKS, _LOOK, _ENOUGH = np.uint64(4), np.uint64(1 << 12), 16     # a guess: bytes that are tried, messages in a row that convince
_LONGEST = np.uint64(BLOCK.size + (1 << 8 * BLOCK.size) - 1)       # bytes of a message and its length
_AHEAD = np.uint64(512)                                            # bytes; measured: the fastest of 256 to 4096


@njit
def _step(at, end, types):
    """Count the message at an address; where the next one is, or the same address when there is no whole one."""
    if at + _PREFIX >= end:
        return at
    length = big16(at)
    after = at + _PREFIX + length
    if length == _NONE or after > end:
        return at
    types[byte(at + _PREFIX)] += _ONE
    return after


@njit
def _guess(begin, end):
    """An address from ``begin`` on where messages of known sizes follow each other; ``end`` if there is none near."""
    for start in range(begin, min(begin + _LOOK, end)):
        at = np.uint64(start)
        good = 0
        while good < _ENOUGH and at + _PREFIX < end and big16(at) == np.uint64(SIZES[byte(at + _PREFIX)]) and big16(at) != _NONE:
            at += _PREFIX + big16(at)
            good += 1
        if good == _ENOUGH:
            return np.uint64(start)
    return end


@njit(cache=True, nogil=True)
def _count(begin, end, types):
    """One walk waits for each length before it knows where the next one is; so four walk at once, the later ones from where they guess that a
    message begins. A guess was right when the walk before ends exactly there; if not, that walk goes on in its place."""
    quarter = (end - begin) // _WALKS
    tables = np.zeros((4, 256), np.uint64)
    s1, s2, s3 = (_guess(begin + quarter, end), _guess(begin + np.uint64(2) * quarter, end), _guess(begin + np.uint64(3) * quarter, end))
    a, b, c, d = begin, s1, s2, s3
    if quarter > _WALKS * _LONGEST and s1 < s2 < s3 < end:
        t0, t1, t2, t3 = tables[0], tables[1], tables[2], tables[3]
        last = end - _LONGEST               # what begins before it is whole
        while (a < s1) & (b < s2) & (c < s3) & (d < last):
            in_a, in_b, in_c, in_d = big16(a), big16(b), big16(c), big16(d)
            if (in_a == _NONE) | (in_b == _NONE) | (in_c == _NONE) | (in_d == _NONE):
                break
            prefetch(a + _AHEAD)
            prefetch(b + _AHEAD)
            prefetch(c + _AHEAD)
            prefetch(d + _AHEAD)
            t0[byte(a + _PREFIX)] += _ONE
            t1[byte(b + _PREFIX)] += _ONE
            t2[byte(c + _PREFIX)] += _ONE
            t3[byte(d + _PREFIX)] += _ONE
            a, b, c, d = a + _PREFIX + in_a, b + _PREFIX + in_b, c + _PREFIX + in_c, d + _PREFIX + in_d
    else:
        s1 = s2 = s3 = end
    ends = (a, b, c, d)
    starts = (begin, s1, s2, s3)
    at = begin
    for k in range(4):
        if at == starts[k] and at < end:         # this walk began where the one before ended
            types += tables[k]
            at = ends[k]
        stop = starts[k + 1] if k < 3 else end
        while at < stop:
            after = _step(at, end, types)
            if after == at:
                return at - begin
            at = after
    return at - begin


@njit(cache=True, nogil=True)
def _find(begin, end, time):
    at = begin
    while at + _PREFIX < end:
        length = big16(at)
        after = at + _PREFIX + length
        if length == _NONE or after > end or length >= _STAMPED and big64(at + _PREFIX + _STAMP_LOAD) & _STAMP_MASK >= time:
            break
        at = after
    return at - begin


def _span(data):
    raw = np.frombuffer(data, np.uint8)
    return np.uint64(raw.ctypes.data), np.uint64(raw.ctypes.data + raw.size)


def count(data, types=None):
    """Messages by their type byte, added to ``types`` (uint64[256]), which is returned with the number of bytes walked over."""
    types = np.zeros(256, np.uint64) if types is None else types
    return types, int(_count(*_span(data), types))


def find(data, time):
    """Bytes before the first message at or after a time (ns since midnight); or before the end of the walk."""
    return int(_find(*_span(data), np.uint64(time)))
