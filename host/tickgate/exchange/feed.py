"""The exchange's messages as MoldUDP64 packets on two lines, and what happens to them on the way."""
import heapq
import random
from dataclasses import replace
from itertools import count
from typing import NamedTuple

from tickgate.capture.packing import NASDAQ, udp_frame
from tickgate.spec import moldudp64 as mold

from .faults import LineFaults, happens

HEARTBEAT_NS = 1_000_000_000
AGAIN_NS = 1000                     # a packet that comes twice comes so much later again
LINES = {"a": NASDAQ, "b": replace(NASDAQ, group="233.49.196.111", source="192.0.2.2", source_mac="02:00:00:00:00:02")}


class Packet(NamedTuple):
    """A MoldUDP64 packet as it arrives: ns since midnight, name of the line, UDP payload."""

    time_ns: int
    line: str
    payload: bytes

    def frame(self):
        """The Ethernet frame that carries it, without FCS."""
        return udp_frame(self.payload, LINES[self.line])


class Line:
    """One line. ``sent`` packets, of which ``lost``, ``doubled`` and ``late`` (after the next one)."""

    def __init__(self, name, seed, faults):
        self.name, self.faults, self.random = name, faults, random.Random(f"{seed} feed {name}")
        self.skew, self.waiting = faults.skew if name == "b" else 0, None
        self.sent = self.lost = self.doubled = self.late = 0

    def send(self, time_ns, payload):
        """Yield the packets that arrive because of this one."""
        self.sent += 1
        time_ns += self.skew + (self.random.randrange(self.faults.delay + 1) if self.faults.delay else 0)
        if happens(self.random, self.faults.loss):
            self.lost += 1
            return
        if self.waiting is None and happens(self.random, self.faults.reorder):
            self.waiting = payload
            self.late += 1
            return
        yield Packet(time_ns, self.name, payload)
        if happens(self.random, self.faults.duplicate):
            self.doubled += 1
            yield Packet(time_ns + AGAIN_NS, self.name, payload)
        if self.waiting is not None:
            yield Packet(time_ns, self.name, self.waiting)
            self.waiting = None


class Feed:
    """Both lines. ``message`` after ``message``, then ``flush``: what one moment brought goes out in as few packets as it fits. ``due`` gives what has
    arrived. ``messages`` keeps all of them: the first has number 1."""

    def __init__(self, session="0000000001", *, seed=0, faults=None, names="ab", max_payload=NASDAQ.max_payload):
        faults = faults or LineFaults()
        self.session, self.room, self.messages = session, max_payload - mold.HEADER.size, []
        self.lines = {name: Line(name, seed, faults) for name in names}
        self._first, self._blocks, self._size = mold.FIRST_SEQUENCE, [], 0
        self._arriving, self._order, self._last = [], count(), None

    @property
    def next_sequence(self):
        """Number that the next message will have."""
        return len(self.messages) + mold.FIRST_SEQUENCE

    def message(self, time_ns, message):
        """The next message, at a time that does not go back."""
        block = mold.BLOCK.encode(length=len(message)) + message
        if self._size + len(block) > self.room:
            self.flush(time_ns)
        self.messages.append(message)
        self._blocks.append(block)
        self._size += len(block)

    def flush(self, time_ns):
        """Send what waits; a heartbeat when there was nothing for a second."""
        if self._blocks:
            self._send(time_ns, self.packet(self._first, self._blocks))
            self._first, self._blocks, self._size = self.next_sequence, [], 0
        elif self._last is not None and time_ns - self._last >= HEARTBEAT_NS:
            self._send(time_ns, self.packet(self._first, ()))

    def packet(self, sequence, blocks, number=None):
        """UDP payload of a packet of message blocks."""
        return mold.HEADER.encode(session=self.session, sequence=sequence, count=len(blocks) if number is None else number) + b"".join(blocks)

    def _send(self, time_ns, payload):
        self._last = time_ns
        for line in self.lines.values():
            for packet in line.send(time_ns, payload):
                self._arrive(packet)

    def _arrive(self, packet):
        heapq.heappush(self._arriving, (packet.time_ns, next(self._order), packet))

    def end(self, time_ns):
        """The end of the session: it is never lost, and it frees the packet that waits for the next one."""
        self.flush(time_ns)
        payload = self.packet(self.next_sequence, (), mold.END_OF_SESSION)
        last = max([time_ns, *(packet[0] for packet in self._arriving)])
        for line in self.lines.values():
            if line.waiting is not None:
                self._arrive(Packet(last, line.name, line.waiting))
                line.waiting = None
            self._arrive(Packet(last + AGAIN_NS, line.name, payload))

    def due(self, time_ns=None):
        """Yield the packets that have arrived by then (None: all), in the order of their times."""
        while self._arriving and (time_ns is None or self._arriving[0][0] <= time_ns):
            yield heapq.heappop(self._arriving)[-1]

    def again(self, request):
        """Payload that answers a re-request (MoldUDP64 request packet): as many of the messages as one packet takes. None when there is nothing to say."""
        if len(request) < mold.HEADER.size:
            return None
        asked = mold.HEADER.decode(request)
        first = asked["sequence"] - mold.FIRST_SEQUENCE
        if asked["session"].strip() != self.session.encode().strip() or not 0 <= first < len(self.messages):
            return None
        blocks, size = [], 0
        for message in self.messages[first:first + asked["count"]]:
            block = mold.BLOCK.encode(length=len(message)) + message
            size += len(block)
            if size > self.room:
                break
            blocks.append(block)
        return self.packet(asked["sequence"], blocks) if blocks else None
