"""The searches, comparisons and multiplexers that the book is built of (``stream/logic.py``): every input of small widths, random ones of large."""
import random

import pytest
from amaranth import Module, Signal
from amaranth.sim import Simulator

from tickgate_hdl.stream.logic import above_mask, above_parts, all_ones, any_of, delay, encode, equal, lowest, mux_tree, swap
from tickgate_sim.stream import run


def evaluate(inputs, function, cases):
    """``function(m, *signals)`` of signals with these widths, for each case (a value an input)."""
    m, signals, values = Module(), [Signal(width) for width in inputs], []
    result = function(m, *signals)
    out = Signal(len(result))
    m.d.comb += out.eq(result)

    async def bench(ctx):
        for case in cases:
            for signal, value in zip(signals, case):
                ctx.set(signal, value)
            values.append(ctx.get(out))

    sim = Simulator(m)
    sim.add_testbench(bench)
    sim.run()
    return values


def words(width, seed):
    """All words of a small width; of a large one each single bit, and random ones with few and with many bits."""
    if width <= 10:
        return list(range(1 << width))
    rng = random.Random(f"{seed} {width}")
    print(f"seed {seed} {width}")
    pick = [lambda: rng.getrandbits(width), lambda: rng.getrandbits(width) & rng.getrandbits(width) & rng.getrandbits(width), lambda: (1 << width) - 1,
            lambda: rng.getrandbits(width) << rng.randrange(width) & (1 << width) - 1]
    return [0, *(1 << k for k in range(width)), *(rng.choice(pick)() for _ in range(500))]


@pytest.mark.parametrize("width", [2, 4, 8, 16, 32, 64])
def test_lowest_set_bit(width):
    bits, cases = (width - 1).bit_length(), words(width, "lowest")

    def search(m, word):
        alone, some = lowest(word)
        return encode(alone, bits) | some << bits

    for word, got in zip(cases, evaluate([width], search, [(w,) for w in cases])):
        some, index = divmod(got, 1 << bits)
        assert some == (word != 0)
        if word:
            assert index == (word & -word).bit_length() - 1, hex(word)


@pytest.mark.parametrize("width", [1, 5, 6, 7, 32, 33])
def test_any_of_many(width):
    cases = words(width, "any")
    assert evaluate([width], lambda m, word: any_of(word), [(w,) for w in cases]) == [int(w != 0) for w in cases]


@pytest.mark.parametrize("bits", [2, 3, 4, 5, 6])
def test_positions_above(bits):
    n = 1 << bits
    masks = evaluate([bits], lambda m, position: above_mask(above_parts(position), bits), [(k,) for k in range(n)])
    assert masks == [sum(1 << j for j in range(n) if j > k) for k in range(n)]


@pytest.mark.parametrize("width", [1, 2, 5])
def test_equal_of_all(width):
    cases = [(a, b) for a in range(1 << width) for b in range(1 << width)]
    assert evaluate([width, width], lambda m, a, b: equal(a, b), cases) == [a == b for a, b in cases]


@pytest.mark.parametrize("width", [33, 64])
def test_equal_of_wide_words(width):
    """One bit makes the difference."""
    cases = [(a, b) for a in words(width, "equal")[-40:] for b in (a, *(a ^ 1 << k for k in range(width)))]
    assert evaluate([width, width], lambda m, a, b: equal(a, b), cases) == [a == b for a, b in cases]


@pytest.mark.parametrize("width", [1, 3, 7, 40])
def test_all_ones(width):
    full = (1 << width) - 1
    cases = [full, *(full ^ 1 << k for k in range(width)), *words(width, "ones")]
    assert evaluate([width], lambda m, bits: all_ones(bits), [(w,) for w in cases]) == [w == full for w in cases]


@pytest.mark.parametrize("items", [1, 2, 4, 8, 16, 32])
def test_mux_tree(items):
    values = [37 * k + 5 for k in range(items)]

    def choose(m, select):
        signals = [Signal(12, name=f"item{k}") for k in range(items)]
        m.d.comb += [signal.eq(value) for signal, value in zip(signals, values)]
        return mux_tree(m, select, signals, "tree")

    assert evaluate([max(1, (items - 1).bit_length())], choose, [(k,) for k in range(items)]) == values


def test_swap_is_network_order():
    raw = bytes(range(1, 9))
    for size in (1, 2, 4, 6, 8):
        part = raw[:size]
        assert evaluate([8 * size], lambda m, value: swap(value), [(int.from_bytes(part, "little"),)]) == [int.from_bytes(part, "big")]


def test_delay():
    m, value = Module(), Signal(8)
    stages = delay(m, value, 3, "stage")
    seen = []

    async def bench(ctx):
        for cycle in range(12):
            ctx.set(value, cycle + 1)
            seen.append([ctx.get(stage) for stage in stages])
            await ctx.tick()

    run(m, bench)
    assert seen[4:] == [[cycle, cycle - 1, cycle - 2] for cycle in range(4, 12)] and len(stages) == 3
    assert delay(Module(), value, 0, "none") == []
