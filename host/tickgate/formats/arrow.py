"""Events as Arrow tables: Parquet and Arrow IPC files. Integers stay integers; each column's unit and the metadata of ``About`` are in the schema."""
import numpy as np
import pyarrow as pa
import pyarrow.parquet

from tickgate.spec.events import EVENT

from .csv import COLUMNS, LETTERS

ROWS = 1 << 17     # of a row group
_TEXTS = pa.array(["" if code in (0, 32) else chr(code) for code in range(256)])


def schema(metadata):
    """The schema of a table of events."""
    def field(name):
        doc = {"unit": EVENT[name].unit, "doc": EVENT[name].doc} if name in EVENT.field else {"unit": "", "doc": "name of locate"}
        kind = pa.string() if name in (*LETTERS, "attribution", "symbol") else pa.from_numpy_dtype(EVENT.dtype[name])
        return pa.field(name, kind, nullable=False, metadata={k: v for k, v in doc.items() if v})

    return pa.schema([field(name) for name in COLUMNS], metadata=metadata)


class _Table:
    def __init__(self, file, about):
        self.about, self.rows, self.schema, self._waiting, self._count = about, 0, schema(about.metadata), [], 0
        self.writer = self._open(file)

    def write(self, events, left):
        self._waiting.append(events)
        self._count += len(events)
        if self._count >= ROWS:
            self._flush()

    def _flush(self):
        if not self._count:
            return
        events = np.concatenate(self._waiting)
        names = self.about.names
        known, place = np.unique(events["locate"], return_inverse=True)
        symbols = pa.array([names.get(locate, "") for locate in known.tolist()], pa.string())
        columns = []
        for name in EVENT.dtype.names:
            values = np.ascontiguousarray(events[name])
            if name in LETTERS:
                columns.append(_TEXTS.take(pa.array(values)))
            elif values.dtype.kind == "S":
                columns.append(pa.array(np.char.strip(values.astype(str)).tolist(), pa.string()))
            else:
                columns.append(pa.array(values))
        columns.append(symbols.take(pa.array(place.reshape(-1))))
        self.writer.write_table(pa.Table.from_arrays(columns, schema=self.schema))
        self.rows += len(events)
        self._waiting, self._count = [], 0

    def close(self):
        self._flush()
        self.writer.close()


class Parquet(_Table):
    """A Parquet file, zstd-compressed."""

    def _open(self, file):
        return pyarrow.parquet.ParquetWriter(file, self.schema, compression="zstd")


class Arrow(_Table):
    """An Arrow IPC file."""

    def _open(self, file):
        return pa.ipc.new_file(file, self.schema)
