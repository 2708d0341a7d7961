"""Events as CSV: a header line, whole numbers, letters; the symbol in the last column."""
import numpy as np

from tickgate.spec.events import EVENT

from . import text as lines

LETTERS = ("action", "side", "detail")
#: Columns of a table of events.
COLUMNS = (*EVENT.dtype.names, "symbol")
_NUMBER, _TEXT = 0, -1       # kinds of a column
_DIGITS = 20                 # of the longest number, with its sign
_INT64 = 1 << 63


class Csv:
    def __init__(self, file, about):
        self.file, self.about, self.rows = file, about, 0
        file.write((",".join(COLUMNS) + "\n").encode())

    def write(self, events, left):
        if not len(events):
            return
        columns, places, texts = [], [], [b"" if code in (0, 32) else bytes([code]) for code in range(256)]
        for name in EVENT.dtype.names:
            values, place = events[name], _TEXT if name in LETTERS else _NUMBER
            if values.dtype.kind == "S":
                values, place = _numbered(values, lambda one: one.strip(), texts), _TEXT
            elif values.dtype == np.uint64 and values.max() >= _INT64:
                values, place = _numbered(values, lambda one: str(one).encode(), texts), _TEXT
            columns.append(values)
            places.append(place)
        names = self.about.names
        columns.append(_numbered(events["locate"], lambda locate: names.get(locate, "").encode(), texts))
        table = np.stack([column.astype(np.int64) for column in columns], axis=1)
        width = max(map(len, texts))
        raw = np.zeros((len(texts), width), np.uint8)
        lengths = np.array([len(text) for text in texts], np.int64)
        for row, text in zip(raw, texts):
            row[:len(text)] = list(text)
        out = np.empty(len(events) * len(COLUMNS) * (max(width, _DIGITS) + 1), np.uint8)
        size = lines.csv(table, np.array([*places, _TEXT], np.int64), raw, lengths, out)
        self.file.write(out[:size].data)
        self.rows += len(events)

    def close(self):
        """Nothing follows the last row."""


def _numbered(values, text, texts):
    """Values as numbers of their texts, which are added to ``texts``."""
    known, place = np.unique(values, return_inverse=True)
    first = len(texts)
    texts += [text(one) for one in known.tolist()]
    return place.reshape(-1) + first
