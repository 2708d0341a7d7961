"""Bucket hashes of the order table, the same in gateware and twin.

Subtable k looks a reference up at ``low ^ H_k(rest)``: low is its ``index_bits`` low bits, each XORed with three bits of the rest.
Given the bucket the rest identifies the reference, so only the rest is stored.
"""
import random
from functools import lru_cache

NEAR = 24  # bits above the index that take part: real references differ there


@lru_cache
def rows(k, index_bits, reference_bits):
    """For each index bit the three bits of the rest it is XORed with, fixed by ``k``."""
    near = min(NEAR, reference_bits - index_bits)
    rng = random.Random(1000 + k)
    return tuple((i % near if k == 0 else (5 * i + 3) % near, *rng.sample(range(near), 2)) for i in range(index_bits))


def bucket(reference, k, index_bits, reference_bits):
    """Bucket of a reference in subtable ``k``."""
    rest, value = reference >> index_bits, reference & ((1 << index_bits) - 1)
    for bit, row in enumerate(rows(k, index_bits, reference_bits)):
        for source in row:
            value ^= (rest >> source & 1) << bit
    return value
