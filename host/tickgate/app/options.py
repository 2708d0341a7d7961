"""What the data commands have in common: arguments, times, symbols, progress, how they end."""
import difflib
import fnmatch
import functools
import re
import sys
import time as clock
from typing import NamedTuple

import click

NOTE = "tickgate: "
NEAR = 5          # symbols shown for one that is not there
_SECOND = 10 ** 9
_DAY = 24 * 3600 * _SECOND
_TIME = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?")
_SPAN = re.compile(r"(\d+)(ns|us|ms|s|m|min|h)")
_UNITS = {"ns": 1, "us": 10 ** 3, "ms": 10 ** 6, "s": _SECOND, "m": 60 * _SECOND, "min": 60 * _SECOND, "h": 3600 * _SECOND}


class Time(click.ParamType):
    """``HH:MM[:SS[.fffffffff]]`` of the session's day, as ns since midnight."""

    name = "HH:MM:SS"

    def convert(self, value, param, ctx):
        if isinstance(value, int):
            return value
        match = _TIME.fullmatch(value)
        if match:
            hours, minutes, seconds, fraction = match.groups()
            if int(hours) <= 24 and int(minutes) < 60 and int(seconds or 0) < 60:
                ns = (int(hours) * 3600 + int(minutes) * 60 + int(seconds or 0)) * _SECOND + int((fraction or "").ljust(9, "0"))
                if ns <= _DAY:
                    return ns
        return self.fail(f"{value!r} is no time of day: HH:MM:SS, with up to nine decimals", param, ctx)


class Span(click.ParamType):
    """A span of time such as ``250ms``, ``1s``, ``5min``, in ns; words in ``others`` stay as they are."""

    name = "SPAN"

    def __init__(self, *others):
        self.others = others

    def convert(self, value, param, ctx):
        if value in self.others or isinstance(value, int):
            return value
        match = _SPAN.fullmatch(value)
        if not match or not int(match[1]):
            words = "".join(f"{word}, " for word in self.others)
            return self.fail(f"{value!r} must be {words}or a span above 0 such as 250ms, 1s, 5min", param, ctx)
        return int(match[1]) * _UNITS[match[2]]


class Selection(NamedTuple):
    """``symbols``: names, or None for all; times in ns since midnight, ``start`` included, ``end`` not; ``limit``: how many, or None."""

    symbols: frozenset | None
    start: int
    end: int
    limit: int | None

    @property
    def is_all(self):
        """Whether nothing is left out, save by the limit."""
        return self.symbols is None and self.start == 0 and self.end == _DAY

    def locates(self, names):
        """bool[locates]: those of the symbols, which may be patterns such as ``A*``; all when none were named."""
        import numpy as np

        chosen = np.zeros(len(names.name), bool)
        for symbol in self.symbols or ():
            if _is_pattern(symbol):
                fits = re.compile(fnmatch.translate(symbol)).match
                chosen |= np.fromiter((fits(name.decode()) is not None for name in names.name.tolist()), bool, len(chosen)) & names.known
            else:
                chosen |= (names.name == symbol.encode()) & names.known
        return chosen if self.symbols is not None else ~chosen

    def complain(self, run):
        """Raise ``InputError`` for a symbol that no message of any file named."""
        from .errors import InputError

        where = run.paths[0] if len(run.paths) == 1 else None
        for symbol in sorted(self.symbols or ()):
            if _is_pattern(symbol) and not fnmatch.filter(run.symbols, symbol):
                raise InputError(f"no symbol is like {symbol}", where)
            if not _is_pattern(symbol) and symbol not in run.symbols:
                there = sorted(run.symbols)
                near = [name for name in there if name.startswith(symbol)][:NEAR] or difflib.get_close_matches(symbol, there, NEAR, 0.5)
                like = f"near it are {', '.join(near)}" if near else f"none of {len(there)} is like it"
                raise InputError(f"unknown symbol {symbol}: {like}", where)


def _is_pattern(symbol):
    return not {"*", "?", "["}.isdisjoint(symbol)


