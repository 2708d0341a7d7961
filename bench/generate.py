"""Synthetic trading days for the benchmark: ``python -m bench.generate OUT MESSAGES SYMBOLS SEED [LIVE]``. Compiled, some millions of messages a second.

A day as BinaryFILE: stock directory, a pre-open with a stub quote on each side of every symbol, then adds, deletes, replaces, executes and cancels.
Every message names a live order, executes take the oldest order at the best price, no book is ever crossed. A few symbols have most of the messages
(the k-th 1/k of the first), orders that leave are mostly young, prices lie around a middle that wanders, references grow by 1 or 2.
With LIVE every symbol has about that many live orders from the open on: days that fill an order table.
"""
import sys

import numpy as np
from numba import njit

from tickgate.spec import itch50

WINDOW = 4096            # ticks of 0.01 USD around a symbol's middle
EDGE = 600               # as near as the middle comes to the end of the window
TICK = 100               # 1e-4 USD
STUBS = (TICK, 1_999_999_900)
FEWEST, USUAL, MOST = 24, 260, 1 << 15      # live orders of a symbol
START, OPEN, DAY = 14_400_000_000_000, 34_200_000_000_000, 23_400_000_000_000    # ns; the last is a duration
MIX = np.cumsum([0.374, 0.379, 0.085, 0.043, 0.031, 0.0032, 0.0106])             # of the actions below; the rest keeps the number of orders
ADD, DELETE, REPLACE, EXECUTE, CANCEL, EXECUTE_AT, TRADE = range(len(MIX))
LONGEST = 2 + max(layout.size for layout in itch50.MESSAGES)

_CODES = b"RHYSAFDUECXP"
_R, _H, _Y, _S, _A, _F, _D, _U, _E, _C, _X, _P = range(len(_CODES))
_FILL = dict(stock="        ", side="B", shares=100, market_category="Q", financial_status="N", round_lot_size=100, round_lots_only="N",
             issue_classification="C", issue_sub_type="Z", authenticity="P", short_sale_threshold="N", ipo_flag=" ", luld_reference_price_tier="1",
             etp_flag="N", inverse_indicator="N", trading_state="T", reg_sho_action="0", attribution="MKRA", printable="Y", event_code="O")


def _templates():
    """Each message with its length before it, fields to be filled in; uint8[types, longest], and their lengths."""
    rows, sizes = np.zeros((len(_CODES), LONGEST), np.uint8), np.zeros(len(_CODES), np.int64)
    for k, code in enumerate(_CODES):
        layout = itch50.BY_CODE[bytes([code])]
        raw = layout.encode(**{name: value for name, value in _FILL.items() if name in layout.field})
        sizes[k] = 2 + layout.size
        rows[k, :sizes[k]] = list(layout.size.to_bytes(2, "big") + raw)
    return rows, sizes


def _at(code, name):
    return 2 + itch50.BY_CODE[code][name].offset


_LOCATE, _TIME, _STOCK, _EVENT = _at(b"A", "stock_locate"), _at(b"A", "timestamp"), _at(b"R", "stock"), _at(b"S", "event_code")
_REFERENCE, _SIDE, _SHARES, _PRICE, _ADD_STOCK = (_at(b"A", name) for name in ("order_ref", "side", "shares", "price", "stock"))
_TAKEN, _MATCH, _EXECUTION_PRICE = _at(b"E", "executed_shares"), _at(b"E", "match_number"), _at(b"C", "execution_price")
_NEW, _NEW_SHARES, _NEW_PRICE, _P_MATCH = _at(b"U", "new_order_ref"), _at(b"U", "shares"), _at(b"U", "price"), _at(b"P", "match_number")
_TEMPLATES, _SIZES = _templates()


