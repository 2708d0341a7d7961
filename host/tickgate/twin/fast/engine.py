"""The engine: ITCH messages in, books and rows out. One call handles what it is given until a message is not whole or room runs out.

It goes by batches, because a book is far larger than a cache and most of the time would be spent waiting for memory. The next messages are
looked at three times, and each time asks for what they will need next: ``_walk`` for the index and the side, ``_find`` for the order and the ends
of the ladders, ``_search`` for the level and the neighbours in the queue. When ``run`` applies them, one after the other, it is there. What was
found ahead may no longer hold by then, and is looked at again. A branch that depends on the message is guessed wrong about as often as not and
costs as much as twenty additions, so where it is easy there is none.

What a message does is docs/path.md's, with a ladder that has every price and an order table that is never full.
"""
from typing import NamedTuple

import numpy as np
from numba import njit

from tickgate.spec import itch50
from tickgate.spec import records as rec
from tickgate.spec.moldudp64 import BLOCK

from .digest import TABLES, extend
from .intrinsics import big16, big32, big64, byte, load64, prefetch, store64, stream64
from .ladder import above, close_gap, enlarge, open_gap, rank_of
from .layout import BATCH, BUCKET, DEPTH, EVENT, LEVEL, ORDER, ROW, SIDE, SIZES, STAGES, SYMBOL, TRADE, VECTOR, offsets
from .orders import LOW, ONE, WORD, enter, forget, free_place, hash_of, inlined, likely_place, place_for, place_of, shift_of

#: Why the engine came back.
DONE, ROOM, LADDER, BAD, END = range(5)

#: What the engine is to do, bit by bit.
QUEUES, CHANGES, EVERY, DIGEST, TRADES, EVENTS, STRICT = (1 << bit for bit in range(7))

_QUEUES, _CHANGES, _EVERY, _DIGEST, _TRADES, _EVENTS, _STRICT = (np.uint64(bit) for bit in (QUEUES, CHANGES, EVERY, DIGEST, TRADES, EVENTS, STRICT))

#: Longest message that a strict engine takes for one: all of ITCH is far below.
LONGEST = 255


class State(NamedTuple):
    """All that the engine keeps, as arrays: see ``layout`` for the records. ``index``: u64, a power of two; ``arena``: u64; ``names``: the
    eight bytes of each locate's symbol as a number; ``wanted``: names to track; ``types`` and ``faults``: counts by code; ``free_blocks``:
    by the power of two of their size."""

    counts: np.ndarray
    types: np.ndarray
    faults: np.ndarray
    free_blocks: np.ndarray
    symbols: np.ndarray
    names: np.ndarray
    wanted: np.ndarray
    sides: np.ndarray
    orders: np.ndarray
    index: np.ndarray
    levels: np.ndarray
    arena: np.ndarray


_NONE, _TWO = np.uint64(0), np.uint64(2)
_PREFIX, _COMMON = np.uint64(BLOCK.size), np.uint64(itch50.BY_CODE[b"S"]["timestamp"].end)
_ORDER, _LEVEL, _SIDE, _SYMBOL, _WORD = (np.uint64(size) for size in (ORDER.itemsize, LEVEL.itemsize, SIDE.itemsize, SYMBOL.itemsize, 8))
_BUCKET_BYTES, _STREAM_AHEAD = np.uint64(8 * BUCKET), np.uint64(1024)     # bytes; the processor itself stops at the end of a page
_BATCH, _AHEAD, _VECTOR, _LONGEST = np.uint64(BATCH), np.uint64(STAGES * BATCH - 1), np.uint64(VECTOR), np.uint64(LONGEST)
_A, _F, _E, _C, _X, _D, _U, _P, _Q, _R, _S, _W, _H, _Y, _h = (np.uint64(ord(code)) for code in "AFECXDUPQRSWHYh")


def _at(code, name):
    """Offset of a field."""
    return np.uint64(itch50.BY_CODE[code][name].offset)


