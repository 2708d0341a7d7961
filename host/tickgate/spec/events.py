"""Order events: one row form for what ITCH, LOBSTER and DBN files say, and the other forms of it that files have.

An event is what one message of a venue did to an order, or a trade, or a change of state. Prices are whole numbers of 1e-4 USD; what a price has
below that, in DBN alone, is in ``price_rest``. Times are ns since midnight, Eastern, of the session's day.
"""
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .layout import Field, Layout

#: Version of the rows below; files carry it in their metadata. It changes when a field or a code changes its meaning.
SCHEMA_VERSION = 1


@dataclass(frozen=True)
class SignedLayout(Layout):
    """A layout of which the fields named in ``signed`` are two's complement in the numpy dtype."""

    signed: tuple = ()

    @cached_property
    def dtype(self):
        """numpy structured dtype of one row."""
        base = super().dtype
        formats = [base[name].str.replace("u", "i") if name in self.signed else base[name].str for name in base.names]
        return np.dtype({"names": list(base.names), "formats": formats, "offsets": [f.offset for f in self.fields], "itemsize": self.size})


#: ``action``: letter, and what it does to the book.
ACTIONS = {
    "A": "a new order rests (ITCH A F, LOBSTER 1, DBN A)",
    "X": "the order loses quantity (ITCH X, LOBSTER 2, DBN C)",
    "D": "the order goes; quantity: what it had, 0 when not known (ITCH D, LOBSTER 3)",
    "E": "executed at its price: the order loses quantity (ITCH E, LOBSTER 4)",
    "C": "executed at trade_price: the order, resting at price, loses quantity (ITCH C)",
    "U": "the order goes and new_reference rests in its place, last in its queue (ITCH U)",
    "M": "the order has this price and quantity from now on (DBN M)",
    "P": "a trade that leaves the book as it is: hidden order (ITCH P, LOBSTER 5), or one whose order is told apart (DBN T)",
    "F": "the order was filled; what it loses is told apart (DBN F)",
    "Q": "cross (ITCH Q, LOBSTER 6)",
    "B": "a trade was broken (ITCH B)",
    "R": "the book is empty from here on (DBN R)",
    "H": "trading state; detail: T trading, H halted, Q quotation only, P paused (ITCH H, LOBSTER 7)",
    "S": "system event; detail: its code (ITCH S)",
    "N": "nothing (DBN N)",
}

#: ``side``: of the order that rests, or rested; of a trade against a hidden order the side that was not the aggressor's.
BUY, SELL, NO_SIDE = b"BS "

#: The side that trades with each side.
OTHER_SIDE = np.arange(256, dtype=np.uint8)
OTHER_SIDE[[BUY, SELL]] = SELL, BUY

#: ``flags``, bit by bit, as in DBN. An ITCH or LOBSTER row is an event of its own and has LAST alone.
FLAGS = {
    "LAST": (7, "last row of its event: the book is valid after it"),
    "TOB": (6, "top of book alone"),
    "SNAPSHOT": (5, "part of a snapshot: the order was there before"),
    "MBP": (4, "an aggregated level, no order"),
    "BAD_TIME": (3, "receive_ns is not to be trusted"),
    "MAYBE_BAD_BOOK": (2, "a gap was not filled: the book may be wrong"),
}
LAST, TOB, SNAPSHOT, MBP, BAD_TIME, MAYBE_BAD_BOOK = (1 << bit for bit, _ in FLAGS.values())

#: Parts of 1e-4 USD that ``price_rest`` counts.
REST = 100_000

