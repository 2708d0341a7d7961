"""Layouts of the fast twin: what the engine keeps, and the rows it hands out. Declared once, here.

Everything the engine keeps lies in plain arrays of the records below and names its neighbours by their index; index 0 is nobody. So a book can be
copied, grown and saved as it is. Prices in 1e-4 USD, quantities in shares, times in ns since midnight.
"""
import numpy as np

from tickgate.spec import itch50

LOCATES = 1 << 16     # books: one for each stock locate
BATCH = 16            # messages that go through a stage together; room is kept for so many
STAGES = 4            # batches on the way: found, looked up, looked at, applied
BUCKET = 8            # places of the order index that are searched at once: a cache line
VECTOR = 16           # ladder places that are searched or moved at once; a ladder's block keeps so many free at its end
SMALLEST_BLOCK = 32   # places of the first block of a ladder; every next one has twice as many

#: A live order. ``side`` is 2 · locate + 1 for sells, 2 · locate for buys: a reference counts within its symbol, as on the card.
#: ``before`` and ``after``: its neighbours in the queue of its level (L3 only). A free one has ``after`` alone: the next free one.
ORDER = np.dtype([("reference", "u8"), ("quantity", "u4"), ("level", "u4"), ("before", "u4"), ("after", "u4"), ("side", "u4"), ("spare", "u4")])

#: Orders at one price: shares and orders in all, first and last of the queue (L3 only). A free one has ``first`` alone: the next free one.
LEVEL = np.dtype([("quantity", "u8"), ("price", "u4"), ("count", "u4"), ("first", "u4"), ("last", "u4"), ("side", "u4"), ("spare", "u4")])

#: One side of a book: ``count`` levels, the ``best`` of them, and its ladder: ``size`` places from ``block`` on, worst first. A place of
#: a ladder is one u64, the rank of the level's price above its index; the rank of a better price is higher, so that the best is always last.
SIDE = np.dtype([("block", "u4"), ("size", "u4"), ("count", "u4"), ("best", "u4")])

#: What is kept of a symbol beside its orders; the codes are those of ``tickgate.spec.records``. ``bid_px`` to ``ask_qty``: the top of book last told.
SYMBOL = np.dtype([("digest", "u4"), ("tracked", "u1"), ("stale", "u1"), ("trading", "u1"), ("reg_sho", "u1"), ("halted", "u1"), ("known", "u1"),
                   ("spare", "u2"), ("spare_2", "u4"), ("bid_px", "u4"), ("bid_qty", "u4"), ("ask_px", "u4"), ("ask_qty", "u4")])

#: A message that was looked at: its address and length; if it has a reference, its hash, and its side (but of an add, the locate's buys until the order
#: is found); where the index likely has its order, that order, and the level that an add or a replace likely joins. From a batch's first row on, ``add``
#: lists the rows that add an order and ``other`` those that name one.
LOOKED = np.dtype([("at", "u8"), ("hash", "u4"), ("side", "u4"), ("order", "u4"), ("level", "u4"), ("length", "u2"), ("add", "u1"), ("other", "u1"),
                   ("place", "u4")])

#: Counts, and where the free places of the arrays begin: one row. ``order_end`` and the like: first place that was never used; ``free_order`` and the
#: like: first one that was given back. ``rows``, ``trades``, ``events``: written by this call.
COUNTS = np.dtype([(name, "u8") for name in (
    "number", "orders", "order_end", "free_order", "levels", "level_end", "free_level", "arena_end", "rows", "trades", "events",
    "updates", "unknown", "short", "longer", "other", "phase", "all_stale")])

_HEAD = [("time", "u8"), ("number", "u8"), ("locate", "u2"), ("message", "u1"), ("detail", "u1"), ("flags", "u1"), ("state", "u1")]

#: The best bid and offer after a message.
#:
#: ``time``: ns since midnight; ``number``: of the message in the feed, the first is 1; ``locate``: stock locate; ``message``: ASCII of its type;
#: ``detail``: fault, ``flags`` and ``state``: bits, all as in ``tickgate.spec.records``; prices in 1e-4 USD, 0 on an empty side; quantities in
#: shares, 2^32 - 1 is that many or more; ``count``s in orders; ``order_px`` and ``order_qty`` of the message's order as in
#: ``tickgate.spec.records``; ``digest``: CRC-32, 0 unless asked for.
ROW = np.dtype([*_HEAD, ("spare", "u2"), ("bid_px", "u4"), ("bid_qty", "u4"), ("ask_px", "u4"), ("ask_qty", "u4"), ("bid_count", "u4"),
                ("ask_count", "u4"), ("order_px", "u4"), ("order_qty", "u4"), ("digest", "u4"), ("spare_2", "u4")])

#: One level of a snapshot: 1e-4 USD, orders, shares. All 0: there is none.
DEPTH = np.dtype([("price", "u4"), ("count", "u4"), ("quantity", "u8")])

#: A trade: E C P Q. ``detail``: printable (E and P: ``Y``) or cross type, ASCII; ``flags``: SELL when the resting order was a sell;
#: ``match``: match number; ``reference``: the resting order's, 0 for P and Q; ``price``: 0 for an E of an unknown order; ``qty`` in shares.
TRADE = np.dtype([*_HEAD, ("spare", "u2"), ("qty", "u8"), ("match", "u8"), ("reference", "u8"), ("price", "u4"), ("spare_2", "u4")])

#: A change of state: S W H Y h. ``detail``: the code byte of the message, ASCII; ``state``: after it; S and W concern all symbols, their locate is as sent.
EVENT = np.dtype([*_HEAD, ("spare", "u2")])


#: A live order of a symbol, as ``orders`` of its book lists them: 1e-4 USD, shares.
QUEUED = np.dtype([("reference", "u8"), ("price", "u4"), ("quantity", "u4")])


def row_dtype(depth):
    """``ROW``, and for a ``depth`` above 0 ``bids`` and ``asks`` behind it: so many levels each, best first, as ``DEPTH``."""
    return np.dtype([*((name, ROW[name]) for name in ROW.names), ("bids", DEPTH, depth), ("asks", DEPTH, depth)]) if depth else ROW


def offsets(dtype, *names):
    """Byte offsets of fields, as the engine wants them."""
    return tuple(np.uint64(dtype.fields[name][1]) for name in names)


#: Size of each message by type byte; 0: unknown type.
SIZES = np.array([getattr(itch50.BY_CODE.get(bytes([code])), "size", 0) for code in range(256)], np.uint16)

if any(dtype.fields[name][:2] != ROW.fields[name][:2] for dtype in (TRADE, EVENT) for name, _ in _HEAD):
    raise AssertionError("all rows begin with the same fields")
for _dtype, _size in ((ORDER, 32), (LEVEL, 32), (SIDE, 16), (SYMBOL, 32), (LOOKED, 32), (ROW, 64), (DEPTH, 16), (TRADE, 56), (EVENT, 24)):
    if _dtype.itemsize != _size:
        raise AssertionError(f"{_dtype} has {_dtype.itemsize} bytes, not {_size}: it would straddle cache lines")