_LOCATE, _TIME = _at(b"A", "stock_locate"), _at(b"A", "timestamp")
_REFERENCE, _ADD_SIDE, _ADD_SHARES, _ADD_PRICE = (_at(b"A", name) for name in ("order_ref", "side", "shares", "price"))   # of F and P too
_TAKEN = _at(b"E", "executed_shares")                                                                                      # of C and X too
_NEW, _NEW_SHARES, _NEW_PRICE = (_at(b"U", name) for name in ("new_order_ref", "shares", "price"))
_E_MATCH, _P_MATCH, _Q_MATCH = _at(b"E", "match_number"), _at(b"P", "match_number"), _at(b"Q", "match_number")
_C_PRINTABLE, _C_PRICE = _at(b"C", "printable"), _at(b"C", "execution_price")
_Q_SHARES, _Q_PRICE, _Q_TYPE = (_at(b"Q", name) for name in ("shares", "cross_price", "cross_type"))
_STOCK, _EVENT_CODE, _TRADING = _at(b"R", "stock"), _at(b"S", "event_code"), _at(b"H", "trading_state")
_BREACHED, _REG_SHO = _at(b"W", "breached_level"), _at(b"Y", "reg_sho_action")
_MARKET, _ACTION = _at(b"h", "market_code"), _at(b"h", "halt_action")
_HAS_REFERENCE = np.uint64(itch50.BY_CODE[b"D"].size)      # the shortest message with a reference
_THIS_MARKET, _HALTED, _TRADED, _PRINTABLE = (np.uint64(ord(code)) for code in "QHTY")
_TIME_MASK = np.uint64((1 << 8 * itch50.BY_CODE[b"A"]["timestamp"].size) - 1)
_TIME_LOAD = _TIME - np.uint64(8 - itch50.BY_CODE[b"A"]["timestamp"].size)     # eight bytes that end with it

#: Sizes by type; book messages have 256 on top.
_KINDS = SIZES + np.array([256 * (code in itch50.BOOK_TYPES) for code in range(256)], np.uint16)
_SIZE_MASK, _IS_BOOK = np.uint64(255), np.uint64(256)


def _by_byte(codes, other):
    """State codes by the byte that says so."""
    table = np.full(256, other, np.uint8)
    for letter, value in codes.items():
        if len(letter) == 1:
            table[ord(letter)] = value
    return table


_KEEP = 255
_TRADING_CODES, _REG_SHO_CODES, _PHASE_CODES = _by_byte(rec.TRADING, 0), _by_byte(rec.REG_SHO, 0), _by_byte(rec.PHASES, _KEEP)
_OPERATIONAL_HALT = np.uint64(rec.TRADING["operational_halt"])
_REG_SHO_BIT, _PHASE_BIT = (np.uint64(rec.state_of(*one).bit_length() - 1) for one in ((0, 1, 0), (0, 0, 1)))
_UNKNOWN, _DUPLICATE, _OVERFILL = (np.uint64(code) for code in (rec.UNKNOWN_REFERENCE, rec.DUPLICATE_REFERENCE, rec.OVERFILL))
_VALID, _BID, _ASK, _STALE, _CROSSED, _SELL_BIT = (np.uint64(flag) for flag in (rec.VALID, rec.BID, rec.ASK, rec.STALE, rec.CROSSED,
                                                                                  rec.SELL.bit_length() - 1))
_ROW_SIZE, _TRADE_SIZE, _EVENT_SIZE, _DEPTH_SIZE = (np.uint64(dtype.itemsize) for dtype in (ROW, TRADE, EVENT, DEPTH))
_ROW_TIME, _ROW_NUMBER, _ROW_LOCATE, _ROW_DIGEST = offsets(ROW, "time", "number", "locate", "digest")
_MESSAGE_BIT, _DETAIL_BIT, _FLAGS_BIT, _STATE_BIT = ((at - _ROW_LOCATE) * np.uint64(8) for at in offsets(ROW, "message", "detail", "flags", "state"))
_BID_PX, _ASK_PX, _BID_COUNT, _ORDER_PX = offsets(ROW, "bid_px", "ask_px", "bid_count", "order_px")
(_TOLD,) = offsets(SYMBOL, "bid_px")
_TRADE_QTY, _TRADE_MATCH, _TRADE_REFERENCE, _TRADE_PRICE = offsets(TRADE, "qty", "match", "reference", "price")
_DEPTH_PRICE, _DEPTH_QUANTITY = offsets(DEPTH, "price", "quantity")