@njit
def _uniform(rng):
    x = rng[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    rng[0] = x
    return float(x >> np.uint64(11)) / 9007199254740992.0


@njit
def _below(rng, n):
    return int(_uniform(rng) * n)


@njit
def _geometric(rng, p):
    return int(np.log(1.0 - _uniform(rng)) / np.log(1.0 - p))


@njit
def _put(out, at, value, size):
    for k in range(size):
        out[at + k] = value >> 8 * (size - 1 - k) & 255


@njit
def _begin(out, at, kind, locate, time):
    """A message's template, with locate and time; returns where it ends."""
    size = _SIZES[kind]
    out[at:at + size] = _TEMPLATES[kind, :size]
    _put(out, at + _LOCATE, locate, 2)
    _put(out, at + _TIME, time, 6)
    return at + size


@njit
def _event(out, at, code, time):
    end = _begin(out, at, _S, 0, time)
    out[at + _EVENT] = code
    return end


@njit
def _distance(rng):
    """Ticks from the middle: most orders are near it."""
    v = _uniform(rng)
    return min(550, _geometric(rng, 0.45 if v < 0.55 else 0.08 if v < 0.93 else 0.01))


@njit
def _day(out, messages, rng, shares_of, names, middle, usual, crowded):
    """Fill ``out``; returns bytes and messages."""
    symbols, most = len(names), messages + 2 * len(names)
    reference, quantity, tick = np.zeros(most, np.int64), np.zeros(most, np.int64), np.zeros(most, np.int64)
    sell, place = np.zeros(most, np.int64), np.zeros(most, np.int64)
    before, after = np.zeros(most, np.int32), np.zeros(most, np.int32)
    live, count = np.zeros((symbols, MOST), np.int32), np.zeros(symbols, np.int64)
    first, last = np.full((symbols, 2, WINDOW), -1, np.int32), np.full((symbols, 2, WINDOW), -1, np.int32)
    best = np.empty((symbols, 2), np.int64)
    best[:, 0], best[:, 1] = -1, WINDOW
    base = np.maximum(1, middle - WINDOW // 2)
    middle = (middle - base).astype(np.float64)
    at, made, orders, next_reference, match, time = 0, 0, 0, 20, 1, START
    at = _event(out, at, ord("O"), time)
    made += 1
    for i in range(symbols):
        for kind in (_R, _H, _Y):
            end = _begin(out, at, kind, i + 1, time)
            out[at + _STOCK:at + _STOCK + 8] = names[i]
            at = end
            made += 1
            time += 1000
    # adds before the open, the stub quotes first
    quiet = 2 * symbols + (usual * symbols if crowded else messages // 33)
    done, burst, burst_symbol = 0, 0, 0
    while made < messages - 2:
        is_open = done >= quiet
        if done == quiet:
            time = max(time, OPEN)
            at = _event(out, at, ord("Q"), time)
            made += 1
        # which symbol, when, what
        if not is_open:
            i = done // 2 if done < 2 * symbols else done % symbols if crowded else np.searchsorted(shares_of, _uniform(rng))
            time += (OPEN - START) // (quiet + 1)
            act = ADD
        else:
            if burst > 0:
                burst -= 1
                i = burst_symbol
                time += 200 + _below(rng, 3000)
            else:
                i = np.searchsorted(shares_of, _uniform(rng))
                time += _below(rng, 2 * DAY // messages)
                if _uniform(rng) < 0.25:
                    burst, burst_symbol = _geometric(rng, 0.3), i
            act = np.searchsorted(MIX, _uniform(rng))
            if act > TRADE:
                act = ADD if count[i] < usual else DELETE
            if count[i] < FEWEST:
                act = ADD
            middle[i] = min(max(middle[i] + (_uniform(rng) - 0.5) * 0.6, EDGE), WINDOW - EDGE)
        if count[i] >= MOST - 2:
            act = DELETE
        done += 1
        # of which order
        order, side, taken = -1, _below(rng, 2), 0
        if act in (DELETE, REPLACE, CANCEL):
            k = count[i] - 1 - _geometric(rng, 0.08) if _uniform(rng) < 0.7 else -1
            order = live[i, k if k >= 0 else _below(rng, count[i])]
            if act == CANCEL and quantity[order] < 2 or act == REPLACE and tick[order] < 0:
                act = DELETE
            if act == CANCEL:
                taken = 1 + _below(rng, quantity[order] - 1)
        elif act in (EXECUTE, EXECUTE_AT):
            if 0 <= best[i, side] < WINDOW:
                order = first[i, side, best[i, side]]
                taken = quantity[order] if _uniform(rng) < 0.55 or quantity[order] < 2 else 1 + _below(rng, quantity[order] - 1)
            else:
                act = ADD
        old = reference[order] if order >= 0 else 0
        # it shrinks or goes
        if order >= 0:
            side = sell[order]
            quantity[order] -= taken
            if act in (DELETE, REPLACE) or quantity[order] == 0:
                moved = live[i, count[i] - 1]
                live[i, place[order]], place[moved] = moved, place[order]
                count[i] -= 1
                t = tick[order]
                if t >= 0:
                    if before[order] >= 0:
                        after[before[order]] = after[order]
                    else:
                        first[i, side, t] = after[order]
                    if after[order] >= 0:
                        before[after[order]] = before[order]
                    else:
                        last[i, side, t] = before[order]
                    step = 1 if side else -1
                    while 0 <= best[i, side] < WINDOW and first[i, side, best[i, side]] < 0:
                        best[i, side] += step
        # a new one comes
        price = shares = 0
        if act in (ADD, REPLACE):
            new, orders = orders, orders + 1
            next_reference += 1 + _below(rng, 2)
            v = _uniform(rng)
            shares = 100 if v < 0.6 else 100 * (1 + _geometric(rng, 0.3)) if v < 0.8 else 1 + _below(rng, 500)
            if not is_open and done <= 2 * symbols:
                side, t = done % 2, -1
                price = STUBS[side]
            else:
                t = (min(int(middle[i]) - _distance(rng), best[i, 1] - 1) if side == 0 else
                     max(int(middle[i]) + 1 + _distance(rng), best[i, 0] + 1))
                price = (base[i] + t) * TICK
                before[new], after[new] = last[i, side, t], -1
                if last[i, side, t] >= 0:
                    after[last[i, side, t]] = new
                else:
                    first[i, side, t] = new
                last[i, side, t] = new
                best[i, side] = min(best[i, side], t) if side else max(best[i, side], t)
            reference[new], quantity[new], tick[new], sell[new], place[new] = next_reference, shares, t, side, count[i]
            live[i, count[i]] = new
            count[i] += 1
        # the message
        if act == ADD:
            end = _begin(out, at, _F if _uniform(rng) < 0.05 else _A, i + 1, time)
            _put(out, at + _REFERENCE, next_reference, 8)
            out[at + _SIDE] = ord("S") if side else ord("B")
            _put(out, at + _SHARES, shares, 4)
            out[at + _ADD_STOCK:at + _ADD_STOCK + 8] = names[i]
            _put(out, at + _PRICE, price, 4)
        elif act == TRADE:
            end = _begin(out, at, _P, i + 1, time)
            out[at + _ADD_STOCK:at + _ADD_STOCK + 8] = names[i]
            _put(out, at + _PRICE, (base[i] + int(middle[i])) * TICK, 4)
            _put(out, at + _P_MATCH, match, 8)
            match += 1
        else:
            end = _begin(out, at, _D if act == DELETE else _U if act == REPLACE else _X if act == CANCEL else _E if act == EXECUTE else _C, i + 1, time)
            _put(out, at + _REFERENCE, old, 8)
            if act == REPLACE:
                _put(out, at + _NEW, next_reference, 8)
                _put(out, at + _NEW_SHARES, shares, 4)
                _put(out, at + _NEW_PRICE, price, 4)
            elif act != DELETE:
                _put(out, at + _TAKEN, taken, 4)
                if act != CANCEL:
                    _put(out, at + _MATCH, match, 8)
                    match += 1
                    if act == EXECUTE_AT:
                        _put(out, at + _EXECUTION_PRICE, (base[i] + int(middle[i])) * TICK, 4)
        at = end
        made += 1
    for code in (ord("M"), ord("C")):
        at = _event(out, at, code, max(time, OPEN + DAY))
        made += 1
    return at, made


def day(messages, symbols, seed, live=None):
    """A day as bytes, without the end marker (not every reader takes one): the same for the same numbers."""
    if live is not None and not FEWEST <= live < MOST:
        raise ValueError(f"live orders of a symbol must be {FEWEST} to {MOST - 1}, not {live}")
    least = symbols * (20 + (live or 0))
    if messages < least:
        raise ValueError(f"{symbols} symbols need at least {least} messages, not {messages}")
    chosen = np.random.default_rng(seed)
    weights = chosen.permutation(1.0 / np.arange(1, symbols + 1))
    shares_of = np.cumsum(weights / weights.sum())
    shares_of[-1] = 1.0
    letters = [f"{chr(65 + k // 676 % 26)}{chr(65 + k // 26 % 26)}{chr(65 + k % 26)}".ljust(8) if k < 17_576 else "" for k in range(symbols)]
    names = np.array([list(name.encode()) for name in letters], np.uint8)
    middle = np.exp(chosen.uniform(np.log(2500), np.log(50_000), symbols)).astype(np.int64)
    out = np.zeros(messages * 40 + LONGEST, np.uint8)
    size, made = _day(out, messages, np.array([seed * 2 + 1], np.uint64) * np.uint64(0x9E3779B97F4A7C15), shares_of, names, middle,
                      live or USUAL, live is not None)
    assert made == messages
    return out[:size].tobytes()


if __name__ == "__main__":
    path, messages, symbols, seed = sys.argv[1], *map(int, sys.argv[2:])
    with open(path, "wb") as file:
        file.write(day(messages, symbols, seed))
