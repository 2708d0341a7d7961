"""Small combinational parts: byte order, multiplexer tree, equality and searches on carry chains.

Carry chains are not a micro-optimisation: the technology mapper turns LUT trees that are not on its worst path into long chains, and leaves carry
chains alone. Same for wide equality.
"""
from amaranth import Cat, Mux, Signal


def swap(value):
    """Network bytes in stream order (byte 0 in bits 7:0) to the integer they spell. The one place where byte order is turned."""
    n = len(value) // 8
    return Cat(value.word_select(n - 1 - k, 8) for k in range(n))


def mux_tree(m, select, items, name):
    """``items[select]`` as a tree of 4:1 multiplexers; the number of items is a power of two."""
    level = 0
    while len(items) > 1:
        step = 4 if len(items) >= 4 else 2
        bits = step // 2
        s = select[level:level + bits]
        chosen = []
        for k in range(0, len(items), step):
            value = Signal(len(items[k]), name=f"{name}_{level}_{k}")
            if step == 4:
                m.d.comb += value.eq(Mux(s[1], Mux(s[0], items[k + 3], items[k + 2]), Mux(s[0], items[k + 1], items[k])))
            else:
                m.d.comb += value.eq(Mux(s[0], items[k + 1], items[k]))
            chosen.append(value)
        items, level = chosen, level + bits
    return items[0]


def all_ones(bits):
    """AND of many bits, as the carry out of ``bits + 1``."""
    return (bits + 1)[len(bits)]


def equal(a, b):
    """a == b of equal widths."""
    return all_ones((~(a ^ b))[:len(a)])


def any_of(bits):
    """OR of many bits: a LUT for six of them, then the carry chain."""
    return ~all_ones(Cat(*[~bits[k:k + 6].any() for k in range(0, len(bits), 6)]))


def lowest(word):
    """First half of a search for the lowest set bit: it alone, and whether any bit is set, from one carry chain (w & -w).

    ``encode`` is the second half; a register fits between."""
    negative = (~word)[:len(word)] + 1
    return (word & negative)[:len(word)], ~negative[len(word)]


def encode(one_hot, bits):
    """Second half of ``lowest``: the index, of ``bits`` bits; 0 when no bit is set."""
    return Cat(*[any_of(Cat(*[one_hot[k] for k in range(1 << bits) if k >> bit & 1])) for bit in range(bits)])


def above_parts(position):
    """First half of the mask of positions strictly greater than ``position``: small decodes of its upper and lower half, for a register."""
    half = len(position) // 2
    low, high = position[:half], position[half:]
    return Cat(*[high < k for k in range(1 << len(high))], *[high == k for k in range(1 << len(high))], *[low < k for k in range(1 << half)])


def above_mask(parts, bits):
    """Second half of ``above_parts``: the mask, one LUT3 a bit."""
    half, n = bits // 2, 1 << bits
    above, same, lower = parts[:n >> half], parts[n >> half:2 * (n >> half)], parts[2 * (n >> half):]
    return Cat(*[above[k >> half] | same[k >> half] & lower[k & ((1 << half) - 1)] for k in range(n)])


def delay(m, value, cycles, name):
    """``value`` after each of ``cycles`` registers, as a list; registers of payload, without reset."""
    stages = []
    for k in range(cycles):
        q = Signal.like(value, name=f"{name}_{k + 1}", reset_less=True)
        m.d.sync += q.eq(value)
        value = q
        stages.append(q)
    return stages
