"""The commands of ``tickgate``: ``replay``, and the data commands in modules of their own."""
import contextlib
import importlib
import json
import sys

import click

from tickgate.spec.presets import PRESETS

from . import version
from .errors import InputError

#: Commands in modules of their own, imported when they are asked for: the name, its module and what it is called there.
DATA_COMMANDS = {
    "count": ("count", "count"),
    "filter": ("filter", "filter_"),
    "bbo": ("bbo", "bbo"),
    "book": ("book", "book"),
    "trades": ("trades", "trades"),
    "signals": ("signals", "signals"),
    "gen": ("gen", "gen"),
    "convert": ("convert", "convert"),
    "exchange": ("exchange", "exchange"),
}


class Commands(click.Group):
    """A group that imports ``DATA_COMMANDS`` late."""

    def list_commands(self, ctx):
        return [*super().list_commands(ctx), *DATA_COMMANDS]

    def get_command(self, ctx, name):
        if name not in DATA_COMMANDS:
            return super().get_command(ctx, name)
        module, attribute = DATA_COMMANDS[name]
        return getattr(importlib.import_module(f"{__package__}.{module}"), attribute)


@click.group(cls=Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version(), prog_name="tickgate", message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx):
    """Tickgate: market data through gateware, event ring and software twin."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@cli.command()
@click.argument("capture", type=click.Path())
@click.option("--card", default="virtual", show_default=True, metavar="NAME", help="Device to replay on.")
@click.option("--preset", type=click.Choice(list(PRESETS)), default="demo", show_default=True, help="Size of the core.")
@click.option("--symbols", metavar="NAMES|top:N", help="Symbols to track: AAPL,MSFT or the N with most book messages.  [default: as many as fit]")
@click.option("--group", "groups", multiple=True, metavar="IP:PORT",
              help="Destination to listen to; may be repeated.  [default: those in the capture]")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Stop after N messages.")
@click.option("--spacing", type=click.Choice(["minimum", "capture"]),
              help="Frames back to back, or at their times in the capture.  [default: minimum; with 8 lanes capture]")
@click.option("--check/--no-check", default=True, help="Compare every record with the twin's.  [default: check]")
@click.option("--recentre", is_flag=True, help="Move the ladder of a symbol whose prices come near its edge, while frames go on.")
@click.option("--json", "json_path", type=click.Path(), metavar="FILE", help="Write the summary as JSON.")
@click.option("--report", "report_path", type=click.Path(), metavar="FILE", help="Write an HTML page with plots.")
@click.option("--quiet", is_flag=True, help="No progress and no summary; a difference is still told.")
def replay(json_path, report_path, quiet, **job):
    """Replay CAPTURE (pcap, pcapng or BinaryFILE ITCH) through a card and compare what it publishes with the twin."""
    from tickgate.device import open_device

    from . import summary
    from .outputs import Outputs
    from .progress import progress
    from .replay import Job, play, prepare

    series = None
    if report_path:
        from tickgate.report import page
        if page.missing():
            raise InputError(f"--report needs {' and '.join(page.missing())}: pip install 'tickgate[report]'")
        from tickgate.report.series import Series
        series = Series()
    job = Job(**job)
    with Outputs(job.capture, json=json_path, report=report_path) as outputs:
        plan = prepare(job)
        with plan.timed("card"):
            device = open_device(job.card if ":" in job.card else f"{job.card}:{job.preset}")
        with device:
            result, golden = play(plan, device, progress(quiet), series)
        texts = {"json": lambda: json.dumps(result, indent=1) + "\n"}
        if series:
            books = {slot: _depth(golden.book(slot)) for slot in golden.slots} if golden else {}
            texts["report"] = lambda: page.page(result, series, books)
        written = {name: text() for name, text in texts.items() if name in outputs}
        for name, text in written.items():
            outputs[name].commit(text)
    if not quiet:
        from rich.console import Console
        console = Console(highlight=False, markup=False, emoji=False)
        with console.capture() as shown:   # written by us, since rich has its own ways when that fails
            summary.show(result, console)
            if written:
                console.print(f"wrote {' and '.join(filter(None, (json_path, report_path)))}")
        with contextlib.suppress(BrokenPipeError):   # the status counts all the same
            sys.stdout.write(shown.get())
    for text in result["differences"]:
        with contextlib.suppress(OSError):
            print(f"tickgate: mismatch: {text}", file=sys.stderr)
    return summary.ENDED[result["status"]]


def _depth(book):
    """Levels of a twin's snapshot as (price, shares), best first."""
    return [[(level.price, level.quantity) for level in side] for side in (book.bids, book.asks)]