# ---- orders and levels


@inlined
def _level_at(state, side, price):
    """The level of a price, 0 when there is none; and how many levels of its side have this price or a worse one."""
    rank = rank_of(price, side & ONE)
    block = np.uint64(state.sides[side].block)
    at = above(np.uint64(state.arena.ctypes.data), block, np.uint64(state.sides[side].count), rank)
    found = state.arena[block + at - np.uint64(at != _NONE)]
    return found & LOW if (at != _NONE) & (found >> WORD == rank) else _NONE, at


@inlined
def _new_level(state, side, price, worse):
    """A level for a price that has none, above the ``worse`` ones of its side; it has no orders, and must get one. The ladder has room."""
    counts, levels, sides = state.counts, state.levels, state.sides
    block, count = np.uint64(sides[side].block), np.uint64(sides[side].count)
    level = counts[0].free_level
    if level != _NONE:
        counts[0].free_level = levels[level].first
    else:
        level = counts[0].level_end
        counts[0].level_end = level + ONE
    counts[0].levels += ONE
    open_gap(np.uint64(state.arena.ctypes.data), block, worse, count)
    state.arena[block + worse] = rank_of(price, side & ONE) << WORD | level
    sides[side].count = count + ONE
    sides[side].best = level if worse == count else np.uint64(sides[side].best)
    levels[level].price, levels[level].side = price, side
    levels[level].quantity, levels[level].count, levels[level].first, levels[level].last = _NONE, _NONE, _NONE, _NONE
    return level


@inlined
def _has_room(state, side):
    """Whether one more level fits the side's ladder; it is enlarged when it must be."""
    if np.uint64(state.sides[side].count) + _VECTOR < np.uint64(state.sides[side].size):
        return True
    return enlarge(state.counts, state.free_blocks, state.sides, state.arena, side)


@inlined
def _level_for(state, side, price, likely):
    """The level that an order of this price joins, a new one when there is none; 0 when there is no room for that. ``likely``: perhaps the one."""
    levels = state.levels
    if (levels[likely].price == price) & (levels[likely].side == side) & (levels[likely].count != _NONE):
        return likely
    level, worse = _level_at(state, side, price)
    if level == _NONE and _has_room(state, side):
        level = _new_level(state, side, price, worse)
    return level


@inlined
def _rest(state, place, hashed, reference, side, quantity, level, queues):
    """A new order joins the end of its level's queue. There is room for it. ``place``: where the index is to name it."""
    counts, orders, levels = state.counts, state.orders, state.levels
    order = counts[0].free_order
    if order != _NONE:
        counts[0].free_order = orders[order].after
    else:
        order = counts[0].order_end
        counts[0].order_end = order + ONE
    counts[0].orders += ONE
    enter(state.index, place, hashed, order)
    levels[level].quantity += quantity
    levels[level].count += np.uint32(1)
    if queues:     # nobody, order 0, takes what is not for anybody
        last, first = levels[level].last, levels[level].first
        orders[last].after = order
        levels[level].first = first if first else order
        levels[level].last = order
        orders[order].before, orders[order].after = last, _NONE
    orders[order].reference, orders[order].quantity, orders[order].level, orders[order].side = reference, quantity, level, side


