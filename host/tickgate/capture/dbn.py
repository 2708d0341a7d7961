"""Databento Binary Encoding: market by order records (MBO) as events.

Records are read as arrays; the metadata before them by ``databento-dbn``. Source: DBN versions 1 to 3, in which the MBO record is the same.
"""
import numpy as np

from ..spec import events
from .session import date_of, midnight_ns

KIND = "DBN"
_MBO = events.DBN_MBO_RECORD
_ACTIONS = np.zeros(256, np.uint8)
for _theirs, _ours in events.DBN_ACTIONS.items():
    _ACTIONS[ord(_theirs)] = ord(_ours)
_SIDES = np.zeros(256, np.uint8)
_SIDES[list(b"BAN")] = events.BUY, events.SELL, events.NO_SIDE


def recognises(data):
    return data.startswith(events.DBN_MAGIC)


def check(window):
    """The metadata (``databento_dbn.Metadata``) and its end. Raises ``CaptureError``, also for another schema than MBO."""
    header = events.DBN_HEADER
    if len(window.data) < header.size:
        raise window.error(len(window.data), "header", f"cut off: {len(window.data)} of {header.size} bytes are there")
    head = header.decode(window.data)
    if head["version"] not in events.DBN_VERSIONS:
        raise window.error(header["version"].offset, "version", f"{head['version']} is none of {', '.join(map(str, events.DBN_VERSIONS))}")
    try:
        import databento_dbn
    except ImportError:
        raise window.error(0, "file", "DBN needs databento-dbn: pip install 'tickgate[dbn]'") from None
    end = header.size + head["length"]
    if len(window.data) < end:
        window.advance(0, end)
    if len(window.data) < end:
        raise window.error(len(window.data), "metadata", f"cut off: {len(window.data)} of {end} bytes are there")
    try:
        metadata = databento_dbn.Metadata.decode(window.data[:end])
    except databento_dbn.DBNError as error:
        raise window.error(header.size, "metadata", str(error).splitlines()[0]) from None
    if metadata.schema != "mbo":
        raise window.error(header.size, "schema", f"{metadata.schema or 'mixed'} is not market by order (mbo)")
    return metadata, end


def symbols_of(metadata):
    """Symbols by instrument, as the metadata maps them."""
    found = {}
    for symbol, intervals in metadata.mappings.items():
        for interval in intervals:
            if str(interval["symbol"]).isdecimal():
                found[int(interval["symbol"])] = symbol
    return found


def read(window, report, date=None):
    """Yield ``(events, date)``: arrays of ``EVENT`` with times since the midnight of ``date``, by default the first record's day at the exchange."""
    _, at = check(window)
    while True:
        rows, at, wrong = _rows(window, at, report)
        if len(rows):
            if date is None:
                date = date_of(int(rows["ts_event"][0]))
            report.messages += len(rows)
            yield _events(rows, midnight_ns(date)), date
        if wrong:
            raise wrong
        if window.eof and not len(rows):
            report.tail_bytes, report.tail_offset = len(window.data) - at, window.start + at
            return
        window.advance(at)
        at = 0


def _rows(window, at, report):
    """The MBO records that follow one another from ``at`` on, where they end, and the ``CaptureError`` if what comes there is no record."""
    data, parts = window.data, []
    while len(data) - at >= 2:
        size, kind = data[at] * events.DBN_WORD, data[at + 1]
        if size < (_MBO.size if kind == events.DBN_MBO else 2):
            parts = np.concatenate(parts) if parts else np.zeros(0, _MBO.dtype)
            return parts, at, window.error(at, "record length", f"{size} bytes is too short (type {kind}, bytes {data[at:at + 32].hex(' ')})")
        whole = (len(data) - at) // size
        if not whole:
            break
        if kind != events.DBN_MBO:
            report.skipped_records += 1
            at += size
            continue
        block = np.frombuffer(data, np.uint8, whole * size, at).reshape(whole, size)
        other = (block[:, :2] != block[0, :2]).any(axis=1)
        count = int(other.argmax()) if other.any() else whole
        parts.append(np.ascontiguousarray(block[:count, :_MBO.size]).view(_MBO.dtype).reshape(count))
        at += count * size
    rows = np.concatenate(parts) if parts else np.zeros(0, _MBO.dtype)
    unknown = (_ACTIONS[rows["action"]] == 0) | (_SIDES[rows["side"]] == 0)
    if unknown.any():
        k = int(unknown.argmax())
        return rows[:k], at, window.error(at, "action", f"{chr(rows['action'][k])!r} of side {chr(rows['side'][k])!r} is not known, "
                                                        f"{len(rows) - k} records before this")
    return rows, at, None


def _events(rows, midnight):
    out = np.zeros(len(rows), events.EVENT.dtype)
    out["time_ns"] = rows["ts_event"].astype(np.int64) - midnight
    out["receive_ns"], out["sequence"], out["reference"] = rows["ts_recv"], rows["sequence"], rows["order_id"]
    out["quantity"], out["locate"], out["flags"] = rows["size"], rows["instrument_id"], rows["flags"]
    has_price = rows["price"] != events.DBN_NO_PRICE
    price = np.where(has_price, rows["price"], 0)
    out["price"], out["price_rest"] = price // events.REST, price % events.REST
    out["action"] = _ACTIONS[rows["action"]]
    side, traded = _SIDES[rows["side"]], out["action"] == ord("P")
    out["side"] = np.where(traded, events.OTHER_SIDE[side], side)     # a trade's is the aggressor's
    out["trade_price"][traded] = out["price"][traded]
    return out
