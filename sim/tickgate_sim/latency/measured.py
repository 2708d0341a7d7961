"""Patterns through the virtual card: idle, a message a frame, and packed, frames as long as they go, one after the other at line rate."""
from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from tickgate.app import latency
from tickgate.app.pair import Pair
from tickgate.capture import FrameBatch
from tickgate.spec import moldudp64 as mold
from tickgate.spec import records
from tickgate.spec.presets import PRESETS
from tickgate.twin import Symbol
from tickgate.twin.binary import writer
from tickgate_hdl.book.publish import Publisher

from ..streams.frames import udp_frame
from ..virtual.device import VirtualCard
from .patterns import PATTERNS, Script

GROUP = (0xE9360C6F, 26477)
SYMBOL = Symbol(0, 1, 1_000_000, 100, "TICKGATE")
LONG, SHORT = 8_900, 0     # bytes of messages in a datagram: a jumbo frame's, one message's
IDLE = 5_000               # messages of the idle measurement
_HEADER, _BLOCK = (writer(t).pack for t in (mold.HEADER, mold.BLOCK))


@dataclass(frozen=True)
class Row:
    """One pattern: messages ``offered`` at line rate, ``spacing`` of their ends in cycles (mean over the longest frame), ``lost`` records, and
    (min, max) cycles from the last needed byte to the top of book by message type, ``idle`` and ``packed``."""
    pattern: str
    offered: int
    spacing: float
    lost: int
    idle: dict
    packed: dict

    @property
    def change(self):
        """Largest difference between idle and packed, of any type's min or max."""
        return max(abs(a - b) for t in self.packed for a, b in zip(self.idle[t], self.packed[t]))


def frames(messages, start, most):
    """Datagrams of consecutive messages with up to ``most`` bytes of blocks each, at least one."""
    out, part, size, number = [], [], 0, start
    for message in [*messages, None]:
        if message is None or part and size + 2 + len(message) > most:
            payload = _HEADER(b"LATENCY   ", number, len(part)) + b"".join(_BLOCK(len(m)) + m for m in part)
            out.append(udp_frame(payload, GROUP))
            number, part, size = number + len(part), [], 0
        if message is not None:
            part.append(message)
            size += 2 + len(message)
    return out


def run(preset, pattern, count, most):
    """Pattern through a fresh card, every record compared with the twin's: messages measured, records of them lost, (min, max) by type."""
    before, measured = PATTERNS[pattern](Script(SYMBOL, PRESETS[preset]), count)
    with VirtualCard(preset) as device:
        pair = Pair(device, PRESETS[preset], [SYMBOL], [GROUP])
        sent = frames(before, 1, LONG) + frames(measured, 1 + len(before), most)
        rows = np.concatenate([rows for _, _, rows in pair.run([FrameBatch.of(sent, np.arange(len(sent)))])])
        wrong = pair.failure or pair.difference or pair.final()
    if wrong:
        raise RuntimeError(f"{pattern}: gateware and twin differ: {wrong}")
    tops = rows[(rows["kind"] == records.TOP_OF_BOOK) & (rows["number"] > len(before))]
    found = latency.Latency()
    found.add(tops)
    spans = defaultdict(tuple, {t: (v["min"] - Publisher.LATENCY, v["max"] - Publisher.LATENCY) for t, v in found.table().items()})
    return len(measured), len(measured) - len(tops), dict(spans)


def measure(preset, count, patterns=PATTERNS):
    """A ``Row`` of each pattern."""
    rows = []
    for pattern in patterns:
        offered, lost, packed = run(preset, pattern, count, LONG)
        _, idle_lost, idle = run(preset, pattern, min(count, IDLE), SHORT)
        _, measured = PATTERNS[pattern](Script(SYMBOL, PRESETS[preset]), count)
        spacing = sum(2 + len(m) for m in measured) / len(measured) / 4 * 33 / 32     # one cycle in 33 carries no word
        rows.append(Row(pattern, offered, spacing, lost + idle_lost, idle, packed))
    return rows
