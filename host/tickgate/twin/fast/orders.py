"""The index of live orders: by locate and reference, exact for any 64-bit reference, and no larger than the live orders need.

A table of u64, each the 32-bit hash of an order above its place in ``orders``; 0 is empty. It is divided into buckets of a cache line, the top of
the hash says which. An order stands in its bucket, or in the next one that was not full; so a bucket that is not full ends the search. The table
is at most half full, and next to none are displaced. An order that leaves leaves nothing behind.
"""
import numpy as np
from numba import njit

from .intrinsics import equal_high, equal_zero, trailing_zeros
from .layout import BUCKET

ONE, WORD, LOW = np.uint64(1), np.uint64(32), np.uint64(0xFFFFFFFF)
_NONE, _BYTES, _BUCKET = np.uint64(0), np.uint64(8), np.uint64(BUCKET)
_GOLDEN, _SALT = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)   # odd, without pattern

inlined = njit(_nrt=False, forceinline=True, error_model="numpy")


@inlined
def hash_of(reference, locate):
    """32 bits whose top differs for references that are near each other."""
    return (reference + locate * _SALT) * _GOLDEN >> WORD


@inlined
def shift_of(index):
    """By how much a hash is shifted to give the number of its bucket."""
    bits = np.uint64(0)
    while _BUCKET << bits < np.uint64(index.size):
        bits += ONE
    return WORD - bits


@inlined
def likely_place(index, shift, hashed):
    """A place in this hash's bucket: nearly always that of the order that is meant, if it is live."""
    bucket = (hashed >> shift) * _BUCKET
    return bucket + (trailing_zeros(equal_high(np.uint64(index.ctypes.data) + bucket * _BYTES, hashed)) & _BUCKET - ONE)


@inlined
def _names(index, orders, place, reference, locate):
    """Whether a place of the index has this order."""
    order = index[place] & LOW
    return (orders[order].reference == reference) & (np.uint64(orders[order].side) >> ONE == locate) & (order != _NONE)


@inlined
def place_of(index, shift, orders, hashed, reference, locate, likely):
    """Where the index names this order; or ``index.size`` when it does not. ``likely``: where it may be."""
    if _names(index, orders, likely, reference, locate):
        return likely
    return _place_of(index, shift, orders, hashed, reference, locate)


@njit(_nrt=False, error_model="numpy")
def _place_of(index, shift, orders, hashed, reference, locate):
    mask = np.uint64(index.size) - ONE
    bucket = (hashed >> shift) * _BUCKET
    while True:
        line = np.uint64(index.ctypes.data) + bucket * _BYTES
        holds = equal_high(line, hashed)
        while holds != _NONE:
            at = bucket + trailing_zeros(holds)
            if _names(index, orders, at, reference, locate):
                return at
            holds &= holds - ONE
        if equal_zero(line) != _NONE:
            return np.uint64(index.size)
        bucket = bucket + _BUCKET & mask


@inlined
def place_for(index, shift, orders, hashed, reference, locate):
    """Where the index is to name a new order; or ``index.size`` when it names it already."""
    bucket = (hashed >> shift) * _BUCKET
    line = np.uint64(index.ctypes.data) + bucket * _BYTES
    free = equal_zero(line)
    if (equal_high(line, hashed) == _NONE) & (free != _NONE):
        return bucket + trailing_zeros(free)
    return _place_for(index, shift, orders, hashed, reference, locate)


@njit(_nrt=False, error_model="numpy")
def _place_for(index, shift, orders, hashed, reference, locate):
    if _place_of(index, shift, orders, hashed, reference, locate) != np.uint64(index.size):
        return np.uint64(index.size)
    return free_place(index, shift, hashed)


@inlined
def free_place(index, shift, hashed):
    """Where the index is to name an order that it does not."""
    mask = np.uint64(index.size) - ONE
    bucket = (hashed >> shift) * _BUCKET
    free = equal_zero(np.uint64(index.ctypes.data) + bucket * _BYTES)
    while free == _NONE:
        bucket = bucket + _BUCKET & mask
        free = equal_zero(np.uint64(index.ctypes.data) + bucket * _BYTES)
    return bucket + trailing_zeros(free)


@inlined
def enter(index, place, hashed, order):
    """Name an order at a place that is free."""
    index[place] = hashed << WORD | order


@inlined
def forget(index, shift, at):
    """Empty a place. If its bucket was full, one that was displaced by that moves back, and so on."""
    bucket = at & ~(_BUCKET - ONE)
    was_full = equal_zero(np.uint64(index.ctypes.data) + bucket * _BYTES) == _NONE
    index[at] = _NONE
    if was_full:
        _move_back(index, shift, at)


@njit(_nrt=False, error_model="numpy")
def _move_back(index, shift, gap):
    mask = np.uint64(index.size) - ONE
    hole = gap & ~(_BUCKET - ONE)                 # the bucket with the gap: it was full
    bucket = hole
    while True:
        bucket = bucket + _BUCKET & mask
        is_full = equal_zero(np.uint64(index.ctypes.data) + bucket * _BYTES) == _NONE
        for at in range(bucket, bucket + _BUCKET):
            entry = index[at]
            home = (entry >> WORD >> shift) * _BUCKET
            if entry != _NONE and bucket - home & mask >= bucket - hole & mask:     # its home is the hole's bucket or one before
                index[gap] = entry
                index[at] = _NONE
                gap, hole = at, bucket
                break
        if not is_full:
            return


@njit(cache=True)
def rehash(old, new):
    """Copy the entries of an index into an empty one of another size."""
    shift = shift_of(new)
    for entry in old:
        if entry:
            new[free_place(new, shift, entry >> WORD)] = entry
