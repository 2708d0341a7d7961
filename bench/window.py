"""``python -m bench.window [FILE...]``: how often ladders must follow the price, and how long that takes. Writes docs/window.md.

FILEs: ITCH as BinaryFILE, plain or gzip (a cut one up to where it ends), and orderbook files of LOBSTER with their message file beside them; else those of
TICKGATE_DATA and a generated day (``bench/generate.py``).
MESSAGES: of the generated day. Times are those of the virtual card (presets demo and small), to the cycle.
"""
import gzip
import os
import sys
from pathlib import Path

import numpy as np

from tickgate.app import pair as pairs
from tickgate.app.pair import Pair
from tickgate.capture import FrameBatch
from tickgate.card.recentre import EDGE, SPREAD, wanted
from tickgate.spec import clocks, commands, itch50, records
from tickgate.spec.presets import PRESETS
from tickgate.twin import Book, StreamError, Symbol
from tickgate.twin.fast.layout import ROW
from tickgate_sim.models.wire import packet
from tickgate_sim.streams import udp_frame
from tickgate_sim.virtual.device import VirtualCard

from .generate import day

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "window.md"
MESSAGES, SYMBOLS, SEED = int(os.environ.get("MESSAGES", 2_000_000)), 500, 1
DOLLAR = 10_000                     # 1e-4 USD; from here on prices are multiples of 0.01 USD (Reg NMS rule 612)
SIZES = (8, 10, 12)                 # log2 ticks of a ladder
GROUP = (0xE9360C6F, 26477)
NO_PRICE = 9_999_999_999            # LOBSTER's, of an empty side
PIECE = 1 << 24                     # bytes read together
ORDERS = (10, 100, 1000, 4000)
PACKED = (1, 10, 30)                # messages a frame
GAP = 6                             # words between two frames
LOOK = 1 << 10                      # bytes of frames between two looks of the host


# ---- how often

def rows_of(data):
    """Changes of best bid and offer of all symbols, from the bytes of a BinaryFILE."""
    book, rows = Book(rows="changes", queues=False, strict=False), []
    for at in range(0, len(data), PIECE):
        rows.append(book.feed(data[at:at + PIECE]))
    return np.concatenate(rows)


def rows_in(path):
    """The same of a file."""
    return lobster(path) if "_orderbook_" in path.name else rows_of(read(path))


def lobster(path):
    """Changes of the best prices in a pair of LOBSTER files: orderbook rows begin with ask, its size, bid, its size; message rows with seconds."""
    book, seconds = (np.loadtxt(p, kind, delimiter=",", usecols=columns, ndmin=2, skiprows=int(not p.read_text()[0].isdigit())) for p, kind, columns in (
        (path, np.int64, (0, 2)), (path.with_name(path.name.replace("_orderbook_", "_message_")), np.float64, (0,))))
    book[(book < 0) | (book >= NO_PRICE)] = 0
    changed = np.flatnonzero((np.diff(book, axis=0, prepend=-1) != 0).any(axis=1))
    rows = np.zeros(len(changed), ROW)
    rows["locate"], rows["time"], rows["ask_px"], rows["bid_px"] = 1, seconds[changed, 0] * 1e9, book[changed, 0], book[changed, 1]
    return rows


def read(path):
    """A file as far as it goes."""
    data = bytearray()
    with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as source:
        try:
            while piece := source.read(1 << 16):
                data += piece
        except EOFError:
            pass
    return bytes(data)


def follow(bid, ask, tick, ticks):
    """One symbol's best prices (1e-4 USD, 0: none), change by change, through a ladder that follows them: places of the ladder, of those the moves; changes
    that left a best price outside until the move; and changes after which one would be outside of the first place."""
    there = (bid > 0) & (ask > 0)
    middle, apart = (bid + ask) // 2, (ask - bid) * SPREAD > ticks * tick
    base, first, placed, moves, outside, at = None, None, 0, 0, 0, 0
    edge = ticks * tick // EDGE

    def beyond(base, rows):
        b, a = bid[rows], ask[rows]
        return int(((b > 0) & ((b < base) | (b >= base + ticks * tick)) | (a > 0) & ((a < base) | (a >= base + ticks * tick))).sum())

    while True:
        usable = there[at:] & ~apart[at:]
        if base is not None:
            usable &= (middle[at:] < base + edge) | (middle[at:] >= base + ticks * tick - edge)
        found = np.flatnonzero(usable)
        new = base
        for k in found:
            new = wanted(int(bid[at + k]), int(ask[at + k]), base, tick, ticks)
            if new != base:
                break
        if new == base:
            if base is None:
                return False, 0, 0, 0
            return True, moves, outside + beyond(base, slice(at, None)), beyond(first, slice(placed, None))
        end = at + int(k)
        if base is None:
            first, placed = new, end
        else:
            moves += 1
            outside += beyond(base, slice(at, end + 1))
        base, at = new, end + 1


