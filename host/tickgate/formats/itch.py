"""ITCH messages as events, and events as ITCH messages: one table says which field is which."""
import numpy as np

from tickgate.spec import itch50, moldudp64
from tickgate.spec.events import EVENT, LAST

PREFIX = moldudp64.BLOCK.size
LOCATES = 1 << 16
_TIME = itch50.BY_CODE[b"S"]["timestamp"]
_PRICE_LIMIT = _SHARE_LIMIT = 1 << 32

#: Types that are events: their action, and the field of an event that each of their own fields is.
FIELDS = {
    b"A": ("A", {"order_ref": "reference", "side": "side", "shares": "quantity", "price": "price"}),
    b"F": ("A", {"order_ref": "reference", "side": "side", "shares": "quantity", "price": "price", "attribution": "attribution"}),
    b"E": ("E", {"order_ref": "reference", "executed_shares": "quantity", "match_number": "match"}),
    b"C": ("C", {"order_ref": "reference", "executed_shares": "quantity", "match_number": "match", "printable": "detail",
                 "execution_price": "trade_price"}),
    b"X": ("X", {"order_ref": "reference", "cancelled_shares": "quantity"}),
    b"D": ("D", {"order_ref": "reference"}),
    b"U": ("U", {"original_order_ref": "reference", "new_order_ref": "new_reference", "shares": "quantity", "price": "price"}),
    b"P": ("P", {"order_ref": "reference", "side": "side", "shares": "quantity", "price": "price", "match_number": "match"}),
    b"Q": ("Q", {"shares": "quantity", "cross_price": "price", "match_number": "match", "cross_type": "detail"}),
    b"B": ("B", {"match_number": "match"}),
    b"H": ("H", {"trading_state": "detail"}),
    b"S": ("S", {"event_code": "detail"}),
}
_LETTERS = ("side", "detail")     # of an event: bytes as numbers
_TRADES = b"PQ"                   # their price is that of the trade, too
#: Messages of an event by its action; F is an A with attribution; M, R, F and N have none.
_CODES = {action: code for code, (action, _) in FIELDS.items() if code != b"F"}
_IS_EVENT = np.isin(np.arange(256), [code[0] for code in FIELDS])
_SIZES = np.array([getattr(itch50.BY_CODE.get(bytes([code])), "size", 0) for code in range(256)])


def decode(piece):
    """The events among the messages of a piece (``tickgate.capture.messages.Piece``), an array of ``EVENT``; the others are no events."""
    chosen = np.flatnonzero(_IS_EVENT[piece.kind] & (piece.size >= _SIZES[piece.kind]))
    out = np.zeros(len(chosen), EVENT.dtype)
    kind = piece.kind[chosen]
    out["time_ns"], out["locate"] = piece.time[chosen], piece.locate[chosen]
    out["sequence"] = np.uint64(piece.first) + chosen.astype(np.uint64)
    out["side"], out["flags"] = ord(" "), LAST
    if piece.parts:
        out["receive_ns"] = np.repeat([part.time for part in piece.parts], [part.count for part in piece.parts])[chosen]
    for code, (action, fields) in FIELDS.items():
        places = np.flatnonzero(kind == code[0])
        if not len(places):
            continue
        message = itch50.BY_CODE[code]
        start = piece.at[chosen[places]] + PREFIX
        rows = piece.data[start[:, None] + np.arange(message.size)].view(message.dtype).reshape(len(places))
        out["action"][places] = ord(action)
        for theirs, ours in fields.items():
            out[ours][places] = rows[theirs].view(np.uint8) if ours in _LETTERS else rows[theirs]
        if code in _TRADES:
            out["trade_price"][places] = out["price"][places]
    return out


class Misfit(ValueError):
    """An event that no ITCH message can say; ``str()`` is one line."""


