"""Rows out: as CSV text, or as Parquet where pyarrow is there. Integers stay integers."""
import gzip
import sys
from typing import NamedTuple

import click
import numpy as np

from tickgate.formats.text import NULL, csv

from . import version
from .errors import InputError
from .outputs import Output

SCHEMA = 1                # version of all tables of the data commands
ROWS = 1 << 16            # rows of a block
PARQUET_NEEDS = "pyarrow"
CODE = 0                  # texts 0 to 255: that character; from SYMBOL on: symbols by locate; from FILE on: files by number
SYMBOL = 256
FILE = SYMBOL + (1 << 16)


class Column(NamedTuple):
    """A column: ``places`` is the number of decimals that its integers have, or ``TEXT`` when they are numbers of texts."""

    name: str
    unit: str
    places: int = 0


TEXT = -1


def decimal(values, places):
    """Floating-point values as integers with ``places`` decimals; what is not finite, or too large for that, as ``NULL``."""
    values = np.asarray(values, np.float64)
    fits = np.isfinite(values) & (np.abs(values) < 2.0 ** 62 / 10 ** places)
    return np.where(fits, np.rint(np.where(fits, values, 0) * 10 ** places).astype(np.int64), NULL)


class Table:
    """A table being written to ``path``: ``-`` standard output, else a name that ends in .csv, .csv.gz or .parquet. A context: what is not committed
    when it ends is gone. ``inputs``: paths of what it is made from; when there are several, the first column says which.

    Raises ``InputError`` for other names, and for Parquet without pyarrow.
    """

    def __init__(self, path, columns, inputs):
        self.many, self.rows, self.output, self.named = len(inputs) > 1, 0, None, (None, 0)
        columns = [Column("file", "", TEXT), *columns] if self.many else list(columns)
        self.texts = np.zeros((FILE, 8), np.uint8)
        self.texts[:256, 0] = np.arange(256)
        self.lengths = np.zeros(FILE, np.int64)
        self.lengths[33:127] = 1
        self.places = np.array([column.places for column in columns], np.int64)
        kind = _kind(path)
        if path != "-":
            from .outputs import Outputs
            for one in inputs:
                Outputs(one, rows=path).__exit__()        # says what is wrong with the name
            self.output = Output(path)
        self.file = self.output.file.buffer if self.output else sys.stdout.buffer
        try:
            if kind == "parquet":
                self.writer = _Parquet(self.file, columns, " ".join(inputs))
            else:
                self.writer = _Csv(gzip.GzipFile(fileobj=self.file, mode="wb", mtime=0) if kind == "gz" else self.file, columns, kind == "gz")
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.output:
            self.output.discard()

    def take(self, source, columns, which=None, limit=None):
        """Rows from ``source``, an ``Input``: a column of integers for each, or one for all rows; only those that ``which`` (bool[n]) names.
        Returns True when there are ``limit`` rows now, which are never exceeded."""
        names = source.names
        if self.named[:1] != (source,):
            self.file_text = self._name_file(source.label)
        if self.named != (source, names.version):
            raw = np.ascontiguousarray(names.name).view(np.uint8).reshape(-1, names.name.itemsize)
            self.texts[SYMBOL:FILE, :raw.shape[1]] = raw
            self.lengths[SYMBOL:FILE] = (raw != 0).sum(axis=1)
            self.named = source, names.version
        if self.many:
            columns = (self.file_text, *columns)
        count = next(len(c) for c in columns if np.ndim(c))
        columns = [np.broadcast_to(np.asarray(c), count) for c in columns]
        if which is not None:
            columns = [c[which] for c in columns]
        count = len(columns[0]) if limit is None else min(len(columns[0]), limit - self.rows)
        for begin in range(0, count, ROWS):
            values = np.stack([c[begin:min(begin + ROWS, count)].astype(np.int64) for c in columns], axis=1)
            self.writer.write(values, self.places, self.texts, self.lengths)
            self.rows += len(values)
        return self.rows == limit

    def _name_file(self, name):
        """One more file. Returns the number of its text."""
        raw = bytes(c if c not in b'",\n\r' else ord("?") for c in name.encode(errors="replace"))
        if len(raw) > self.texts.shape[1]:
            self.texts = np.pad(self.texts, ((0, 0), (0, len(raw) - self.texts.shape[1])))
        line = np.zeros((1, self.texts.shape[1]), np.uint8)
        line[0, :len(raw)] = np.frombuffer(raw, np.uint8)
        self.texts, self.lengths = np.concatenate([self.texts, line]), np.append(self.lengths, len(raw))
        return len(self.lengths) - 1

    def commit(self):
        """All rows are there: give the file its name."""
        self.writer.close()
        if self.output:
            self.output.commit("")
        else:
            self.file.flush()


def _kind(path):
    if path == "-" or path.endswith(".csv"):
        return "csv"
    if path.endswith(".csv.gz"):
        return "gz"
    if path.endswith(".parquet"):
        try:
            __import__(PARQUET_NEEDS)
        except ImportError:
            raise InputError(f"Parquet needs {PARQUET_NEEDS}: pip install 'tickgate[parquet]'", path) from None
        return "parquet"
    import os
    if os.path.exists(path) and not os.path.isfile(path):      # a pipe, /dev/null
        return "csv"
    raise InputError("rows are written as .csv, .csv.gz or .parquet", path)


class _Csv:
    def __init__(self, file, columns, is_ours):
        self.file, self.is_ours = file, is_ours
        file.write((",".join(c.name for c in columns) + "\n").encode())

    def write(self, values, places, texts, lengths):
        width = int(lengths.max()) if (places == TEXT).any() else 0
        out = np.empty(len(values) * len(places) * max(width + 1, 22), np.uint8)
        self.file.write(out[:csv(values, places, texts, lengths, out)].data)

    def close(self):
        if self.is_ours:
            self.file.close()


class _Parquet:
    """Integers as int64, decimals as float64, texts as dictionaries. The schema carries its version, the source and the unit of each column."""

    def __init__(self, file, columns, source):
        import pyarrow
        from pyarrow import parquet

        self.arrow, self.columns = pyarrow, columns
        kinds = {TEXT: pyarrow.string(), 0: pyarrow.int64()}
        self.schema = pyarrow.schema([pyarrow.field(c.name, kinds.get(c.places, pyarrow.float64()), metadata={"unit": c.unit}) for c in columns],
                                     metadata={"tickgate_schema": str(SCHEMA), "tickgate_version": version(), "source": source})
        self.file = parquet.ParquetWriter(file, self.schema)

    def write(self, values, places, texts, lengths):
        arrays = []
        for k, column in enumerate(self.columns):
            its, absent = values[:, k], values[:, k] == NULL
            if column.places == TEXT:
                used, place = np.unique(np.where(absent, 0, its), return_inverse=True)
                words = np.array([texts[t, :lengths[t]].tobytes().decode() for t in used.tolist()], object)
                arrays.append(self.arrow.array(words[place], self.arrow.string(), mask=absent))
            elif column.places:
                arrays.append(self.arrow.array(its / 10 ** column.places, self.arrow.float64(), mask=absent))
            else:
                arrays.append(self.arrow.array(its, self.arrow.int64(), mask=absent))
        self.file.write_batch(self.arrow.record_batch(arrays, schema=self.schema))

    def close(self):
        self.file.close()


def show(text, as_json, report):
    """A report on standard output: as JSON, or the text."""
    import json

    click.echo(json.dumps(report, indent=1) if as_json else text)