def counted(name, rows):
    """Lines of the table for one file."""
    order = np.argsort(rows["locate"], kind="stable")
    bid, ask, locate = (rows[field][order].astype(np.int64) for field in ("bid_px", "ask_px", "locate"))
    parts = np.split(np.arange(len(order)), np.flatnonzero(np.diff(locate)) + 1)
    seconds = (int(rows["time"].max()) - int(rows["time"].min())) / 1e9
    span = f"{seconds / 3600:.1f} h" if seconds >= 3600 else f"{seconds:.3g} s"
    for bits in SIZES:
        placed = moved = moves = outside = fixed = left = most = 0
        for part in parts:
            b, a = bid[part], ask[part]
            both = (b > 0) & (a > 0)
            tick = 100 if not both.any() or (b[both] + a[both])[0] // 2 >= DOLLAR else 1
            found, n, out, beyond = follow(b, a, tick, 1 << bits)
            placed, moved, moves, outside, fixed = placed + found, moved + (n > 0), moves + n, outside + out, fixed + beyond
            left, most = left + (beyond > 0), max(most, n)
        yield (f"| {name}, {len(rows):,} changes of best prices in {span} | {1 << bits:,} | {placed:,} | {left:,} | {100 * fixed / len(rows):.3f} % "
               f"| {moved:,} | {moves:,} | {most} | {100 * outside / len(rows):.3f} % |")


# ---- how long

def _message(code, locate, **fields):
    return itch50.BY_CODE[code].encode(stock_locate=locate, **fields)


def _batch(messages, each, number):
    payloads = [packet(messages[k:k + each], number + k) for k in range(0, len(messages), each)]
    return FrameBatch.of([udp_frame(p, GROUP) for p in payloads], np.arange(len(payloads)) * 1000)


