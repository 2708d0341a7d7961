"""``tickgate convert``: market data from one kind of file to another."""
import datetime
import difflib
import fnmatch
import re
import sys

import click

from . import options, version
from .errors import InputError

_DAY = 24 * 3600 * 10 ** 9    # ns
_EVER = 1 << 62               # ns: later than anything


class Day(click.ParamType):
    """``YYYY-MM-DD``."""

    name = "YYYY-MM-DD"

    def convert(self, value, param, ctx):
        try:
            return value if isinstance(value, datetime.date) else datetime.date.fromisoformat(value)
        except ValueError:
            return self.fail(f"{value!r} is no day: YYYY-MM-DD", param, ctx)


@click.command()
@click.argument("inputs", nargs=-1, required=True, metavar="IN...")
@click.argument("output", type=click.Path(), metavar="OUT")
@click.option("--to", "form", metavar="FORMAT", help="pcap, itch, lobster, parquet, arrow, csv, hftbacktest or dbn.  [default: by the name of OUT]")
@options.selecting("messages")
@click.option("--levels", type=click.IntRange(1, 1000), default=10, show_default=True, metavar="N", help="Levels of a LOBSTER orderbook.")
@click.option("--date", type=Day(), help="Day of the session, when names and captures do not tell it.")
@click.option("--json", "as_json", is_flag=True, help="Report as JSON on standard output.")
def convert(inputs, output, form, selection, resync, quiet, levels, date, as_json):
    """Convert IN... (ITCH in pcap, pcapng or BinaryFILE, a LOBSTER message file, DBN MBO) to OUT; either may be -.

    \b
    pcap         .pcap[.gz]     MoldUDP64 packets, times in ns
    itch         .itch[.gz]     Nasdaq BinaryFILE
    lobster      a folder/ or SYMBOL_DAY_START_END_message_N.csv: the pair of one symbol
    parquet      .parquet       a row for each order event, trade and state
    arrow        .arrow         the same as an Arrow IPC file
    csv          .csv[.gz]      the same
    hftbacktest  .npz           event array (L3) of one symbol
    dbn          .dbn[.zst]     Databento's market by order

    Prices stay whole numbers of 1e-4 USD, times whole ns since midnight at the exchange (pcap, hftbacktest and dbn: since 1970, UTC, when the day is
    known). Several inputs are of one day, in order. Orders older than --start shape books, and come as a snapshot in hftbacktest and dbn.

    --limit counts messages read. docs/formats.md says what becomes of each message.
    """
    if as_json and output == "-":
        raise click.UsageError("--json and OUT - both want standard output")
    report = Conversion(inputs, output, form, selection, resync, quiet, levels, date).run()
    for note in report["notes"]:
        print(f"{options.NOTE}{note}", file=sys.stderr)
    if output == "-":
        print(f"{options.NOTE}{report['rows']:,} rows of {report['messages']:,} messages", file=sys.stderr)
    else:
        from .table import show
        show(f"{report['output']}: {report['rows']:,} rows ({report['format']}) of {report['messages']:,} messages", as_json, report)
    return 0 if report["complete"] else 1


