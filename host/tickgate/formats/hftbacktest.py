"""Event arrays for hftbacktest: an ``.npz`` whose ``data`` has a row for each change of an order (L3), each fill and each trade.

Source: hftbacktest 2, ``event_dtype``. It computes with floats; 1e-4 USD and shares are exact in them at every size that occurs.
"""
import json
import shutil
import tempfile
import zipfile

import numpy as np

from tickgate.spec import events as ev

from .expand import expand

_KINDS, _BITS = ev.HFTBACKTEST_KINDS, {name: np.uint64(1 << bit) for name, bit in ev.HFTBACKTEST_FLAGS.items()}
_ANY = _BITS["exchange"] | _BITS["local"]
_EXECUTED = ("trade", "fill", "reduce")
#: Rows of each action. ``reduce``: modify when something is left of the order, else cancel, which takes it away.
PARTS = {"A": ("add",), "X": ("reduce",), "D": ("cancel",), "E": _EXECUTED, "C": _EXECUTED, "M": ("modify",), "P": ("trade",), "Q": ("trade",),
         "F": ("fill",), "R": ("clear",)}
_CODES = {**_KINDS, "reduce": _KINDS["cancel"]}
_BUFFER = 1 << 20


class Npz:
    """The array of one symbol. It begins with a clear of the book; a ``trade`` has the side of who took, and none where that is not known.

    ``local_ts`` is when the event was captured, or ``exch_ts`` when that is not known; neither goes back. A snapshot's orders have the time at which
    it was given.
    """

    def __init__(self, file, about):
        self.file, self.about, self.rows, self._begun = file, about, 0, False
        self._spool, self._before = tempfile.TemporaryFile(), (0, 0)

    def write(self, events, left):
        index, part = expand(events, PARTS)
        its, rows = events[index], np.zeros(len(index), ev.HFTBACKTEST)
        if not len(rows):
            return
        kind = np.zeros(len(rows), np.uint64)
        for name, code in _CODES.items():
            kind[part == name.encode()] = code
        rest = left[index]
        reduced = part == b"reduce"
        kind[reduced & (rest > 0)] = _KINDS["modify"]
        trades, quantity = part == b"trade", np.where(reduced & (rest > 0), rest, its["quantity"])
        side = np.where(trades, ev.OTHER_SIDE[its["side"]], its["side"])
        if not self.about.source.trade_sides:
            side[its["action"] == ord("P")] = ev.NO_SIDE
        side[np.isin(part, (b"clear",)) | (its["action"] == ord("Q"))] = ev.NO_SIDE
        rows["ev"] = kind | _ANY | np.where(side == ev.BUY, _BITS["buy"], 0) | np.where(side == ev.SELL, _BITS["sell"], 0)
        at_trade = (trades | (part == b"fill")) & (its["action"] == ord("C"))
        price = np.where(at_trade, its["trade_price"], its["price"])
        rows["px"] = np.where(its["price_rest"] == 0, price / 10_000, (price * ev.REST + its["price_rest"]) / 1e9)
        rows["qty"], rows["order_id"] = quantity, its["reference"]
        self._times(rows, its)
        if not self._begun:
            self._begun = True
            first = rows[:1].copy()
            first["ev"] = np.uint64(_KINDS["clear"]) | _ANY
            first["px"] = first["qty"] = first["order_id"] = 0
            rows = np.concatenate([first, rows])
        self._spool.write(rows.tobytes())
        self.rows += len(rows)

    def _times(self, rows, its):
        exchange = its["time_ns"] + self.about.source.midnight_ns
        local = np.where(its["receive_ns"] > 0, its["receive_ns"], exchange)
        exchange = np.where((its["flags"] & ev.SNAPSHOT) != 0, local, exchange)
        exchange = np.maximum.accumulate(np.append(self._before[0], exchange))[1:]
        local = np.maximum(np.maximum.accumulate(np.append(self._before[1], local))[1:], exchange)
        rows["exch_ts"], rows["local_ts"] = exchange, local
        self._before = int(exchange[-1]), int(local[-1])

    def close(self):
        header = {"descr": np.lib.format.dtype_to_descr(ev.HFTBACKTEST), "fortran_order": False, "shape": (self.rows,)}
        self._spool.seek(0)
        with zipfile.ZipFile(self.file, "w", zipfile.ZIP_DEFLATED) as archive:
            with archive.open("data.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array_header_1_0(entry, header)
                shutil.copyfileobj(self._spool, entry, _BUFFER)
            with archive.open("metadata.npy", "w") as entry:
                np.lib.format.write_array(entry, np.array(json.dumps(self.about.metadata)), allow_pickle=False)
        self._spool.close()
