"""The ``tickgate`` command line.

Exit status: 0 when card and twin are equal (or were not to be compared), 1 when they differ, 2 for bad input, 130 after Ctrl-C.
Whatever a user can get wrong ends in one line on standard error, ``tickgate: error: …``.
"""
import json
import os
import sys

import click

from tickgate.capture import CaptureError
from tickgate.card import CardError
from tickgate.device import DeviceError
from tickgate.spec.presets import PRESETS

from . import version
from .errors import InputError

BAD_INPUT, INTERRUPTED = 2, 130


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version(), prog_name="tickgate", message="%(prog)s %(version)s")
def cli():
    """Tickgate: market data through gateware, event ring and software twin."""


@cli.command()
@click.argument("capture", type=click.Path())
@click.option("--card", default="virtual", show_default=True, metavar="NAME", help="Device to replay on.")
@click.option("--preset", type=click.Choice(list(PRESETS)), default="demo", show_default=True, help="Size of the core.")
@click.option("--symbols", metavar="NAMES|top:N", help="Symbols to track: AAPL,MSFT or the N with most book messages.  [default: as many as fit]")
@click.option("--group", "groups", multiple=True, metavar="IP:PORT",
              help="Destination to listen to; may be repeated.  [default: those in the capture]")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Stop after N messages.")
@click.option("--spacing", type=click.Choice(["minimum", "capture"]), default="minimum", show_default=True,
              help="Frames back to back, or at their times in the capture.")
@click.option("--check/--no-check", default=True, help="Compare every record with the twin's.  [default: check]")
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
        summary.show(result, Console(highlight=False, markup=False, emoji=False))
    for text in result["differences"]:
        print(f"tickgate: mismatch: {text}", file=sys.stderr)
    return summary.ENDED[result["status"]]


def _depth(book):
    """Levels of a twin's snapshot as (price, shares), best first."""
    return [[(level.price, level.quantity) for level in side] for side in (book.bids, book.asks)]


def main(arguments=None):
    """Run the command; exits with its status."""
    try:
        status = cli.main(args=arguments, prog_name="tickgate", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Exit as e:
        status = e.exit_code
    except click.UsageError as e:
        status = _fail(" ".join(e.format_message().split()))
    except (InputError, CaptureError, DeviceError, CardError) as e:
        status = _fail(e)
    except (KeyboardInterrupt, click.Abort):
        print("tickgate: interrupted", file=sys.stderr)
        status = INTERRUPTED
    except BrokenPipeError:
        # the reader of our output has gone; nothing must be flushed to it at exit either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 0
    sys.exit(status)


def _fail(cause):
    print(f"tickgate: error: {cause}", file=sys.stderr)
    return BAD_INPUT


if __name__ == "__main__":
    main()
