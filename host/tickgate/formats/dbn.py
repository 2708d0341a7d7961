"""Events as DBN market by order (MBO) records, uncompressed or in a zstd frame.

What Databento does with Nasdaq's feed is done here: an execution is a trade (T) with the aggressor's side, a fill (F) of the resting order and a cancel (C)
of what it lost; a replace is a cancel and an add. F_LAST is on the last record of each event.
"""
import datetime
import shutil
import tempfile
from types import SimpleNamespace

import databento_dbn
import numpy as np

from tickgate.spec import events as ev

from .expand import expand

_EXECUTED = ("T", "F", "C")
#: Records of each action.
PARTS = {"A": ("A",), "X": ("C",), "D": ("C",), "E": _EXECUTED, "C": _EXECUTED, "M": ("M",), "P": ("T",), "Q": ("T",), "F": ("F",), "R": ("R",), "N": ("N",)}
_SIDES = np.full(256, ord("N"), np.uint8)
_SIDES[[ev.BUY, ev.SELL]] = list(b"BA")
_PRICE_LIMIT = (1 << 63) // ev.REST
_BUFFER = 1 << 20
_NO_TIME = (1 << 64) - 1


class Dbn:
    """One DBN file. Its metadata, which comes first, is written when the last record is known; the records wait in a file without a name."""

    def __init__(self, file, about):
        self.file, self.about, self.rows = file, about, 0
        self._spool, self._locates, self._span = tempfile.TemporaryFile(), {}, (_NO_TIME, 0)

    def write(self, events, left):
        index, part = expand(events, PARTS)
        if not len(index):
            return
        its, rows = events[index], np.zeros(len(index), ev.DBN_MBO_RECORD.dtype)
        source, trades = self.about.source, part == b"T"
        rows["length"], rows["rtype"] = ev.DBN_MBO_RECORD.size // ev.DBN_WORD, ev.DBN_MBO
        rows["publisher_id"], rows["instrument_id"] = ev.DBN_PUBLISHERS.get(source.dataset, 0), its["locate"]
        time = its["time_ns"] + source.midnight_ns
        rows["ts_event"], rows["ts_recv"] = time, np.where(its["receive_ns"] > 0, its["receive_ns"], time)
        rows["order_id"] = np.where(trades & (its["action"] != ord("P")), 0, its["reference"])
        at_trade = (its["action"] == ord("C")) & (part != b"C")
        price = np.where(at_trade, its["trade_price"], its["price"])
        if (price >= _PRICE_LIMIT).any() or (its["quantity"] >= 1 << 32).any():
            wrong = its[int(((price >= _PRICE_LIMIT) | (its["quantity"] >= 1 << 32)).argmax())]
            raise ValueError(f"message {wrong['sequence']}: quantity {wrong['quantity']} does not fit DBN")
        rows["price"] = np.where(part == b"R", ev.DBN_NO_PRICE, price * ev.REST + its["price_rest"])
        rows["size"], rows["action"] = its["quantity"], part.astype("S1").view(np.uint8)
        side = np.where(trades, ev.OTHER_SIDE[its["side"]], its["side"])
        if not source.trade_sides:
            side[its["action"] == ord("P")] = ev.NO_SIDE
        rows["side"] = _SIDES[side]
        is_last = np.append(index[1:] != index[:-1], True)
        rows["flags"] = np.where(is_last, its["flags"], its["flags"] & (0xFF ^ ev.LAST))
        rows["sequence"] = its["sequence"] & 0xFFFFFFFF
        self._spool.write(rows.tobytes())
        self.rows += len(rows)
        self._locates.update(dict.fromkeys(np.unique(its["locate"]).tolist()))
        self._span = min(self._span[0], int(rows["ts_event"].min())), max(self._span[1], int(rows["ts_event"].max()))

    def close(self):
        source, start = self.about.source, self._span[0] if self.rows else 0
        day = source.date or datetime.date(1970, 1, 1)
        names = {locate: self.about.names[locate] for locate in self._locates if self.about.names.get(locate)}
        interval = {"start_date": day, "end_date": day + datetime.timedelta(days=1)}
        metadata = databento_dbn.Metadata(
            dataset=source.dataset, start=start, end=self._span[1] + 1 if self.rows else None, schema=databento_dbn.Schema.MBO,
            stype_in=databento_dbn.SType.RAW_SYMBOL, stype_out=databento_dbn.SType.INSTRUMENT_ID, symbols=list(dict.fromkeys(names.values())), partial=[],
            not_found=[], mappings=[SimpleNamespace(raw_symbol=name, intervals=[SimpleNamespace(**interval, symbol=str(locate))])
                                    for locate, name in names.items()], ts_out=False, version=ev.DBN_VERSIONS[-1])
        self._spool.seek(0)
        self.file.write(bytes(metadata))
        shutil.copyfileobj(self._spool, self.file, _BUFFER)
        self._spool.close()