class Encoder:
    """Events as ITCH messages. ``names``: symbols by locate; locates above 16 bits get small ones, in order of appearance.

    ``left_out``: events that have no message. ``directory``: whether each symbol's R comes before its first message.
    """

    def __init__(self, names, directory=False):
        self.names, self.directory, self.left_out = names, directory, 0
        self._locates, self._stocks, self._listed = {0: 0}, np.zeros(LOCATES, "S8"), set()

    def encode(self, events):
        """``(blocks, index)``: message blocks as uint8, and of which event each message is. Raises ``Misfit``."""
        locates = self._small(events)
        actions, marked = events["action"], events["attribution"] != b""
        codes = np.zeros((len(events), 2), np.uint8)              # room for an R before it
        for action, code in _CODES.items():
            codes[actions == ord(action), 1] = code[0]
        codes[(actions == ord("A")) & marked, 1] = ord("F")
        codes[:, 0] = self._directory(locates)
        index, column = np.nonzero(codes)
        self.left_out += int((codes[:, 1] == 0).sum())
        code = codes[index, column]
        size = _SIZES[code] + PREFIX
        at = np.cumsum(size) - size
        blocks = np.zeros(int(size.sum()), np.uint8)
        for one in np.unique(code).tolist():
            places = code == one
            its = events[index[places]]
            rows = self._rows(itch50.BY_CODE[bytes([one])], its, locates[index[places]])
            blocks[at[places][:, None] + np.arange(rows.shape[1])] = rows
        return blocks, index

    def _rows(self, message, events, locates):
        rows = np.zeros(len(events), message.dtype)
        for field in message.fields:
            if field.kind == "alpha" and field.size == 1:
                rows[field.name] = b" "
        rows["type"], rows["stock_locate"] = message.code, locates
        for theirs, ours in FIELDS.get(message.code, ("", {}))[1].items():
            values = events[ours]
            if theirs in ("price", "cross_price", "execution_price"):
                self._must(events, (values < 0) | (values >= _PRICE_LIMIT) | (events["price_rest"] != 0), "price")
            elif message[theirs].size == 4 and message[theirs].kind == "uint":
                self._must(events, values >= _SHARE_LIMIT, "quantity")
            if ours in _LETTERS:
                values = np.ascontiguousarray(values).view("S1")
            elif message[theirs].kind == "alpha":
                values = np.char.ljust(values, message[theirs].size)
            rows[theirs] = values
        if "stock" in message.field:
            rows["stock"] = self._stocks[locates]
        self._must(events, (events["time_ns"] < 0) | (events["time_ns"] >= 1 << 8 * _TIME.size), "time_ns")
        raw = np.ascontiguousarray(rows).view(np.uint8).reshape(len(rows), message.size)
        stamp = events["time_ns"].astype(">u8").view(np.uint8).reshape(-1, 8)
        raw[:, _TIME.offset:_TIME.end] = stamp[:, 8 - _TIME.size:]
        length = np.full((len(rows), 1), message.size, ">u2").view(np.uint8)
        return np.concatenate([length, raw], axis=1)

    @staticmethod
    def _must(events, wrong, name):
        if wrong.any():
            event = events[int(wrong.argmax())]
            value = f"{event['price']} and {event['price_rest']}e-9" if name == "price" else event[name]
            raise Misfit(f"message {event['sequence']}, {name} {value}: does not fit ITCH")

    def _small(self, events):
        """Locates that fit ITCH."""
        known, place = np.unique(events["locate"], return_inverse=True)
        for locate in known.tolist():
            if locate not in self._locates:
                small = locate if locate < LOCATES and known[-1] < LOCATES else len(self._locates)
                if small >= LOCATES:
                    raise Misfit(f"more than {LOCATES - 1} instruments do not fit ITCH")
                self._locates[locate] = small
                self._stocks[small] = self.names.get(locate, "").encode("latin-1", "replace")[:8].ljust(8)
        return np.array([self._locates[locate] for locate in known.tolist()], np.int64)[place] if len(known) else np.zeros(0, np.int64)

    def _directory(self, locates):
        """``R`` where a locate with a name comes for the first time."""
        out = np.zeros(len(locates), np.uint8)
        if self.directory:
            found, first = np.unique(locates, return_index=True)
            for locate, k in zip(found.tolist(), first.tolist()):
                if locate and locate not in self._listed:
                    self._listed.add(locate)
                    out[k] = ord("R")
        return out