@inlined
def _leave(state, shift, place, order, queues):
    """An order leaves its queue and the index; a level without orders leaves the ladder."""
    counts, orders, levels, sides = state.counts, state.orders, state.levels, state.sides
    forget(state.index, shift, place)
    level = np.uint64(orders[order].level)
    left = np.uint64(levels[level].count) - ONE
    if left != _NONE:
        levels[level].count = left
        levels[level].quantity -= np.uint64(orders[order].quantity)
        if queues:     # without branches, which would be guessed wrong: nobody, order 0, takes what is not for anybody
            before, after = orders[order].before, orders[order].after
            first, last = levels[level].first, levels[level].last
            orders[before].after = after
            orders[after].before = before
            levels[level].first = first if before else after
            levels[level].last = last if after else before
    else:
        side = np.uint64(orders[order].side)
        arena = np.uint64(state.arena.ctypes.data)
        block, count = np.uint64(sides[side].block), np.uint64(sides[side].count)
        at = above(arena, block, count, rank_of(np.uint64(levels[level].price), side & ONE)) - ONE
        close_gap(arena, block, at, count)
        count -= ONE
        sides[side].count = count
        if at == count:
            sides[side].best = state.arena[block + at - ONE] & LOW if at != _NONE else _NONE
        levels[level].count, levels[level].quantity, levels[level].first = _NONE, _NONE, counts[0].free_level
        counts[0].free_level = level
        counts[0].levels -= ONE
    orders[order].after = counts[0].free_order
    counts[0].free_order = order
    counts[0].orders -= ONE


# ---- what is told


@inlined
def _state_of(state, locate):
    """The ``state`` byte of a symbol."""
    symbol = state.symbols[locate]
    trading = _OPERATIONAL_HALT if symbol.halted else np.uint64(symbol.trading)
    return trading | np.uint64(symbol.reg_sho) << _REG_SHO_BIT | state.counts[0].phase << _PHASE_BIT


@inlined
def _head(row, at, number, locate, detail, flags, state):
    """What all rows begin with."""
    stream64(row + _ROW_TIME, big64(at + _TIME_LOAD) & _TIME_MASK)
    stream64(row + _ROW_NUMBER, number)
    stream64(row + _ROW_LOCATE, locate | byte(at) << _MESSAGE_BIT | detail << _DETAIL_BIT | flags << _FLAGS_BIT | state << _STATE_BIT)


@inlined
def _top(levels, level):
    """Price and, above it, quantity of a side's best level, as a row has them."""
    return np.uint64(levels[level].price) | min(np.uint64(levels[level].quantity), LOW) << WORD


@inlined
def _tell(state, rows, depth, options, at, number, locate, sell, fault, price, quantity):
    """After a book message: the digest, and the row if one is due."""
    if not options & (_CHANGES | _EVERY | _DIGEST):
        return
    symbols, levels, sides = state.symbols, state.levels, state.sides
    buys = locate * _TWO
    bid, ask = np.uint64(sides[buys].best), np.uint64(sides[buys + ONE].best)
    top_bid, top_ask = _top(levels, bid), _top(levels, ask)
    told = np.uint64(symbols.ctypes.data) + locate * _SYMBOL + _TOLD
    is_due = options & _EVERY or options & _CHANGES and (load64(told) != top_bid) | (load64(told + _WORD) != top_ask)
    if not (is_due or options & _DIGEST):
        return
    flags = sell << _SELL_BIT | (_BID if bid != _NONE else _NONE) | (_ASK if ask != _NONE else _NONE)
    if (bid != _NONE) & (ask != _NONE) & (top_bid & LOW >= top_ask & LOW):
        flags |= _CROSSED
    flags |= _STALE if state.counts[0].all_stale or symbols[locate].stale else _VALID
    if options & _DIGEST:
        symbols[locate].digest = extend(TABLES, symbols[locate].digest, top_bid & LOW, top_bid >> WORD, top_ask & LOW, top_ask >> WORD,
                                        flags, _state_of(state, locate))
        if not is_due:
            return
    store64(told, top_bid)
    store64(told + _WORD, top_ask)
    row = rows + state.counts[0].rows * (_ROW_SIZE + _TWO * depth * _DEPTH_SIZE)
    state.counts[0].rows += ONE
    _head(row, at, number, locate, fault, flags, _state_of(state, locate))
    stream64(row + _BID_PX, top_bid)
    stream64(row + _ASK_PX, top_ask)
    stream64(row + _BID_COUNT, np.uint64(levels[bid].count) | np.uint64(levels[ask].count) << WORD)
    stream64(row + _ORDER_PX, price | quantity << WORD)
    stream64(row + _ROW_DIGEST, np.uint64(symbols[locate].digest))   # and the spare bytes behind it
    row += _ROW_SIZE
    for side in range(buys, buys + _TWO):
        left = np.uint64(sides[side].count)
        top = np.uint64(sides[side].block) + left
        for k in range(depth):
            k = np.uint64(k)
            level = state.arena[top - ONE - k] & LOW if k < left else _NONE
            stream64(row + _DEPTH_PRICE, np.uint64(levels[level].price) | np.uint64(levels[level].count) << WORD)
            stream64(row + _DEPTH_QUANTITY, levels[level].quantity)
            row += _DEPTH_SIZE