EVENT = SignedLayout("event", 88, (
    Field("time_ns", 0, 8, unit="ns since midnight", doc="when it happened, at the exchange; below 0: the day before"),
    Field("receive_ns", 8, 8, unit="ns since 1970", doc="when it was captured, UTC; 0: not known"),
    Field("sequence", 16, 8, unit="messages", doc="number of the message in its feed or file, the first is 1; DBN: the venue's"),
    Field("reference", 24, 8, unit="reference", doc="the order; 0: none"),
    Field("new_reference", 32, 8, unit="reference", doc="U: the order that replaces it"),
    Field("match", 40, 8, unit="number", doc="match number of an execution, trade or cross"),
    Field("quantity", 48, 8, unit="shares", doc="added, taken or traded; U and M: in all"),
    Field("price", 56, 8, unit="1e-4 USD", doc="of the order (U: of the new one), of the trade for P and Q; 0: not known"),
    Field("trade_price", 64, 8, unit="1e-4 USD", doc="E C P Q: at which it traded; 0: not known, or none"),
    Field("price_rest", 72, 4, unit="1e-9 USD", doc="to be added to price, 0 to 99,999"),
    Field("locate", 76, 4, unit="locate", doc="of the symbol on its day; LOBSTER: 1; DBN: instrument; 0: the whole market"),
    Field("attribution", 80, 4, "alpha", doc="F: market participant"),
    Field("action", 84, 1, unit="ASCII"),
    Field("side", 85, 1, unit="ASCII", doc="B, S, or a space"),
    Field("detail", 86, 1, unit="ASCII", doc="C: printable; Q: cross type; H: trading state; S: event; 0: none"),
    Field("flags", 87, 1, unit="bits"),
), order="little", doc="One event.", signed=("time_ns", "receive_ns", "price", "trade_price"))

#: LOBSTER message types, and the actions they stand for. 7 is a halt: -1 halted, 0 quotation only, 1 trading, in place of a price.
LOBSTER_TYPES = {1: "A", 2: "X", 3: "D", 4: "E", 5: "P", 6: "Q", 7: "H"}
LOBSTER_HALTS = {-1: "H", 0: "Q", 1: "T"}
#: Price of a level that is not there, below 0 for bids; its size is 0.
LOBSTER_NO_PRICE = 9_999_999_999

#: DBN: magic and version, length of the metadata that follows.
DBN_HEADER = Layout("dbn_header", 8, (
    Field("magic", 0, 3, "bytes", doc="DBN"),
    Field("version", 3, 1, unit="number"),
    Field("length", 4, 4, unit="bytes", doc="of the metadata that follows"),
), order="little", source="Databento Binary Encoding, metadata")
DBN_MAGIC = b"DBN"
DBN_VERSIONS = (1, 2, 3)   # the MBO record is the same in all
DBN_MBO = 160              # rtype
DBN_WORD = 4               # bytes that a record's ``length`` counts
#: Price that says there is none.
DBN_NO_PRICE = (1 << 63) - 1

DBN_MBO_RECORD = SignedLayout("dbn_mbo", 56, (
    Field("length", 0, 1, unit="words", doc="of the record, in words of 4 bytes"),
    Field("rtype", 1, 1, unit="code"),
    Field("publisher_id", 2, 2, unit="code"),
    Field("instrument_id", 4, 4, unit="code"),
    Field("ts_event", 8, 8, unit="ns since 1970"),
    Field("order_id", 16, 8, unit="reference"),
    Field("price", 24, 8, unit="1e-9 USD"),
    Field("size", 32, 4, unit="shares"),
    Field("flags", 36, 1, unit="bits"),
    Field("channel_id", 37, 1, unit="number"),
    Field("action", 38, 1, unit="ASCII"),
    Field("side", 39, 1, unit="ASCII", doc="B bid, A ask, N none; of a trade (T) the aggressor's"),
    Field("ts_recv", 40, 8, unit="ns since 1970"),
    Field("ts_in_delta", 48, 4, unit="ns", doc="from the sending of the venue to ts_recv"),
    Field("sequence", 52, 4, unit="messages"),
), order="little", source="Databento Binary Encoding, MBO (L3)", signed=("price", "ts_in_delta"))

#: DBN actions as ours.
DBN_ACTIONS = {"A": "A", "C": "X", "M": "M", "R": "R", "T": "P", "F": "F", "N": "N"}

#: DBN codes of publishers by dataset; 0 for others.
DBN_PUBLISHERS = {"GLBX.MDP3": 1, "XNAS.ITCH": 2}

#: hftbacktest: a row of its event array; floats, since it computes with them. ``ev``: one of the kinds, flags in the upper bits.
HFTBACKTEST = np.dtype([("ev", "<u8"), ("exch_ts", "<i8"), ("local_ts", "<i8"), ("px", "<f8"), ("qty", "<f8"), ("order_id", "<u8"), ("ival", "<i8"),
                        ("fval", "<f8")])
HFTBACKTEST_KINDS = {"trade": 2, "clear": 3, "add": 10, "cancel": 11, "modify": 12, "fill": 13}
HFTBACKTEST_FLAGS = {"exchange": 31, "local": 30, "buy": 29, "sell": 28}   # bit of each
