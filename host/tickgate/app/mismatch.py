"""Tell all about the first record that differs: fields, message, and the book before and after it."""
import copy
from collections import deque

from tickgate.spec import itch50, records
from tickgate.spec import moldudp64 as mold
from tickgate.twin.net import Net

from .check import decode

_COUNT, _LENGTH = mold.HEADER["count"], mold.BLOCK["length"]


def story(difference, frames, golden, commands=()):
    """The difference as a dict for the summary; ``text`` of it is for people.

    ``frames``: iterator over all frames from the first, pairs of ``bytes`` and whether the FCS is bad; ``golden``: a fresh twin, which is taken
    to the frame where it happened; ``commands``: of the host, triples of how many frames came before it, its number, and itself.
    """
    row = difference.twin if difference.twin is not None else difference.card
    slot = int(row["slot"])
    told = {
        "record": difference.index,
        "kind": _kind(row),
        "slot": None if slot == records.NO_SLOT else slot,
        "message_number": int(row["number"]) & records.NUMBER_MASK,
        "fields": {name: {"card": _plain(ours), "twin": _plain(theirs)} for name, ours, theirs in difference.fields},
        "card": None if difference.card is None else {name: _plain(v) for name, v in decode(difference.card).items()},
        "twin": None if difference.twin is None else {name: _plain(v) for name, v in decode(difference.twin).items()},
    }
    if difference.where is not None:
        where = difference.where
        told |= {"frame": int(where.frame[0]), "cycle": int(where.cycle[0])}
        at, length = int(where.message[0]), int(where.length[0])
        if at >= 0:
            frame = _reach(told["frame"], frames, golden, commands)
            told |= {"frame_offset": at, "message": _message(frame[at:at + length])}
            if told["slot"] is not None:
                told["book_before"], told["book_after"] = _books(golden, frame, at, slot)
    told["text"] = _text(difference, told)
    return told


def _reach(number, frames, golden, commands):
    """Frame ``number``; the twin has taken those before it."""
    commands = deque(commands)
    for k, (frame, bad_fcs) in enumerate(frames):
        while commands and commands[0][0] <= k:
            _, told, command = commands.popleft()
            golden.command(command, told)
        if k == number:
            return frame
        golden.frame(frame, bad_fcs)
        if k % 1024 == 0:
            golden.take()   # its records are not needed, nor is the memory
    raise ValueError(f"there is no frame {number}")


def _books(golden, frame, at, slot):
    """The twin's book before and after the message at byte ``at``.

    The frame is cut there by the count in its MoldUDP64 header, which no checksum that is verified covers.
    """
    start = Net(golden.net.filters).take(frame, False).start
    count, block = 0, start + mold.HEADER.size
    while block + _LENGTH.size < at:
        block += _LENGTH.size + int.from_bytes(frame[block:block + _LENGTH.size], "big")
        count += 1
    texts = []
    for blocks in (count, count + 1):
        cut = bytearray(frame)
        cut[start + _COUNT.offset:start + _COUNT.end] = blocks.to_bytes(_COUNT.size, "big")
        twin = copy.deepcopy(golden)
        twin.frame(bytes(cut))
        texts.append(twin.describe(slot))
    return texts


def _message(raw):
    """A message in hex and, when its type is known and it is long enough, its fields."""
    layout = itch50.BY_CODE.get(raw[:1])
    known = layout and len(raw) >= layout.size
    return {"hex": raw.hex(" "), "name": layout.name if layout else "unknown",
            "fields": {name: _text_of(v) if layout[name].kind == "alpha" else _plain(v) for name, v in layout.decode(raw).items()} if known else {}}


def _text_of(raw):
    return raw.decode("ascii", "backslashreplace").rstrip(" ") if raw[:1] > b"\x1f" else _plain(raw)


def _plain(value):
    """A value as JSON and people can take it."""
    return value.hex() if isinstance(value, (bytes, bytearray)) else value


def _kind(row):
    return next((name for name, code in records.KINDS.items() if code == row["kind"]), f"kind {row['kind']}")


def flags(value):
    """Names of the flags that are set."""
    return " ".join(name for name, (bit, _) in records.FLAGS.items() if value >> bit & 1) or "none"


def top(values):
    """One line for a decoded top_of_book record."""
    side = [f"{values[f'{s}_qty']:,} @ {values[f'{s}_px'] / 10_000:.4f}" if values["flags"] & bit else "none"
            for s, bit in (("bid", records.BID), ("ask", records.ASK))]
    return f"bid {side[0]} | ask {side[1]} | flags {flags(values['flags'])} | digest {values['digest']:08x}"


def _text(difference, told):
    if difference.twin is None:
        lines = [f"record {told['record']}: the card wrote a {told['kind']} record (message {told['message_number']}), the twin expects none"]
    elif difference.card is None:
        lines = [f"record {told['record']}: the twin expects a {told['kind']} record (message {told['message_number']}), the card wrote none"]
    else:
        lines = [f"record {told['record']} ({told['kind']}, message {told['message_number']}) differs"]
    if told["fields"]:
        width = max(map(len, told["fields"]))
        lines += [f"  {name:{width}}  card {v['card']!s:>12}  twin {v['twin']!s:>12}" for name, v in told["fields"].items()]
    if "frame" in told:
        at = f", byte {told['frame_offset']} of it" if "frame_offset" in told else ""
        lines.append(f"frame {told['frame']}{at}, cycle {told['cycle']}" + (f", slot {told['slot']}" if told["slot"] is not None else ""))
    if "message" in told:
        m = told["message"]
        lines += [f"message {m['name']}: {m['hex']}", "  " + ", ".join(f"{k} {v}" for k, v in m["fields"].items())]
    for who, row in (("card", difference.card), ("twin", difference.twin)):
        if row is not None and row["kind"] == records.TOP_OF_BOOK:
            lines.append(f"{who}'s top: {top(decode(row))}")
    for when in ("before", "after"):
        if f"book_{when}" in told:
            lines += [f"twin's book {when}:", *("  " + line for line in told[f"book_{when}"].splitlines())]
    return "\n".join(lines)
