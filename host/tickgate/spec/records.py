"""The event record: what the card writes to the host, 64 bytes each, little-endian.

Every kind shares the first 32 and the last 8 bytes; bytes 32 to 55 are the kind's own. One record is one cache line and one write.
Every book message (A F E C X D U) of a tracked symbol gives exactly one ``top_of_book`` record, P Q and C a ``trade``, S W H Y h a ``status``
(symbol ones only when tracked), and everything that may have cost messages a ``gap``. Records are in message order.
"""
from .layout import Field, Layout, LayoutError

SIZE = 64

#: Cycles from a top of book to its record.
TOP_TO_RECORD = 3
NO_SLOT = 0xFFFF         # `slot` of records that concern the whole feed
LAP_BIT = 1 << 31        # of `number`: the lap bit of the ring, in the record's last byte
NUMBER_MASK = LAP_BIT - 1

#: `kind`. 5 to 8 belong to the order path, 9 to the card.
KINDS = {"top_of_book": 1, "trade": 2, "gap": 3, "status": 4, "intent": 5, "order_sent": 6, "order_rejected": 7, "execution": 8, "heartbeat": 9}
TOP_OF_BOOK, TRADE, GAP, STATUS = (KINDS[k] for k in ("top_of_book", "trade", "gap", "status"))

#: `flags`, bit by bit.
FLAGS = {
    "VALID": (0, "the top of book is the exchange's: symbol not stale, neither side unknown"),
    "BID": (1, "bid_px and bid_qty are there (else the side is empty or unknown)"),
    "ASK": (2, "ask_px and ask_qty are there"),
    "BID_UNKNOWN": (3, "an order outside the ladder could be the best bid"),
    "ASK_UNKNOWN": (4, "an order outside the ladder could be the best ask"),
    "STALE": (5, "the book may differ from the exchange's, until the host has re-armed the symbol"),
    "CROSSED": (6, "best bid above best ask, or at it (locked: bid_px is ask_px); legal outside continuous trading"),
    "SELL": (7, "side of the message's order"),
}
VALID, BID, ASK, BID_UNKNOWN, ASK_UNKNOWN, STALE, CROSSED, SELL = (1 << bit for bit, _ in FLAGS.values())

#: `detail` of a top_of_book record: what was wrong with the message. Anything but 0 makes the symbol stale.
FAULTS = {
    "none": (0, "nothing"),
    "unknown_reference": (1, "D E C X U of an order that the table does not hold"),
    "duplicate_reference": (2, "A F U with the reference of a live order: not added"),
    "overfill": (3, "E C X of more shares than the order has: the order goes"),
    "table_full": (4, "A F U found no room in the order table: not added"),
    "wide_reference": (5, "reference has bits set above those that the order table keeps: not looked up"),
}
(NO_FAULT, UNKNOWN_REFERENCE, DUPLICATE_REFERENCE, OVERFILL, TABLE_FULL, WIDE_REFERENCE) = (code for code, _ in FAULTS.values())

#: `detail` of a top_of_book record whose message was right: what the book came to be in continuous trading, where `publish.stale_when` asks for it.
BOOK_FAULTS = {
    "crossed": (6, "best bid above best ask"),
    "locked": (7, "best bid at best ask"),
}
CROSSED_BOOK, LOCKED_BOOK = (code for code, _ in BOOK_FAULTS.values())

#: `detail` of a gap record.
GAPS = {
    "missing": ("G", "messages first … first + count - 1 never came"),
    "session": ("S", "a new session began; messages first … first + count - 1 of it never came"),
    "frame": ("F", "a frame of the feed had a bad FCS or ended early; first is the next number expected"),
    "length": ("L", "a message block did not fit its datagram: the rest was dropped; first is the next number expected"),
    "message": ("M", "a book message shorter than its type: first is its number"),
}

#: `state`: bits 2:0 trading, 4:3 Reg SHO, 7:5 phase.
TRADING = {"unknown": 0, "T": 1, "Q": 2, "H": 3, "P": 4, "operational_halt": 5}
REG_SHO = {"0": 0, "1": 1, "2": 2}
PHASES = {"none": 0, "O": 1, "S": 2, "Q": 3, "M": 4, "E": 5, "C": 6}