def moved(preset, orders, each, frames):
    """One move of a ladder with ``orders`` live orders while the line is full of frames of ``each`` messages of another symbol: the ``Move``."""
    sizes = PRESETS[preset]
    symbol, other = Symbol(0, 1, 1_000_000, 100), Symbol(1, 2, 1_000_000, 100)
    top = symbol.base + (sizes.ticks - 10) * symbol.tick
    setup = [_message(b"A", 1, order_ref=1 + k, side="BS"[k % 2], shares=100, price=top + (k % 2 + k // 2 % 8 * (1 if k % 2 else -1)) * symbol.tick)
             for k in range(orders)]
    busy = [_message(b"AD"[k % 2:k % 2 + 1], 2, order_ref=1 << 20 | k // 2, **(dict(side="B", shares=1, price=other.base) if k % 2 == 0 else {}))
            for k in range(frames * each)]
    with VirtualCard(preset) as device:
        both = Pair(device, sizes, [symbol, other], [GROUP], recentre=True)
        later, both.recentring = both.recentring, None

        def batches():
            yield _batch(setup, 30, 1)
            both.recentring = later
            yield from (_batch(busy[k:k + 200 * each], each, len(setup) + 1 + k) for k in range(0, len(busy), 200 * each))

        for _ in both.run(batches()):
            if later.moves and not later.busy and both.recentring:
                break
        assert not both.over, both.failure or both.difference
    return later.moves[0]


def measure(preset, orders, each):
    pairs.WATCH = pairs.REACTION = LOOK
    frames = 2 * orders + 400
    move = moved(preset, orders, each, frames)
    assert move.ended and not move.given_up, f"{move} is not over after {frames} frames"
    pair = [_message(b"A", 2, side="B"), _message(b"D", 2)] * each
    words = (sum(-(-int(n) // 4) for n in _batch(pair, each, 1).length) / 2 + GAP) * clocks.GEARBOX_PERIOD / (clocks.GEARBOX_PERIOD - 1)
    cycles = clocks.cycles_between(move.began, move.ended)
    return (f"| {preset} | {orders:,} | {each} | {words:.0f} | {move.commands:,} | {cycles:,} | {cycles / move.commands:.1f} "
            f"| {cycles * clocks.NS_NUMERATOR / clocks.NS_DENOMINATOR / 1000:,.1f} |")


def at_rest():
    """Cycles between the records of adds, and of deletes, that the host pushes one after the other while the line is at rest."""
    found = {}
    with VirtualCard("small") as device:
        both = Pair(device, PRESETS["small"], [Symbol(0, 1, 1_000_000, 100)], [GROUP])
        for kind, fields in (("add", dict(qty=1, price=1_000_000)), ("delete", {})):
            for reference in range(1, commands.QUEUE + 1):
                both.port.push(commands.Command(commands.COMMANDS[kind][0], 0, reference, **fields))
            device.idle(4096)
            rows = both.ring.poll()
            both.port.took_effect(rows)
            gaps = np.diff(clocks.cycle_of_ns(rows["t_wire_ns"].astype(np.int64)))
            assert len(rows) == commands.QUEUE and not (rows["detail"] != records.NO_FAULT).any()
            found[kind] = int(gaps.max())
    return found


HEAD = f"""# How often a ladder must follow the price, and how long that takes

Written by `python -m bench.window`, which measures anew. The rule is `tickgate.card.recentre`'s: a ladder is centred at the first quote of its symbol, and
moved when the middle of the best bid and ask comes within 1/{EDGE} of the ladder from its edge. A side that is empty, and quotes further apart than
1/{SPREAD} of the ladder (stubs), move nothing. Ticks are 0.01 USD, and 0.0001 USD for symbols whose first quote is below 1 USD.

## How often

A ladder that stays where the first quote put it, and one that follows. *Outside*: part of the changes of a best price after which one lies outside the
ladder; for the ladder that follows, until the move. Those are flagged unknown, never wrong.

| data | ticks | symbols placed | stays: symbols outside once or more | stays: outside | follows: symbols moved | moves | most of a symbol | follows: outside |
|---|---|---|---|---|---|---|---|---|
"""
HOW_LONG = """
## How long

From the first hold to the arming the symbol is stale; no other symbol is touched, and no record of the feed is a cycle later. A move takes two holds, a base
and an arming, a delete and an add for every live order, and what the feed changes meanwhile. With frames back to back the card takes about one command a
frame, so that is (2 × orders + 4) × cycles of a frame (words and gap × 33/32); on a line at rest it takes one each {add} cycles (deletes: {delete}).
Measured on the virtual card, every record compared with the twin's, the line full of frames of another symbol's messages, the host looking each
{look:,} bytes of frames:

| preset | live orders | messages a frame | cycles of a frame | commands | cycles | cycles a command | µs |
|---|---|---|---|---|---|---|---|
"""


def main(arguments):
    lines = []
    if arguments:
        sources = [(Path(a).name, lambda a=a: rows_in(Path(a))) for a in arguments]
    else:
        folder = Path(os.environ.get("TICKGATE_DATA", ROOT.parent / "shared" / "data"))
        paths = [*sorted(folder.glob("itch/*")), *sorted(folder.glob("lobster/*_orderbook_*"))]
        sources = [(path.name, lambda path=path: rows_in(path)) for path in paths]
        sources.append((f"generated day, {SYMBOLS} symbols, {MESSAGES:,} messages, seed {SEED}", lambda: rows_of(day(MESSAGES, SYMBOLS, SEED))))
    for name, found in sources:
        try:
            rows = found()
        except StreamError as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
            continue
        if len(rows):
            lines += counted(name, rows)
            print(*lines[-len(SIZES):], sep="\n", flush=True)
    times = []
    for preset, orders, each in [("demo", n, each) for n in ORDERS for each in PACKED]:
        times.append(measure(preset, orders, each))
        print(times[-1], flush=True)
    PAGE.write_text(HEAD + "\n".join(lines) + "\n" + HOW_LONG.format(**at_rest(), look=LOOK) + "\n".join(times) + "\n")
    print(f"wrote {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main(sys.argv[1:])
