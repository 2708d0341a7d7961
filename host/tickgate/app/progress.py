"""Progress of a long run on standard error: a bar on a terminal, a line now and then elsewhere."""
import contextlib
import sys
import time

LINE_EVERY = 10.0   # s between the lines where there is no terminal


class Silent:
    """Shows nothing (``--quiet``)."""

    def start(self, total):
        pass

    def advance(self, frames, messages):
        pass

    def note(self, text):
        pass

    def stop(self):
        pass


class Lines(Silent):
    """Plain lines, for a log."""

    def __init__(self, clock=time.monotonic, out=None, unit="frames"):
        self.clock, self.out, self.unit = clock, out or sys.stderr, unit

    def note(self, text):
        with contextlib.suppress(OSError):   # nobody reads it, or there is no room: not worth ending a run for
            print(text, file=self.out, flush=True)

    def start(self, total):
        """``total`` 0: nobody knows."""
        self.total, self.done, self.messages = total, 0, 0
        self.begin = self.last = self.clock()

    def advance(self, frames, messages):
        self.done += frames
        self.messages += messages
        now = self.clock()
        if now - self.last >= LINE_EVERY:
            self.last = now
            spent = now - self.begin
            left = f", {spent * (self.total - self.done) / max(self.done, 1):.0f} s left" if self.total else ""
            of = f" of {self.total:,}" if self.total else ""
            self.note(f"{self.done:,}{of} {self.unit}, {self.messages / spent:,.0f} messages/s{left}")


class Bar(Silent):
    """A bar with rate and time left."""

    def __init__(self, unit="frames"):
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        self.progress = Progress(BarColumn(), TaskProgressColumn(), MofNCompleteColumn(), TextColumn(unit),
                                 TextColumn("{task.fields[rate]}"), TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(),
                                 console=Console(stderr=True), transient=True)

    def note(self, text):
        self.progress.console.print(text, highlight=False, markup=False)

    def start(self, total):
        self.messages, self.begin = 0, time.monotonic()
        self.task = self.progress.add_task("", total=total or None, rate="")
        self.progress.start()

    def advance(self, frames, messages):
        self.messages += messages
        rate = self.messages / max(time.monotonic() - self.begin, 1e-9)
        self.progress.update(self.task, advance=frames, rate=f"{rate:,.0f} messages/s")

    def stop(self):
        self.progress.stop()


def progress(quiet=False, unit="frames"):
    """The progress display that fits standard error: ``start(total)`` and ``advance(done, messages)`` in frames, or in another ``unit``, ``note(line)``,
    ``stop()``."""
    if quiet:
        return Silent()
    return Bar(unit) if sys.stderr.isatty() else Lines(unit=unit)