#: Continuous trading: this trading state, no operational halt, and this phase (market hours: before them, orders for the opening cross may cross).
CONTINUOUS_STATE, CONTINUOUS_PHASE = "T", "Q"


def state_of(trading, reg_sho, phase):
    """The ``state`` byte."""
    return trading | reg_sho << 3 | phase << 5


_HEAD = (
    Field("kind", 0, 1, unit="code", doc="what the record is"),
    Field("flags", 1, 1, unit="bits"),
    Field("slot", 2, 2, unit="slot", doc="symbol slot; 0xFFFF: the whole feed"),
    Field("source", 4, 1, unit="number", doc="which net filter took the datagram; 7: no datagram, a command of the host"),
    Field("message", 5, 1, unit="ASCII", doc="type of the ITCH message; 0 in gap records that no message caused"),
    Field("state", 6, 1, unit="bits", doc="trading state 2:0, Reg SHO 4:3, market phase 7:5"),
    Field("detail", 7, 1, unit="code", doc="top_of_book: fault; trade: printable (P: Y) or cross type; gap: reason; status: the code byte of the message"),
    Field("sequence", 8, 8, unit="records", doc="counts every record since reset, dropped ones too"),
    Field("t_wire_ns", 16, 8, unit="ns", doc="card time of the word with the last byte that decides what the message does"),
    Field("t_out_ns", 24, 8, unit="ns", doc="card time at which the record went to the ring"),
)
_TAIL = (
    Field("digest", 56, 4, unit="CRC-32", doc="running hash of the symbol's published book; 0 for the whole feed"),
    Field("number", 60, 4, unit="messages", doc="bits 30:0 the low bits of the message's number in the feed; bit 31 the lap bit"),
)


def _record(name, *body, doc):
    if body[0].offset != 32 or body[-1].end != 56:
        raise LayoutError(f"record {name}: its own fields must fill bytes 32 to 55")
    return Layout(name, SIZE, (*_HEAD, *body, *_TAIL), order="little", code=bytes([KINDS[name]]), doc=doc)


RECORDS = {r.name: r for r in (
    _record("top_of_book",
            Field("bid_px", 32, 4, unit="1e-4 USD"), Field("bid_qty", 36, 4, unit="shares", doc="0xFFFFFFFF: that many or more"),
            Field("ask_px", 40, 4, unit="1e-4 USD"), Field("ask_qty", 44, 4, unit="shares", doc="0xFFFFFFFF: that many or more"),
            Field("order_px", 48, 4, unit="1e-4 USD", doc="price of the message's order; E C X D: 0 when it rests outside the ladder or is not live"),
            Field("order_qty", 52, 4, unit="shares", doc="shares added, taken or (D) left in the order; 0 for an unknown D"),
            doc="The book of a symbol after a book message."),
    _record("trade",
            Field("qty", 32, 8, unit="shares"), Field("px", 40, 4, unit="1e-4 USD"), Field("reserved", 44, 12, "bytes"),
            doc="P, C (at its own price) and Q."),
    _record("gap",
            Field("first", 32, 8, unit="messages"), Field("count", 40, 8, unit="messages"), Field("reserved", 48, 8, "bytes"),
            doc="Messages may have been lost: every symbol is stale from here on."),
    _record("status",
            Field("reserved", 32, 24, "bytes"),
            doc="Trading state, Reg SHO, operational halt, system event, circuit breaker."),
)}

#: Head and tail, the same for every kind.
COMMON = Layout("record", SIZE, (*_HEAD, Field("body", 32, 24, "bytes"), *_TAIL), order="little", doc="What all kinds share.")

#: The digest of a symbol is CRC-32 (IEEE 802.3, as ``zlib.crc32``) over these bytes of each of its top_of_book records, one record after the other.
DIGEST_BYTES = (*range(32, 48), 1, 6)