def _symbols(ctx, param, values):
    names = [name.strip().upper() for value in values for name in value.split(",")]
    if not all(names):
        raise click.BadParameter(f"no symbol named in {','.join(values)!r}", ctx, param)
    return frozenset(names) or None


def selecting(counted):
    """Options ``--symbol --start --end --limit --resync --quiet``; the command gets ``selection``, ``resync`` and ``quiet``. ``counted``: what the limit
    counts."""
    def decorate(command):
        @click.option("--symbol", "symbols", multiple=True, metavar="NAMES", callback=_symbols, help="Only these: AAPL,MSFT or 'A*'; may be repeated.")
        @click.option("--start", type=Time(), default=0, metavar="TIME", help="Not before HH:MM:SS[.fffffffff] of the session's day.")
        @click.option("--end", type=Time(), default=_DAY, metavar="TIME", help="Not at or after HH:MM:SS[.fffffffff].")
        @click.option("--limit", type=click.IntRange(min=1), metavar="N", help=f"Stop after N {counted}.")
        @click.option("--resync", is_flag=True, help="Where a BinaryFILE makes no sense, go on at the next messages that do.")
        @click.option("--quiet", is_flag=True, help="No progress on standard error.")
        @functools.wraps(command)
        def wrapped(*args, symbols, start, end, limit, **kwargs):
            if start >= end:
                raise click.UsageError("--start must be before --end")
            return command(*args, selection=Selection(symbols, start, end, limit), **kwargs)

        return wrapped
    return decorate


files = click.argument("files", nargs=-1, required=True, metavar="FILE...")


def output(command):
    """Options ``-o`` and ``--json`` of a command that makes rows; it gets ``path`` and ``as_json``, and ends with ``Run.ended``."""
    @click.option("-o", "--output", "path", type=click.Path(), default="-", metavar="FILE",
                  help="Write the rows there: .csv, .csv.gz or .parquet.  [default: CSV to standard output]")
    @click.option("--json", "as_json", is_flag=True, help="With -o FILE: report as JSON on standard output.")
    @functools.wraps(command)
    def wrapped(*args, path, as_json, **kwargs):
        if as_json and path == "-":
            raise click.UsageError("--json and -o - both want standard output")
        return command(*args, path=path, as_json=as_json, **kwargs)

    return wrapped


class Run:
    """Inputs one after the other with progress and notes: iterate over it for ``(input, pieces)``; then ``status`` is 0, or 1 when something was missing."""

    def __init__(self, patterns, resync, quiet):
        from tickgate.capture.messages import expand

        self.paths, self.resync, self.quiet = expand(patterns), resync, quiet
        self.status, self.messages, self.notes, self.symbols, self.begin = 0, 0, [], set(), clock.monotonic()
        self.is_stopped = False

    def __iter__(self):
        from tickgate.capture.messages import Input

        for path in self.paths:
            if self.is_stopped:
                return
            source = Input(path, self.resync)
            pieces = self._shown(source)
            try:
                yield source, pieces
            finally:      # also when nothing more is asked for
                pieces.close()
                self.messages += source.messages
            self.symbols |= {name.decode() for name in source.names.name[source.names.known].tolist()}
            if not source.whole:
                self.status = 1
            self.notes += [f"{source.label}: {note}" for note in source.notes]
            for note in source.notes:
                print(f"{NOTE}{source.label}: {note}", file=sys.stderr)

    def ended(self, table, path, as_json):
        """All rows are in ``table``: report them if that is wanted. Returns the exit status."""
        if as_json:
            from .table import show
            show("", True, {"output": path, "rows": table.rows, "messages": self.messages, "files": self.paths, "complete": self.status == 0,
                            "notes": self.notes})
        return self.status

    def stop(self):
        """No further input."""
        self.is_stopped = True

    @property
    def seconds(self):
        return clock.monotonic() - self.begin

    def _shown(self, source):
        from .progress import progress

        shown, position = progress(self.quiet, unit="bytes"), 0
        shown.start(source.size)
        try:
            for piece in source.pieces():
                yield piece
                shown.advance(source.position - position, len(piece))
                position = source.position
        finally:
            shown.stop()
