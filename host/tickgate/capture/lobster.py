"""LOBSTER: a pair of CSV files, messages and the book after each of them.

``read`` gives the messages as events, ``read_books`` the rows of the other file. A byte order mark, a header line and CRLF are accepted.
Source: LOBSTER sample files' readme of 2013-09-01.
"""
import re

import numpy as np

from ..spec import events

KIND = "LOBSTER"
LOCATE = 1           # of the one symbol that a pair has
COLUMNS = 6          # of a message file
_SECOND_DIGITS = 9
_NS = 10 ** _SECOND_DIGITS
_NAME = re.compile(r"([^/_]+)_(\d{4}-\d\d-\d\d)_(\d+)_(\d+)_(message|orderbook)_(\d+)\.csv")
_ROW = re.compile(rb"\d+(\.\d*)?(,-?\d+){5}\s*$")
_MARK = b"\xef\xbb\xbf"
_ACTIONS = {kind: ord(action) for kind, action in events.LOBSTER_TYPES.items()}
_HALTS = {price: ord(state) for price, state in events.LOBSTER_HALTS.items()}
_SIDES = {1: events.BUY, -1: events.SELL}


def parts_of(name):
    """Symbol, day, start and end in ms since midnight, ``message`` or ``orderbook``, and levels that a pair's file name tells, or None."""
    found = _NAME.search(str(name))
    return found and (found[1], found[2], int(found[3]), int(found[4]), found[5], int(found[6]))


def name_of(symbol, day, start_ms, end_ms, levels, part="message"):
    """The name of a pair's file."""
    return f"{symbol}_{day or '0000-00-00'}_{start_ms}_{end_ms}_{part}_{levels}.csv"


def book_path(path):
    """Path of the book file that belongs to a message file."""
    folder, slash, name = str(path).rpartition("/")
    return folder + slash + name.replace("message", "orderbook")


def recognises(data):
    """The first or the second line has the six columns of a message file."""
    lines = data[:4096].removeprefix(_MARK).split(b"\n")[:2]
    return any(_ROW.match(line) for line in lines)


def read(window, report):
    """Yield the events of a message file, arrays of ``EVENT``. ``price`` of an execution is the order's; a halt has its state in ``detail``."""
    count = 0
    for rows in _rows(window, report, COLUMNS, _message):
        table = np.array(rows, np.int64)
        out = np.zeros(len(rows), events.EVENT.dtype)
        for column, name in enumerate(("time_ns", "action", "reference", "quantity", "price", "side", "detail")):
            out[name] = table[:, column]
        out["sequence"] = np.arange(count + 1, count + 1 + len(out))
        out["locate"], out["flags"] = LOCATE, events.LAST
        traded = np.isin(out["action"], np.frombuffer(b"EPQ", np.uint8))
        out["trade_price"][traded] = out["price"][traded]
        count += len(out)
        report.messages = count
        yield out


def read_books(window, report, levels):
    """Yield the rows of an orderbook file, int64[rows, 4 · levels]: ask price and size, bid price and size, best level first."""
    for rows in _rows(window, report, 4 * levels, lambda fields: tuple(map(int, fields))):
        yield np.array(rows, np.int64)


def _message(fields):
    seconds, _, fraction = fields[0].strip().partition(b".")
    if fraction[_SECOND_DIGITS:].strip(b"0"):
        raise ValueError("time is finer than a ns")
    time = int(seconds) * _NS + int(fraction[:_SECOND_DIGITS].ljust(_SECOND_DIGITS, b"0"))
    kind, reference, size, price, direction = map(int, fields[1:])
    if kind not in _ACTIONS:
        raise ValueError(f"type {kind} is none of 1 to 7")
    if direction not in _SIDES:
        raise ValueError(f"direction {direction} is neither 1 nor -1")
    if time < 0 or reference < 0 or size < 0:
        raise ValueError("a negative number")
    if _ACTIONS[kind] == ord("H"):
        if price not in _HALTS:
            raise ValueError(f"halt {price} is none of -1, 0, 1")
        return time, _ACTIONS[kind], 0, 0, 0, events.NO_SIDE, _HALTS[price]
    return time, _ACTIONS[kind], reference, size, price, _SIDES[direction], 0


def _rows(window, report, columns, parse):
    """Yield lists of what ``parse`` makes of the lines, split at commas. Raises ``CaptureError`` at the first line that is wrong."""
    first = True
    while True:
        end = len(window.data) if window.eof else window.data.rfind(b"\n") + 1
        rows, at = [], 0
        for line in window.data[:end].splitlines(keepends=True):
            text = line.strip().removeprefix(_MARK) if first else line.strip()
            fields = text.split(b",")
            try:
                if len(fields) != columns:
                    raise ValueError(f"{len(fields)} columns, not {columns}")
                rows.append(parse(fields))
            except ValueError as error:
                if text and not (first and len(fields) == columns and not text[:1].isdigit()):   # a header line
                    cause = str(error) if "invalid literal" not in str(error) else "a column is no whole number"
                    wrong = window.error(at, "line", f"{cause} ({text[:60].decode('ascii', 'replace')!r})")
                    if rows:
                        yield rows
                    raise wrong from None
            first = False
            at += len(line)
        if rows:
            yield rows
        if window.eof:
            return
        window.advance(end)
