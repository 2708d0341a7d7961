"""Where the ``tickgate`` command begins and ends: whatever happens in between ends in one line on standard error and an exit status.

Exit status: 0 when card and twin are equal (or were not to be compared), 1 when they differ, 2 for bad input or output that cannot be written, 70 for an
error of ours, 129, 130 and 143 after a hang-up, Ctrl-C and a request to terminate. The data commands end with 1 when all that is there was used, but
messages are missing. ``TICKGATE_DEBUG=1`` in the environment shows the traceback of any error.
"""
import contextlib
import os
import signal
import sys

# Nothing else is imported before ``main`` has begun: Ctrl-C must find it there.

PROGRAM, COMPLETE = "tickgate", "_TICKGATE_COMPLETE"   # the variable that a shell's completion sets
BAD_INPUT, INTERNAL, SIGNALLED = 2, 70, 128


def main(arguments=None):
    """Run the command; exits with its status."""
    with _signals():
        status = _status(arguments)
        _settle(sys.stderr)
    sys.exit(status)


def _status(arguments):
    """Run the command; what goes wrong becomes a line and a status."""
    try:
        _streams()
        status = _run(arguments) or 0
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            _discard(sys.stdout)
        return status
    except BrokenPipeError:     # who reads our output has seen enough
        _discard(sys.stdout)
        return 0
    except KeyboardInterrupt:
        return _told("interrupted", SIGNALLED + signal.SIGINT)
    except SystemExit as end:   # a signal, see below
        return end.code
    except OSError as error:    # what reads and writes files by name has its own words for it; this is standard output, or the machine
        what = error.filename if isinstance(error.filename, str) else "cannot read or write"
        return _told(f"error: {what}: {(error.strerror or str(error)).lower()}", BAD_INPUT)
    except Exception as error:  # the last resort
        cause = " ".join(f"{type(error).__name__}: {error}".split())
        return _told(f"internal error: {cause}; please report it; TICKGATE_DEBUG=1 shows the traceback", INTERNAL)


def _run(arguments):
    import click

    from tickgate.capture import CaptureError
    from tickgate.card import CardError
    from tickgate.device import DeviceError

    from .cli import cli
    from .errors import InputError

    try:
        if completion := os.environ.get(COMPLETE):
            from click.shell_completion import shell_complete

            return shell_complete(cli, {}, PROGRAM, COMPLETE, completion)
        # not cli.main: that has exit statuses of its own
        with cli.make_context(PROGRAM, list(sys.argv[1:] if arguments is None else arguments)) as context:
            return cli.invoke(context)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as error:
        return _told(f"error: {' '.join(error.format_message().split())}", BAD_INPUT)
    except (InputError, CaptureError, DeviceError, CardError) as error:
        return _told(f"error: {error}", BAD_INPUT)


def _told(line, status):
    """Say how it ended, where there is somebody to read it."""
    if os.environ.get("TICKGATE_DEBUG") and sys.exc_info()[0]:
        import traceback

        with contextlib.suppress(OSError):
            traceback.print_exc()
    _settle(sys.stdout)
    with contextlib.suppress(OSError):
        print(f"tickgate: {line}", file=sys.stderr, flush=True)
    return status


def _settle(stream):
    """Put out what the stream still holds; when it takes nothing, Python must not try again at exit, which would change the status."""
    try:
        stream.flush()
    except (OSError, ValueError, AttributeError):
        _discard(stream)


def _discard(stream):
    """Let what is written to the stream go nowhere from here on."""
    with contextlib.suppress(OSError, ValueError, AttributeError):   # streams without a descriptor have nothing that could fail at exit
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, stream.fileno())
        os.close(sink)


def _streams():
    """Standard streams that can be used: those that are closed read nothing and forget what is written, and a character that the user's encoding does not
    have is written as its code."""
    for name, number, mode in (("stdin", 0, "r"), ("stdout", 1, "w"), ("stderr", 2, "w")):
        stream = getattr(sys, name)
        if stream is None:
            # in its place among the descriptors, or the next file that is opened would be standard output to everything below us
            sink = os.open(os.devnull, os.O_RDWR)
            if sink != number:
                os.dup2(sink, number)
                os.close(sink)
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))
        elif mode == "w" and getattr(stream, "errors", None) == "strict" and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


@contextlib.contextmanager
def _signals():
    """End by the same way as after Ctrl-C, which leaves nothing half-written, when told to terminate or hung up on; the first time is enough."""
    numbers = (signal.SIGTERM, signal.SIGHUP)

    def end(number, _):
        for each in numbers:
            signal.signal(each, signal.SIG_IGN)
        raise SystemExit(SIGNALLED + number)

    try:
        before = {number: signal.getsignal(number) for number in numbers}
        for number, handler in before.items():
            if handler is not signal.SIG_IGN:   # nohup
                signal.signal(number, end)
    except ValueError:   # not the main thread: signals are another one's affair
        before = {}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


if __name__ == "__main__":
    main()
