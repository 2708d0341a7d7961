"""The levels of one side in order of their prices, in a block of the arena that doubles when it is full.

Any price of 32 bits has its place. The best level is the last one and most messages are near it, so search and moves begin there, VECTOR
places at a time.
"""
import numpy as np
from numba import njit

from .intrinsics import leading_zeros, move_places, not_above
from .layout import SMALLEST_BLOCK, VECTOR
from .orders import LOW, ONE, WORD, inlined

_NONE, _BYTES, _VECTOR, _SMALLEST, _BITS = (np.uint64(n) for n in (0, 8, VECTOR, SMALLEST_BLOCK, 64))


@inlined
def rank_of(price, sell):
    """Prices of a side in order: the better, the higher."""
    return price ^ (_NONE - sell & LOW)


@inlined
def above(arena, block, count, rank):
    """How many of the ``count`` places of a block have a rank at or below this one."""
    limit = rank << WORD | LOW
    left = count
    while left != _NONE:
        width = left if left < _VECTOR else _VECTOR
        holds = not_above(arena + (block + left - width) * _BYTES, limit) & (ONE << width) - ONE
        if holds != _NONE:
            return left - width + _BITS - leading_zeros(holds)
        left -= width
    return left


@inlined
def open_gap(arena, block, at, count):
    """Move the places from ``at`` on up by one. What lies behind the last one is overwritten: the block has room for that."""
    here = arena + (block + at) * _BYTES
    piece = (count - at + _VECTOR - ONE) // _VECTOR
    while piece != _NONE:
        piece -= ONE
        source = here + piece * _VECTOR * _BYTES
        move_places(source + _BYTES, source)


@inlined
def close_gap(arena, block, at, count):
    """Move the places behind ``at`` down by one."""
    while at + ONE < count:
        to = arena + (block + at) * _BYTES
        move_places(to, to + _BYTES)
        at += _VECTOR


@njit(_nrt=False, error_model="numpy")
def enlarge(counts, free_blocks, sides, arena, side):
    """Give a side a block of twice the size. False: the arena has no room for it, and nothing was done."""
    old = np.uint64(sides[side].block)
    size = np.uint64(sides[side].size) * np.uint64(2)
    if size == _NONE:
        size = _SMALLEST
    kind = _BITS - ONE - leading_zeros(size)
    block = free_blocks[kind]
    if block != _NONE:
        free_blocks[kind] = arena[block]
    else:
        block = counts[0].arena_end
        if block + size > np.uint64(arena.size):
            return False
        counts[0].arena_end = block + size
    for k in range(sides[side].count):
        arena[block + np.uint64(k)] = arena[old + np.uint64(k)]
    if old != _NONE:
        arena[old] = free_blocks[kind - ONE]
        free_blocks[kind - ONE] = old
    sides[side].block, sides[side].size = block, size
    return True