@inlined
def _trade(state, trades, at, number, locate, detail, sell, quantity, match, reference, price):
    """A row of ``TRADE``."""
    row = trades + state.counts[0].trades * _TRADE_SIZE
    state.counts[0].trades += ONE
    flags = sell << _SELL_BIT
    if state.counts[0].all_stale or state.symbols[locate].stale:
        flags |= _STALE
    _head(row, at, number, locate, detail, flags, _state_of(state, locate))
    stream64(row + _TRADE_QTY, quantity)
    stream64(row + _TRADE_MATCH, match)
    stream64(row + _TRADE_REFERENCE, reference)
    stream64(row + _TRADE_PRICE, price)    # and the spare bytes behind it


@inlined
def _event(state, events, options, at, number, locate, detail, is_market):
    """A row of ``EVENT``, if asked for. One of the whole market has the state's phase alone."""
    if not options & _EVENTS:
        return
    row = events + state.counts[0].events * _EVENT_SIZE
    state.counts[0].events += ONE
    if is_market:
        _head(row, at, number, locate, detail, _NONE, state.counts[0].phase << _PHASE_BIT)
    else:
        stale = _STALE if state.counts[0].all_stale or state.symbols[locate].stale else _NONE
        _head(row, at, number, locate, detail, stale, _state_of(state, locate))


# ---- the messages


@inlined
def _walk(state, shift, looked, first, begin, end):
    """Find the whole messages from ``begin`` on, at most a batch, and ask for the places of their references and for their sides.

    They are noted from ``looked[first]`` on. Returns how many they are, how many of them add an order, how many name one, and where the next one begins.
    """
    index, sides, symbols = np.uint64(state.index.ctypes.data), np.uint64(state.sides.ctypes.data), np.uint64(state.symbols.ctypes.data)
    n, adds, others, at = _NONE, _NONE, _NONE, begin
    while n < _BATCH and at + _PREFIX <= end:
        length = big16(at)
        m = at + _PREFIX
        prefetch(m + _STREAM_AHEAD)
        if m + length > end or length == _NONE:
            break
        here = first + n
        looked[here].at, looked[here].length = m, length
        if length >= _HAS_REFERENCE:
            code, locate = byte(m), big16(m + _LOCATE)
            is_add, is_replace = np.uint64((code == _A) | (code == _F)), np.uint64(code == _U)
            side = locate * _TWO + (byte(m + _ADD_SIDE * is_add) & is_add)
            hashed = hash_of(big64(m + _REFERENCE), locate)
            looked[here].hash, looked[here].side = hashed, side
            prefetch(index + (hashed >> shift) * _BUCKET_BYTES)
            prefetch(sides + side * _SIDE)
            prefetch(symbols + locate * _SYMBOL)
            if is_replace != _NONE:
                prefetch(index + (hash_of(big64(m + _NEW), locate) >> shift) * _BUCKET_BYTES)
            looked[first + adds].add = here           # no branch on the type: it would be guessed wrong half of the time
            looked[first + others].other = here
            adds += is_add | is_replace
            others += ONE - is_add
        n += ONE
        at = m + length
    return n, adds, others, at


