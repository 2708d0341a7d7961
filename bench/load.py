"""Load of the order table at its first loss: ``python -m bench.load [CAPTURE ...]`` writes docs/capacity.md and build/bench/load.json.

The order table takes a new order into the emptiest of its buckets, and never moves one; so it can be full for one order long before it is full. How long,
depends on the references. This plays sequences of references through the rule (docs/path.md, "Room"; the hashes are ``tickgate.spec.hashing``, the same as in
gateware and twin) and says how many orders were live when the first found no room:

- *ramp*: orders come and go, 6 go for each 10 that come, until one is lost;
- *steady*: as many live as the preset promises, then millions of operations at that number.
References grow by 1 to twice the mean gap; 80 % of the orders that go are among the youngest. CAPTUREs are BinaryFILEs, whose orders are all taken,
whatever their symbol.
"""
import json
import sys
import zlib
from pathlib import Path

import numpy as np
from numba import njit

from tickgate.spec import itch50
from tickgate.spec.emit import markdown_table
from tickgate.spec.hashing import bucket
from tickgate.spec.presets import PRESETS

PAGE, SUMMARY = Path("docs/capacity.md"), Path("build/bench/load.json")
GAPS = (1, 2, 20, 200)
STEADY = 20_000_000     # operations
SEEDS = (1, 2, 3)
SHOWN = [name for name, preset in PRESETS.items() if preset.orders >= 1 << 18]


