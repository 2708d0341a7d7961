"""The inner loops of reading messages: find them, copy them. Everything here is compiled by numba."""
import numpy as np
from numba import njit

from ..spec import itch50
from ..spec.moldudp64 import BLOCK
from .binaryfile import SIZES as _SIZES

#: Why ``walk`` came back: the next message is not whole, the index is full, a length of 0, a length that is not its type's.
END, FULL, ZERO, ODD = range(4)

#: Size of a message by its type byte; 0: unknown type.
SIZES = np.array(_SIZES, np.int64)
_PREFIX = BLOCK.size
_HEAD = itch50.BY_CODE[b"S"]
_LOCATE, _TIME, COMMON = _HEAD["stock_locate"].offset, _HEAD["timestamp"].offset, _HEAD["timestamp"].end


@njit(inline="always")
def _describe(data, at, length, n, size, kind, locate, time, now):
    """One entry of the index. A message too short to have a time takes that of the message before it."""
    body = at + _PREFIX
    size[n] = length
    kind[n] = data[body] if length else 0
    locate[n] = 0
    if length >= COMMON:
        locate[n] = data[body + _LOCATE] << 8 | data[body + _LOCATE + 1]
        now = 0
        for k in range(_TIME, COMMON):
            now = now << 8 | np.int64(data[body + k])
    time[n] = now
    return now


@njit(cache=True, nogil=True)
def walk(data, begin, trust, at, size, kind, locate, time, now):
    """Index the messages in ``data`` from ``begin`` on, each behind its length.

    ``at`` to ``time`` are filled: place of the length, size without it, type byte, locate, ns since midnight. A message whose length is not its
    type's stops the walk unless it begins before ``trust``. Returns messages found, where the next one begins, why it stopped, and the last time.
    """
    n, end = 0, len(data)
    while begin + _PREFIX < end:
        length = np.int64(data[begin]) << 8 | np.int64(data[begin + 1])
        if length == 0:
            return n, begin, ZERO, now
        if length != SIZES[data[begin + _PREFIX]] and begin >= trust:
            return n, begin, ODD, now
        after = begin + _PREFIX + length
        if after > end:
            break
        if n == len(at):
            return n, begin, FULL, now
        at[n] = begin
        now = _describe(data, begin, length, n, size, kind, locate, time, now)
        n += 1
        begin = after
    return n, begin, END, now


@njit(cache=True, nogil=True)
def datagrams(data, start, stop, count, whole, end, flags):
    """For each MoldUDP64 packet, whose blocks lie from ``start`` to ``stop`` and should be ``count``: how many are ``whole``, where the last of them ends,
    and ``flags``: 1 one has a known type and exactly its size, 2 one is empty."""
    for k in range(len(start)):
        at, n, flag = start[k], 0, 0
        while n < count[k] and at + _PREFIX <= stop[k]:
            length = np.int64(data[at]) << 8 | np.int64(data[at + 1])
            if at + _PREFIX + length > stop[k]:
                break
            if length == 0:
                flag |= 2
            elif SIZES[data[at + _PREFIX]] == length:
                flag |= 1
            at += _PREFIX + length
            n += 1
        whole[k], end[k], flags[k] = n, at, flag


@njit(cache=True, nogil=True)
def gather(data, at, size, out):
    """Copy the blocks that begin at ``at`` one after the other; returns the bytes written."""
    to = 0
    for k in range(len(at)):
        for b in range(at[k], at[k] + _PREFIX + size[k]):
            out[to] = data[b]
            to += 1
    return to
