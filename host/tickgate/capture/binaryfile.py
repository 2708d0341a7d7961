"""Nasdaq's BinaryFILE: messages one after the other, each behind its length. It is read as the MoldUDP64 packets that would carry it.

A message block of a packet looks like one of the file, so a packet's blocks are a piece of the file as it is.
Source: Nasdaq BinaryFILE 1.00; a length of 0 ends the session.
"""
import numpy as np

from ..spec import itch50, moldudp64
from . import packing as _packing
from .errors import CaptureError

KIND = "BinaryFILE ITCH"
PREFIX = moldudp64.BLOCK.size
#: Messages that are not exactly as their type's table says are believed when a good one, or the end of the file, follows within so many.
LOOK = 8
_VIEW = LOOK * (PREFIX + _packing.MAXIMUM_MESSAGE) + PREFIX + 1

#: Size of a message by its type byte; 0: unknown type.
SIZES = [itch50.BY_CODE[bytes([code])].size if bytes([code]) in itch50.BY_CODE else 0 for code in range(256)]
_TIMESTAMP = itch50.BY_CODE[b"S"]["timestamp"]   # the same in all types


def recognises(data):
    """The first message has a known type and exactly its size."""
    return len(data) > PREFIX and int.from_bytes(data[:PREFIX], "big") == SIZES[data[PREFIX]] != 0


def why_not(data):
    """What is wrong with a file that is almost one, or None."""
    if data == bytes(PREFIX):
        return "no ITCH inside: the session ends before its first message"
    if len(data) > PREFIX and not any(data[:PREFIX]) and SIZES[data[PREFIX]]:
        return f"the length prefixes are zero: message type {chr(data[PREFIX])!r} follows, but its length is 0"
    return None


def check(window):
    """A file of this kind has no header of its own."""


def wrong_at(data, at):
    """Why what begins at ``at`` is no message, or None. A message of unknown type, or longer than its type, must lead to a good one."""
    for _ in range(LOOK):
        if len(data) - at <= PREFIX:
            return None
        length, code = data[at] << 8 | data[at + 1], data[at + PREFIX]
        known = SIZES[code]
        if not length:   # the end of the session, or the middle of a message
            return "no known message follows" if any(data[at:at + _VIEW]) else None
        if length == known:
            return None
        if length > _packing.MAXIMUM_MESSAGE:
            return f"{length} bytes is more than any message has"
        if length < known:
            return f"{length} bytes is too short for type {chr(code)!r}, which has {known}"
        at += PREFIX + length
    return f"no known message follows within {LOOK}"


def no_message(window, at, cause):
    """The ``CaptureError`` for what begins at ``at`` of the window and is no message."""
    code, raw = ascii(chr(window.data[at + PREFIX])), window.data[at:at + 32].hex(" ")
    return window.error(at, "message length", f"{cause} (type {code}, bytes {raw})")


def _walk(window):
    """Starts and ends of the whole blocks in view, whether the end marker follows, and the ``CaptureError`` if what follows is no message."""
    data, at, starts, ends, sizes = window.data, 0, [], [], SIZES
    last = len(data) - (PREFIX + 1 if window.eof else _VIEW)
    while at <= last:
        length = data[at] << 8 | data[at + 1]
        if length != sizes[data[at + 2]] or not length:
            if not length:
                return starts, ends, True, None
            cause = wrong_at(data, at)
            if cause:
                return starts, ends, False, no_message(window, at, cause)
        end = at + PREFIX + length
        if end > len(data):
            break
        starts.append(at)
        ends.append(end)
        at = end
    return starts, ends, window.eof and data[at:] == bytes(PREFIX), None


def _times(data, starts, ends, time):
    """Timestamps of the blocks; one too short to have any takes that of the block before it."""
    if not starts:
        return []
    raw, start, end = np.frombuffer(data, np.uint8), np.array(starts), np.array(ends)
    at = start + PREFIX + _TIMESTAMP.offset
    times = np.zeros(len(start), np.int64)
    for k in range(_TIMESTAMP.size):
        times = times << 8 | raw.take(at + k, mode="clip")
    has = end - start >= PREFIX + _TIMESTAMP.end
    before = np.maximum.accumulate(np.where(has, np.arange(len(start)), -1))
    return np.where(before < 0, time, times[before]).tolist()