def hash_table(preset):
    """int64[tables, bytes, 256]: what each byte of a reference brings to its bucket; the hashes are XORs."""
    count = -(-preset.reference_bits // 8)
    out = np.zeros((preset.tables, count, 256), np.int64)
    for k in range(preset.tables):
        for byte in range(count):
            for bit in range(8):
                if 8 * byte + bit < preset.reference_bits:
                    one = bucket(1 << 8 * byte + bit, k, preset.index_bits, preset.reference_bits)
                    out[k, byte, 1 << bit:2 << bit] = out[k, byte, :1 << bit] ^ one
    return out


@njit
def _bucket(hashes, k, reference):
    value = 0
    for byte in range(hashes.shape[1]):
        value ^= hashes[k, byte, reference >> 8 * byte & 255]
    return value


@njit
def _take(fill, hashes, ways, reference):
    """The subtable that takes an order, or -1."""
    least, best = ways, -1
    for k in range(fill.shape[0]):
        taken = fill[k, _bucket(hashes, k, reference)]
        if taken < least:
            least, best = taken, k
    if best >= 0:
        fill[best, _bucket(hashes, best, reference)] += 1
    return best


@njit
def _play(hashes, fill, ways, seed, gap, target, operations):
    """``target`` live orders are kept for ``operations``; 0: more and more, until one is lost. Returns most live, live at the first loss (0: none), losses."""
    np.random.seed(seed)
    live = np.empty(1 << 23, np.int64)
    where = np.empty(1 << 23, np.int8)
    count, reference, first, lost, most = 0, np.random.randint(1 << 20), 0, 0, 0
    done = 0
    while done < operations or target == 0:
        done += 1
        if count == 0 or (count < target if target else np.random.random() < 0.625):
            reference += 1 + np.random.randint(2 * gap - 1) if gap > 1 else 1
            k = _take(fill, hashes, ways, reference)
            if k < 0:
                lost += 1
                if first == 0:
                    first = count
                if target == 0:
                    return most, first, lost
            else:
                live[count], where[count] = reference, k
                count += 1
                most = max(most, count)
        else:
            if np.random.random() < 0.8:
                at = count - 1 - min(count - 1, int(np.random.exponential(50.0)))
            else:
                at = np.random.randint(count)
            fill[where[at], _bucket(hashes, where[at], live[at])] -= 1
            count -= 1
            live[at], where[at] = live[count], where[count]
    return most, first, lost


def play(preset, seed, gap, target=0, operations=0):
    """(most live, live at the first loss or 0, losses) of one sequence."""
    fill = np.zeros((preset.tables, 1 << preset.index_bits), np.int8)
    return _play(hash_table(preset), fill, preset.ways, seed, gap, target, operations)


def _bytes(path):
    """A BinaryFILE, whole; of a compressed one that is cut what there is."""
    raw = Path(path).read_bytes()
    return zlib.decompressobj(47).decompress(raw) if raw[:2] == b"\x1f\x8b" else raw


def _at(code, name):
    return itch50.BY_CODE[code][name].offset


_REFERENCE, _SHARES, _NEW, _NEW_SHARES, _TAKEN = (
    _at(b"A", "order_ref"), _at(b"A", "shares"), _at(b"U", "new_order_ref"), _at(b"U", "shares"), _at(b"E", "executed_shares"))
_A, _F, _D, _U, _E, _C, _X = b"AFDUECX"


@njit
def _number(data, at, size):
    value = 0
    for k in range(size):
        value = value << 8 | data[at + k]
    return value


@njit
def _orders(data, hashes, fill, ways):
    """The orders of a BinaryFILE: messages, most live, live at the first loss or 0, losses."""
    shares, room = {np.int64(-1): np.int64(0)}, {np.int64(-1): np.int64(0)}
    at, messages, most, first, lost = 0, 0, 0, 0, 0
    while at + 2 < len(data):
        size = _number(data, at, 2)
        if size == 0 or at + 2 + size > len(data):
            break
        m, at = at + 2, at + 2 + size
        messages += 1
        kind = data[m]
        if not (kind == _A or kind == _F or kind == _D or kind == _U or kind == _E or kind == _C or kind == _X):
            continue
        reference = _number(data, m + _REFERENCE, 8)
        new, quantity = np.int64(-1), 0
        if kind == _A or kind == _F:
            new, quantity = np.int64(reference), _number(data, m + _SHARES, 4)
        elif reference in shares:
            left = shares[reference] - _number(data, m + _TAKEN, 4) if kind == _E or kind == _C or kind == _X else 0
            shares[reference] = left
        if kind == _U:
            new, quantity = np.int64(_number(data, m + _NEW, 8)), _number(data, m + _NEW_SHARES, 4)
        if new >= 0:
            k = _take(fill, hashes, ways, new)
            if k < 0:
                lost += 1
                if first == 0:
                    first = len(room) - 1
            else:
                shares[new], room[new] = quantity, k
        if new != reference and reference in room and shares[reference] <= 0:      # the old order of a replace keeps its place until the new one has one
            fill[room[reference], _bucket(hashes, room[reference], reference)] -= 1
            del room[reference]
            del shares[reference]
        most = max(most, len(room) - 1)
    return messages, most, first, lost


PAGE_TEXT = """# How many orders fit

Written by `python -m bench.load CAPTURE ...`.

{presets}

A new order goes into the emptiest of its buckets and is never moved, so one may find no room long before the table is full: then it is counted, its symbol
is stale, and no book is wrong ([path.md](path.md)). *Ramp*: live orders grow until the first one is lost (10 come for 6 that go; three seeds). *Steady*: as
many live as promised, then {steady:,} operations. *Gap* is the mean distance of new references; 80 % of the orders that go are among the youngest.

{sequences}

Files, every order of every symbol taken in:

{files}
"""


def _table(head, rows):
    return markdown_table(head, ([f"{cell:,}" if isinstance(cell, int) else cell for cell in row] for row in rows))


def main(captures):
    found, lines = [], []

    def say(**what):
        found.append(what)
        print(what, flush=True)

    for preset in (PRESETS[name] for name in SHOWN):
        for gap in GAPS:
            ramps = []
            for seed in SEEDS:
                _, first, _ = play(preset, seed, gap)
                ramps.append(first)
                say(preset=preset.name, what="ramp", gap=gap, seed=seed, first_loss=first, load=first / preset.places)
            most, first, lost = play(preset, 1, gap, preset.orders, STEADY)
            say(preset=preset.name, what="steady", gap=gap, seed=1, live=most, operations=STEADY, first_loss=first, lost=lost)
            low, high = min(ramps), max(ramps)
            lines.append([preset.name, gap, f"{low:,} to {high:,}", f"{low / preset.places:.2f} to {high / preset.places:.2f}", most, lost])
        for path in captures:
            fill = np.zeros((preset.tables, 1 << preset.index_bits), np.int8)
            messages, most, first, lost = map(int, _orders(np.frombuffer(_bytes(path), np.uint8), hash_table(preset), fill, preset.ways))
            say(preset=preset.name, what="capture", name=Path(path).name, messages=messages, live=most, first_loss=first, lost=lost)
    SUMMARY.parent.mkdir(parents=True, exist_ok=True)
    SUMMARY.write_text(json.dumps(found, indent=1) + "\n")
    PAGE.write_text(PAGE_TEXT.format(
        steady=STEADY,
        presets=_table(["preset", "symbols", "ticks a side", "places", "promised live orders", "bits of a reference", "URAM, of 960 in a U280"],
                       ([p.name, p.symbols, p.ticks, p.places, p.orders, p.reference_bits, p.ultra_rams] for p in PRESETS.values())),
        sequences=_table(["preset", "gap", "ramp: live at the first loss", "load there", "steady: live", "lost"], lines),
        files=_table(["preset", "file", "messages", "live at most", "lost"],
                     ([f["preset"], f["name"], f["messages"], f["live"], f["lost"]] for f in found if f["what"] == "capture"))))


if __name__ == "__main__":
    main(sys.argv[1:])