@inlined
def _find(state, shift, looked, first, adds, others):
    """Ask for the orders of a batch and for the ends of its ladders."""
    orders, arena = np.uint64(state.orders.ctypes.data), np.uint64(state.arena.ctypes.data)
    for k in range(first, first + others):
        one = looked[k].other
        place = likely_place(state.index, shift, np.uint64(looked[one].hash))
        looked[one].place = place
        order = state.index[place] & LOW
        looked[one].order = order
        prefetch(orders + order * _ORDER)
    for k in range(first, first + adds):
        side = np.uint64(looked[looked[k].add].side)
        end_of_ladder = arena + (np.uint64(state.sides[side].block) + np.uint64(state.sides[side].count)) * _WORD
        prefetch(end_of_ladder - _WORD)
        prefetch(end_of_ladder - _VECTOR * _WORD)


@inlined
def _search(state, looked, first, adds, others, options):
    """Ask for the levels of a batch and for the neighbours in the queues; note which level an add will join."""
    orders, arena, levels = np.uint64(state.orders.ctypes.data), np.uint64(state.arena.ctypes.data), np.uint64(state.levels.ctypes.data)
    for k in range(first, first + others):
        one = looked[k].other
        order = looked[one].order
        prefetch(levels + np.uint64(state.orders[order].level) * _LEVEL)
        side = np.uint64(state.orders[order].side)
        looked[one].side = side
        end_of_ladder = arena + (np.uint64(state.sides[side].block) + np.uint64(state.sides[side].count)) * _WORD
        prefetch(end_of_ladder - _WORD)
        if options & _QUEUES:
            prefetch(orders + np.uint64(state.orders[order].before) * _ORDER)
            prefetch(orders + np.uint64(state.orders[order].after) * _ORDER)
        if options & (_CHANGES | _EVERY | _DIGEST):
            prefetch(levels + np.uint64(state.sides[side].best) * _LEVEL)
            prefetch(levels + np.uint64(state.sides[side ^ ONE].best) * _LEVEL)
    for k in range(first, first + adds):
        add = looked[k].add
        side = np.uint64(looked[add].side)
        m = np.uint64(looked[add].at)
        price = big32(m + (_NEW_PRICE if byte(m) == _U else _ADD_PRICE))
        level, _ = _level_at(state, side, price)
        looked[add].level = level
        prefetch(levels + level * _LEVEL)
        if options & (_CHANGES | _EVERY | _DIGEST):
            prefetch(levels + np.uint64(state.sides[side].best) * _LEVEL)
            prefetch(levels + np.uint64(state.sides[side ^ ONE].best) * _LEVEL)
    if options & _QUEUES:
        for k in range(first, first + adds):
            prefetch(orders + np.uint64(state.levels[looked[looked[k].add].level].last) * _ORDER)


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def run(state, begin, end, options, depth, looked, rows, row_room, trades, trade_room, events, event_room):
    """Apply the messages between two addresses, each behind its length as in a BinaryFILE.

    ``options``: see above; ``depth``: levels a side in each row; ``looked``: BATCH of ``LOOKED``; ``rows``, ``trades``, ``events``: addresses of
    what is written, each with room for so many. Returns the address of the first message not applied, and why it was not:
    ``DONE`` it is not whole; ``ROOM`` orders, levels or one of the outputs are nearly full; ``LADDER`` the arena is; ``BAD`` (strict only) it is no
    message; ``END`` its length is 0.
    """
    counts, types, faults, symbols, orders, index = state.counts, state.types, state.faults, state.symbols, state.orders, state.index
    options, depth, rows, trades, events = np.uint64(options), np.uint64(depth), np.uint64(rows), np.uint64(trades), np.uint64(events)
    row_room, trade_room, event_room = np.uint64(row_room), np.uint64(trade_room), np.uint64(event_room)
    queues = options & _QUEUES != _NONE
    shift, nowhere = shift_of(index), np.uint64(index.size)
    counts[0].rows, counts[0].trades, counts[0].events = _NONE, _NONE, _NONE
    at, ahead = begin, begin          # what is to be applied next; how far was looked
    number = counts[0].number
    first = _NONE                     # where the batch that is found next is noted
    n0 = n1 = n2 = adds0 = adds1 = adds2 = others0 = others1 = others2 = _NONE
    reason = DONE
    while reason == DONE:
        if (counts[0].orders + _BATCH >= np.uint64(orders.size) or (counts[0].orders + _BATCH) * _TWO > np.uint64(index.size)
                or counts[0].levels + _BATCH >= np.uint64(state.levels.size) or counts[0].rows + _BATCH > row_room
                or counts[0].trades + _BATCH > trade_room or counts[0].events + _BATCH > event_room):
            reason = ROOM
            break
        n3, n2, adds2, others2, n1, adds1, others1 = n2, n1, adds1, others1, n0, adds0, others0
        n0, adds0, others0, ahead = _walk(state, shift, looked, first, ahead, end)
        _find(state, shift, looked, first - _BATCH & _AHEAD, adds1, others1)
        _search(state, looked, first - _TWO * _BATCH & _AHEAD, adds2, others2, options)
        apply = first + _BATCH & _AHEAD
        first = apply
        if n0 + n1 + n2 + n3 == _NONE:
            if at + _PREFIX <= end and big16(at) == _NONE:
                reason = END
            break
        for k in range(apply, apply + n3):
            m, length = np.uint64(looked[k].at), np.uint64(looked[k].length)
            code = byte(m)
            kind = np.uint64(_KINDS[code])
            size = kind & _SIZE_MASK
            if length != size:
                if options & _STRICT and (length < size or length > _LONGEST):
                    reason = BAD
                    break
                if length < size or length < _COMMON:
                    counts[0].short += ONE
                    if length >= _COMMON:
                        types[code] += ONE
                    if kind & _IS_BOOK:     # what it would have done is not known
                        counts[0].all_stale = ONE
                    number += ONE
                    at = m + length
                    continue
            locate = big16(m + _LOCATE)
            if kind & _IS_BOOK:
                if not symbols[locate].tracked:
                    counts[0].other += ONE
                else:
                    reference = big64(m + _REFERENCE)
                    hashed = np.uint64(looked[k].hash)
                    fault, sell, price = _NONE, _NONE, _NONE
                    if code == _A or code == _F:
                        sell = byte(m + _ADD_SIDE) & ONE
                        quantity, price = big32(m + _ADD_SHARES), big32(m + _ADD_PRICE)
                        side = locate * _TWO + sell
                        place = place_for(index, shift, orders, hashed, reference, locate)
                        if place == nowhere:
                            fault = _DUPLICATE
                        else:
                            level = _level_for(state, side, price, np.uint64(looked[k].level))
                            if level == _NONE:
                                reason = LADDER
                                break
                            _rest(state, place, hashed, reference, side, quantity, level, queues)
                    else:
                        place = place_of(index, shift, orders, hashed, reference, locate, np.uint64(looked[k].place))
                        if place == nowhere:
                            fault = _UNKNOWN
                            quantity = _NONE
                            if code == _U:
                                quantity, price = big32(m + _NEW_SHARES), big32(m + _NEW_PRICE)
                            elif code != _D:
                                quantity = big32(m + _TAKEN)
                        else:
                            order = index[place] & LOW
                            side, level = np.uint64(orders[order].side), np.uint64(orders[order].level)
                            sell = side & ONE
                            has = np.uint64(orders[order].quantity)
                            price = np.uint64(state.levels[level].price)
                            if code == _D:
                                quantity = has
                                _leave(state, shift, place, order, queues)
                            elif code == _U:
                                if not _has_room(state, side):
                                    reason = LADDER
                                    break
                                new, quantity, price = big64(m + _NEW), big32(m + _NEW_SHARES), big32(m + _NEW_PRICE)
                                new_hash = hash_of(new, locate)
                                if place_for(index, shift, orders, new_hash, new, locate) == nowhere:    # the old one itself counts
                                    fault = _DUPLICATE
                                _leave(state, shift, place, order, queues)
                                if not fault:
                                    level = _level_for(state, side, price, np.uint64(looked[k].level))
                                    _rest(state, free_place(index, shift, new_hash), new_hash, new, side, quantity, level, queues)
                            else:
                                quantity = big32(m + _TAKEN)
                                if quantity < has:
                                    orders[order].quantity = has - quantity
                                    state.levels[level].quantity -= quantity
                                else:
                                    if quantity > has:
                                        fault = _OVERFILL
                                    _leave(state, shift, place, order, queues)
                    if fault:
                        faults[fault] += ONE
                        symbols[locate].stale = np.uint8(1)
                    counts[0].updates += ONE
                    _tell(state, rows, depth, options, m, number + ONE, locate, sell, fault, price, quantity)
                    if options & _TRADES and (code == _E or code == _C):
                        if code == _E:
                            _trade(state, trades, m, number + ONE, locate, _PRINTABLE, sell, quantity, big64(m + _E_MATCH), reference, price)
                        else:
                            _trade(state, trades, m, number + ONE, locate, byte(m + _C_PRINTABLE), sell, quantity, big64(m + _E_MATCH), reference,
                                   big32(m + _C_PRICE))
            elif code == _P or code == _Q:
                if not symbols[locate].tracked:
                    counts[0].other += ONE
                elif options & _TRADES:
                    if code == _P:
                        _trade(state, trades, m, number + ONE, locate, _PRINTABLE, byte(m + _ADD_SIDE) & ONE, big32(m + _ADD_SHARES),
                               big64(m + _P_MATCH), _NONE, big32(m + _ADD_PRICE))
                    else:
                        _trade(state, trades, m, number + ONE, locate, byte(m + _Q_TYPE), _NONE, big64(m + _Q_SHARES), big64(m + _Q_MATCH), _NONE,
                               big32(m + _Q_PRICE))
            elif code == _R:
                name = big64(m + _STOCK)
                state.names[locate] = name
                symbols[locate].known = np.uint8(1)
                for one in state.wanted:
                    if one == name:
                        symbols[locate].tracked = np.uint8(1)
            elif code == _S:
                phase = np.uint64(_PHASE_CODES[byte(m + _EVENT_CODE)])
                if phase != _KEEP:
                    counts[0].phase = phase
                _event(state, events, options, m, number + ONE, locate, byte(m + _EVENT_CODE), True)
            elif code == _W:
                _event(state, events, options, m, number + ONE, locate, byte(m + _BREACHED), True)
            elif code == _H or code == _Y or code == _h:
                if not symbols[locate].tracked:
                    counts[0].other += ONE
                elif code == _H:
                    symbols[locate].trading = _TRADING_CODES[byte(m + _TRADING)]
                    _event(state, events, options, m, number + ONE, locate, byte(m + _TRADING), False)
                elif code == _Y:
                    symbols[locate].reg_sho = _REG_SHO_CODES[byte(m + _REG_SHO)]
                    _event(state, events, options, m, number + ONE, locate, byte(m + _REG_SHO), False)
                else:
                    action = byte(m + _ACTION)
                    if byte(m + _MARKET) == _THIS_MARKET and (action == _HALTED or action == _TRADED):
                        symbols[locate].halted = np.uint8(action == _HALTED)
                    _event(state, events, options, m, number + ONE, locate, action, False)
            if size == _NONE:       # here, since a message that finds no room comes once more
                counts[0].unknown += ONE
            elif length != size:
                counts[0].longer += ONE
            types[code] += ONE
            number += ONE
            at = m + length
    counts[0].number = number
    return at, reason