def _leads_on(data, at, eof):
    """Whether good messages begin here: ``LOOK`` of them, or as many as there are before the end."""
    for _ in range(LOOK):
        if len(data) - at <= PREFIX:
            return eof and not any(data[at:])
        if data[at] << 8 | data[at + 1] != SIZES[data[at + PREFIX]] or not SIZES[data[at + PREFIX]]:
            return False
        at += PREFIX + SIZES[data[at + PREFIX]]
    return True


def _skip(window, at, report):
    """Move the window from ``at``, where no message is, to the next place where good ones begin; count what was passed over."""
    begin = window.start + at
    window.advance(at + 1)
    while True:
        data, eof = window.data, window.eof
        last = len(data) - (PREFIX + 1 if eof else _VIEW)
        found = next((k for k in range(last + 1) if _leads_on(data, k, eof)), None)
        if found is not None or eof:
            window.advance(len(data) if found is None else found)
            break
        window.advance(max(last + 1, 0))
    report.resyncs += 1
    report.skipped_bytes += window.start - begin


def goes_on(window, report, after, marker, wrong, resync):
    """Move the window on to what follows the messages that end at ``after``, and say whether anything does.

    ``marker``: a length of 0 follows; ``wrong``: the ``CaptureError`` for what follows, or None. ``resync``: neither is raised, the next messages are
    looked for. ``report`` counts what was passed over, and notes how the file ends.
    """
    if wrong:
        if not resync:
            raise wrong
        _skip(window, after, report)
        return True
    if marker:
        begin = window.start
        try:
            _only_zeros(window, after)
        except CaptureError:      # it is none
            if not resync:
                raise
            at = after if window.start == begin else 0
            report.skipped_bytes += window.start + at - begin - after
            _skip(window, at, report)
            return True
        report.end_of_session = True
        return False
    if window.eof:
        report.tail_bytes, report.tail_offset = len(window.data) - after, window.start + after
        return False
    window.advance(after)
    return True


def read(window, report, packing, limit, resync=False):
    """Yield the frames of the messages of a window at the file's start, ``limit`` of them if not None.

    ``resync``: what is no message is passed over, and counted in ``report``, up to where good messages follow.
    """
    time = 0
    while True:
        starts, ends, marker, wrong = _walk(window)
        full = limit is not None and report.messages + len(starts) >= limit
        if full:
            del starts[limit - report.messages:], ends[limit - report.messages:]
        times = _times(window.data, starts, ends, time)
        firsts = _packing.cuts(starts, ends, times, packing)
        if firsts and not (full or marker or wrong or window.eof):   # the last packet may grow
            still_open = firsts.pop()
            del starts[still_open:], ends[still_open:], times[still_open:]
        after = ends[-1] if ends else 0
        if firsts:
            batch = _packing.pack(window.data, starts, ends, times, firsts, moldudp64.FIRST_SEQUENCE + report.messages, packing)
            report.messages, time = report.messages + len(starts), times[-1]
            yield batch
        if full or not goes_on(window, report, after, marker, wrong, resync):
            return


def _only_zeros(window, at):
    """Behind the end of the session, at ``at``, nothing may come but padding."""
    marker = window.start + at
    while not (rest := window.data[at:].lstrip(b"\0")):
        if window.eof:
            return
        at = 0
        window.advance(len(window.data))
    more = window.start + len(window.data) - len(rest)
    raise CaptureError(window.path, marker, "message length", f"0 ends the session, but more follows at offset {more}")


def write_binaryfile(path, messages):
    """Write messages (``bytes`` each, none empty) with the end marker."""
    with open(path, "wb") as file:
        file.write(b"".join(len(m).to_bytes(PREFIX, "big") + m for m in messages) + bytes(PREFIX))