class Conversion:
    """One run of ``tickgate convert``; ``run()`` does it and returns the report. Raises ``InputError`` and ``CaptureError``."""

    def __init__(self, inputs, output, form, selection, resync, quiet, levels, date):
        from tickgate import formats
        from tickgate.capture.messages import expand

        self.output, self.selection, self.resync, self.quiet, self.levels, self.date = output, selection, resync, quiet, levels, date
        if form is not None and form not in formats.FORMATS:
            raise InputError(f"--to {form}: must be one of {', '.join(formats.FORMATS)}")
        self.format = formats.FORMATS[form] if form else formats.format_of(output)
        if self.format is None:
            raise InputError("its name does not tell a format: use --to", output)
        missing = self.format.missing()
        if missing:
            raise InputError(f"{self.format.name} needs {' and '.join(missing)}: pip install 'tickgate[{self.format.extra}]'")
        if self.format.name == "lobster" and output == "-":
            raise InputError("LOBSTER is a pair of files: OUT must be a folder/ or the name of its message file")
        self.paths = expand(inputs)
        # of the whole day when not said: DBN sessions may begin the day before, and end the day after
        self.start = selection.start or -_EVER
        self.end = selection.end if selection.end < _DAY else _EVER
        self.names, self.seen, self.read, self.notes, self.complete, self.last = {}, set(), 0, [], True, None
        self._known, self._chosen = -1, None

    # ---- which

    def _locates(self):
        """Locates of the symbols chosen so far, an array; None: all."""
        import numpy as np

        if self.selection.symbols is None:
            return None
        if self._known != len(self.names):
            self._known = len(self.names)
            fits = re.compile("|".join(fnmatch.translate(symbol) for symbol in self.selection.symbols)).match
            self._chosen = np.array(sorted(locate for locate, name in self.names.items() if fits(name.upper())), np.uint32)
        return self._chosen

    def _complain(self):
        """Raise ``InputError`` for a symbol that no message named."""
        there = sorted(self.names.values())
        for symbol in sorted(self.selection.symbols or ()):
            if not any(fnmatch.fnmatchcase(name.upper(), symbol) for name in there):
                near = difflib.get_close_matches(symbol, there, options.NEAR, 0.5)
                raise InputError(f"unknown symbol {symbol}: " + (f"near it are {', '.join(near)}" if near else f"none of {len(there)} is like it"),
                                 self.sources[-1].label)

    def _learn(self, source):
        for locate, name in source.names.items():
            if self.names.setdefault(locate, name) != name:
                raise InputError(f"locate {locate} was {self.names[locate]} in {self.sources[0].label} and is {name}: inputs of different days",
                                 source.label)

    def _one_symbol(self, locates):
        """Raise ``InputError`` when events of several symbols come where a file holds one."""
        self.seen |= set(locates)
        if len(self.seen) > 1:
            some = ", ".join(self.names.get(locate) or str(locate) for locate in sorted(self.seen)[:options.NEAR])
            raise InputError(f"{self.format.name} holds one symbol, and there are {some}: use --symbol")

    # ---- reading

    def _items(self, pieces=False):
        """Yield ``(source, events)`` of all inputs, up to the limit; ``pieces``: those of ITCH as the messages themselves."""
        from tickgate.formats import itch

        from .progress import progress

        for source in self.sources:
            shown, position, before = progress(self.quiet, unit="bytes"), 0, 0
            shown.start(source.size)
            try:
                for item in source.events() if source.knows_orders else source.pieces():
                    self._same_day(source)
                    self._learn(source)
                    count = source.messages - before
                    if self.selection.limit is not None and count > self.selection.limit - self.read:
                        count = self.selection.limit - self.read
                        item = item[:count] if source.knows_orders else item.cut(count)
                    self.read, before = self.read + count, source.messages
                    time = item["time_ns"] if source.knows_orders else item.time
                    if len(item):
                        self._in_order(source, time)
                        yield source, item if pieces or source.knows_orders else itch.decode(item)
                    shown.advance(source.position - position, count)
                    position = source.position
                    if self.selection.limit == self.read or len(item) and time[0] >= self.end:
                        break
                else:
                    self.complete &= source.whole
            finally:
                shown.stop()
            self.notes += [f"{source.label}: {note}" for note in source.notes]
            if self.selection.limit == self.read:
                break

    def _in_order(self, source, time):
        from tickgate.capture.messages import HOUR, clock

        first = int(time[0])
        if self.last is not None and self.last[0] is not source and first < self.last[1] - HOUR:
            raise InputError(f"begins at {clock(first)}, and {self.last[0].label} ends at {clock(self.last[1])}: inputs of different days, or not in order",
                             source.label)
        self.last = source, int(time[-1])

    def _same_day(self, source):
        for other in self.sources:
            if source.date and other.date and source.date != other.date:
                raise InputError(f"is of {source.date}, and {other.label} of {other.date}: inputs of different days", source.label)

    # ---- writing

    def run(self):
        """Convert; returns the report."""
        import contextlib

        from tickgate import formats
        from tickgate.formats.itch import Misfit
        from tickgate.spec.events import SCHEMA_VERSION

        from .outfile import OutFile

        self.sources = [formats.open_source(path, date=self.date, resync=self.resync) for path in self.paths]
        for source in self.sources:
            self._same_day(source)
            self._learn(source)
        paths = self._outputs()
        about = formats.About(self.sources[0], tuple(source.label for source in self.sources), self.names, self.levels, version())
        with contextlib.ExitStack() as stack:
            outs = [stack.enter_context(OutFile(path, self.paths)) for path in paths]
            files = [out.file for out in outs]
            if self.output.endswith(".zst"):
                files = [stack.enter_context(_zstd(files[0]))]
            try:
                writer = self.format.open(files, about)
                getattr(self, f"_write_{self.format.takes}")(writer)
                self._complain()
                writer.close()
            except Misfit as error:
                raise InputError(error) from None
            except OSError as error:
                if isinstance(error, BrokenPipeError):
                    raise
                raise InputError(f"cannot write: {(error.strerror or str(error)).lower()}", self.output) from None
            if files[0] is not outs[0].file:
                files[0].close()
            for out in outs:
                out.commit()
        return {"output": paths[0], "format": self.format.name, "schema": "tickgate.event", "schema_version": SCHEMA_VERSION, "inputs": list(about.inputs),
                "kind": self.sources[0].kind, "date": self.sources[0].date and str(self.sources[0].date), "messages": self.read, "rows": writer.rows,
                "complete": self.complete, "notes": self.notes}

    def _outputs(self):
        """Paths to write."""
        import os

        from tickgate.capture import lobster

        if self.format.name != "lobster":
            return [self.output]
        path, told = self.output, lobster.parts_of(self.output)
        if told is None:
            if not (path.endswith("/") or os.path.isdir(path)):
                raise InputError("a LOBSTER message file is named SYMBOL_DAY_START_END_message_N.csv: give that, or a folder/", path)
            symbols = self.selection.symbols or {name for source in self.sources for name in source.names.values()}
            if len(symbols) != 1:
                raise InputError("lobster holds one symbol: use --symbol")
            ms = 10 ** 6
            path = os.path.join(path, lobster.name_of(next(iter(symbols)), self.sources[0].date, self.selection.start // ms, self.selection.end // ms,
                                                      self.levels))
        elif told[4] == "orderbook":
            raise InputError("is the name of the orderbook: give that of the message file", path)
        else:
            self.levels = told[5]
        return [path, lobster.book_path(path)]

    def _write_messages(self, writer):
        """BinaryFILE and pcap: ITCH messages go over as they are; events become messages."""
        import numpy as np

        from tickgate.formats.itch import Encoder
        from tickgate.formats.orders import Orders

        encoder, orders = Encoder(self.names, directory=True), Orders()
        for source, item in self._items(pieces=True):
            if not source.knows_orders:
                which = self._which(item)
                if which.any():
                    writer.write(item.blocks(None if which.all() else which), item.size[which], item.time[which])
                continue
            item, _ = orders.complete(item[self._ours(item)], as_messages=True)
            item = item[self._inside(item)]
            blocks, index = encoder.encode(item)
            if len(index):
                writer.write(blocks, _sizes(blocks), np.ascontiguousarray(item["time_ns"][index]))
        if encoder.left_out:
            self.notes.append(f"{encoder.left_out} events have no ITCH message: left out")

    def _which(self, piece):
        """bool[n] of a piece: messages of the chosen symbols and times; those of the whole market, and directory entries whatever their time."""
        import numpy as np

        which = (piece.time >= self.start) & (piece.time < self.end)
        locates = self._locates()
        if locates is None:
            return which | (piece.kind == ord("R"))
        its = np.isin(piece.locate, locates)
        return which & (its | (piece.locate == 0)) | its & (piece.kind == ord("R"))

    def _inside(self, events):
        """bool[n] of events: those of the chosen symbols and times."""
        inside = (events["time_ns"] >= self.start) & (events["time_ns"] < self.end)
        return inside & self._ours(events)

    def _ours(self, events):
        import numpy as np

        locates = self._locates()
        return np.ones(len(events), bool) if locates is None else np.isin(events["locate"], locates) | (events["locate"] == 0)

    def _write_events(self, writer):
        """Tables: every event as it is, with what it leaves to its order filled in."""
        from tickgate.formats.orders import Orders

        orders = Orders()
        for source, item in self._items():
            item, left = (item, None) if source.knows_orders else orders.complete(item[self._ours(item)])
            inside = self._inside(item)
            writer.write(item[inside], left)
        self._tell(orders)

    def _write_orders(self, writer):
        """Order by order: replaces split, and at ``--start`` a snapshot of what is there, or rows of books that know it."""
        import numpy as np

        from tickgate.formats.orders import Orders

        orders, begun, is_pair = Orders(), self.start < 0, self.format.name == "lobster"
        for _, item in self._items():
            item = item[self._ours(item)]
            if self.format.one_symbol:
                self._one_symbol(set(item["locate"].tolist()) - {0})
            if not begun:      # what comes before the start first, so that the snapshot is of that moment
                cut = int((item["time_ns"] < self.start).cumprod().sum())
                early, left = orders.complete(item[:cut], split=True, as_messages=is_pair)
                if is_pair:
                    writer.write(early, left, keep=np.zeros(len(early), bool))
                if cut == len(item):
                    continue
                begun, item = True, item[cut:]
                if not is_pair:
                    snapshot = orders.snapshot(self.start, {key[0] for key in orders.live})
                    writer.write(snapshot, snapshot["quantity"])
            item, left = orders.complete(item, split=True, as_messages=is_pair)
            inside = self._inside(item)
            writer.write(item[inside], left[inside])
        self._tell(orders)

    def _tell(self, orders):
        for fault, count in sorted(orders.faults.items()):
            self.notes.append(f"{count} events with {fault.replace('_', ' ')}")


def _sizes(blocks):
    """Sizes of message blocks, without their lengths."""
    import numpy as np

    raw, at, out = blocks.tobytes(), 0, []
    while at < len(raw):
        out.append(raw[at] << 8 | raw[at + 1])
        at += 2 + out[-1]
    return np.array(out, np.int64)


def _zstd(file):
    try:
        import zstandard
    except ImportError:
        raise InputError("zstd needs zstandard: pip install 'tickgate[dbn]'") from None
    return zstandard.ZstdCompressor().stream_writer(file, closefd=False)
