"""What net.moldudp64 makes of datagrams, cycle by cycle. Which blocks are messages, and every number, is the twin's word."""
from itertools import groupby, pairwise
from typing import NamedTuple

from tickgate.spec import moldudp64 as mold
from tickgate.spec.registers import MOLD
from tickgate.twin.moldudp64 import MoldUDP64
from tickgate.twin.net import Net

from .datagram import GOOD_FROM, SETTLE, datagram_words
from .hop import Script
from .wire import LANES

COUNTERS = tuple(r.name for r in MOLD.registers if r.access == "count")
BLOCK_WORDS = 12          # of a block that are told apart
SHORTEST_IDLE = 1         # cycles without a word between frames
HEADER_WORDS = 10         # of a frame before its datagram can begin
_U64 = (1 << 64) - 1


class Block(NamedTuple):
    """A message block that fits its datagram."""

    at: int          # byte offset of its length in the frame
    length: int      # bytes of the message
    number: int      # of the message
    is_new: bool     # handed on, else a duplicate
    is_inner: bool   # it begins and the next one too in one word
    judged: int      # cycle of the word behind the one with its first byte, or that after the frame; for an inner block of its own word

    @property
    def word(self):
        """Word of the frame with its first byte."""
        return self.at // LANES

    @property
    def end(self):
        return self.at + mold.BLOCK.size + self.length

    @property
    def header(self):
        """Cycle in which `headers` tells it."""
        return self.judged + 2


class Taken(NamedTuple):
    """A datagram and what the twin made of it."""

    sent: object       # Sent
    datagram: object   # tickgate.twin.net.Datagram
    header: int        # cycle of the word that ends the MoldUDP64 header; None for a runt
    blocks: list       # that fit, duplicates too
    beyond: int        # byte at which a block would begin after them; None for a runt
    gaps: list         # of the twin
    counts: dict       # how the twin's counters moved
    expected: int      # next message afterwards
    session: bytes     # afterwards; None before the first

    @property
    def first(self):
        """Cycle of the word in which the payload begins."""
        return self.sent.cycle_of(self.datagram.start - 1)


def take(sent, datagram, twin):
    """``Taken`` for a datagram that is given to the twin."""
    before = dict(twin.counters)
    messages, gaps = [], []
    for item in twin.items(datagram):
        (messages if hasattr(item, "at") else gaps).append(item)
    counts = {name: twin.counters[name] - before[name] for name in COUNTERS}
    header = beyond = None
    blocks, body = [], datagram.start + mold.HEADER.size
    if body <= min(datagram.end, len(sent.frame)):
        header = sent.cycle_of(body - 1)
        fields = mold.HEADER.decode(sent.frame, datagram.start)
        for k in range(counts["messages"] + counts["duplicates"]):
            length = int.from_bytes(sent.frame[body:body + mold.BLOCK.size], "big")
            word, lane = divmod(body, LANES)
            is_inner = lane + mold.BLOCK.size + length < LANES
            judged = sent.cycles[word] if is_inner else (*sent.cycles, sent.last + 1)[word + 1]
            blocks.append(Block(body, length, fields["sequence"] + k & _U64, k >= counts["duplicates"], is_inner, judged))
            body += mold.BLOCK.size + length
        beyond = body
    new = [(b.number, b.at + mold.BLOCK.size, b.length) for b in blocks if b.is_new]
    if new != [(m.number & _U64, m.at, m.length) for m in messages]:
        raise AssertionError(f"the twin's messages {messages} are not the last of its blocks {blocks}")
    return Taken(sent, datagram, header, blocks, beyond, gaps, counts, twin.expected, twin.session)


class MoldScript(Script):
    """Datagrams, made from frames, into a ``MoldUdp64``. ``restarts``: by index of the frame before which it is restarted, the number to start with."""

    resting = {"datagrams.valid": 0, "ends.valid": 0, "restart": 0}
    quiet = ("messages.valid", "headers.valid", "gaps.valid")

    def __init__(self, seed, sent, filters, *, restarts=None):
        super().__init__(seed, sent[-1].last + 16)
        net, self.twin = Net(filters), MoldUDP64(mold.FIRST_SEQUENCE, LANES)
        for cycle in range(self.cycles):
            self.drive(cycle, {"time_ns": self.time_ns(cycle)})
        self.taken = []
        for k, s in enumerate(sent):
            if k and s.cycles[0] - sent[k - 1].last <= SHORTEST_IDLE:
                raise ValueError("the hop wants an idle cycle between frames")
            if restarts and k in restarts:
                self.twin.expected, self.twin.session = restarts[k], None
                self.drive(s.cycles[0] + HEADER_WORDS - 1, {"restart": 1, "start": restarts[k]})
            datagram = net.take(s.frame, s.bad_fcs)
            words = list(s.words(self.rng))
            if datagram is None:
                self._dropped(words[HEADER_WORDS:])
            else:
                self._datagram(take(s, datagram, self.twin), words)
        starts = [0, *(t.first for t in self.taken[1:]), self.cycles]
        for t, (start, end) in zip(self.taken, pairwise(starts)):
            self.expect_counts(start, end, t.counts)

    def _words(self, words):
        """Drive datagram words; until `good` and `source` are settled they are random."""
        for k, (cycle, word) in enumerate(words):
            if k < GOOD_FROM:
                word.update(good=self.rng.randrange(2), source=self.rng.randrange(8))
            self.drive(cycle, {"datagrams.valid": 1, **{f"datagrams.payload.{name}": value for name, value in word.items()}})
            if k:
                there = (1 << word["count"]) - 1 if word["last"] else (1 << LANES) - 1
                self.expect(cycle, {"messages.valid": 1, "messages.payload.there": there,
                                    **{f"messages.payload.{name}": word[name] for name in ("data", "last", "source")}})

    def _dropped(self, words):
        """A frame of another kind: words that net lets through before it knows, and as not good afterwards."""
        self._words((cycle, {"data": word["data"], "first": int(k == 0), "last": word["last"], "left": self.rng.choice((0, 20, 1000, 0xFFFF)),
                             "count": word["count"], "good": 0, "source": 0}) for k, (cycle, word) in enumerate(words))

    def _datagram(self, t, words):
        self.taken.append(t)
        sent, ended = t.sent, t.sent.last + SETTLE
        self._words(datagram_words(words, t.datagram))
        self.drive(ended, {"ends.valid": 1, "ends.payload.source": t.datagram.source,
                           "ends.payload.suspect": int(sent.bad_fcs or len(sent.frame) < t.datagram.end)})
        for gap in t.gaps:
            at_header = gap.reason in (b"G", b"S")
            wire = t.header if at_header else sent.last
            self.expect(t.header + 3 if at_header else ended + 1, {
                "gaps.valid": 1, "gaps.payload.reason": gap.reason[0], "gaps.payload.source": t.datagram.source, "gaps.payload.first": gap.first,
                "gaps.payload.count": gap.count, "gaps.payload.time": self.time_ns(wire)})
        new = [b for b in t.blocks if b.is_new]
        pairs = {cycle: list(pair) for cycle, pair in groupby(new, key=lambda b: b.header)}
        for b in new:
            kind = "inner" if b.is_inner else "outer"
            other = "outer" if b.is_inner else "inner"
            pair = pairs[b.header]
            told = {"headers.valid": 1, f"headers.payload.{kind}": 1, f"headers.payload.{kind}_length": b.length,
                    "headers.payload.inner_number" if b.is_inner else "headers.payload.number": b.number,
                    "headers.payload.first": int(new[0] in pair), "headers.payload.time": self.time_ns(t.header)}
            if len(pair) == 1:
                told[f"headers.payload.{other}"] = 0
            if b.length:
                told[f"headers.payload.{kind}_type"] = sent.frame[b.at + mold.BLOCK.size]
            self.expect(b.header, told)
            self.expect(b.header + 1, {"expected": pair[-1].number + 1 & _U64})
            if not b.is_inner:
                self._message(sent, b)
        settled = {"expected": t.expected}
        if t.session is not None:
            settled["session"] = int.from_bytes(t.session, "little")
        self.expect(ended + 1, settled)

    def _message(self, sent, b):
        """Where its words stand in the block, and from judging on that it is handed on."""
        where = {"messages.payload.lane": b.at % LANES}
        last = min(b.end - 1, len(sent.frame) - 1) // LANES
        for k in range(1, min(BLOCK_WORDS, last - b.word + 1)):   # between words it is that of the next one
            for cycle in range(sent.cycles[b.word + k - 1] + 1, sent.cycles[b.word + k] + 1):
                self.expect(cycle, {"messages.payload.at": 1 << k, **where})
        for cycle in range(b.header, sent.cycles[last] + 1):      # between words too
            self.expect(cycle, {"messages.payload.ok": 1, "messages.payload.number": b.number & 0xFFFFFFFF})

    def check(self, fields, outputs):
        super().check(fields, outputs)
        handed_on = {}                                            # by cycle of a word of its frame from the fourth on: the word's place in it, the block's lane
        for t in self.taken:
            for b in t.blocks:
                if b.is_new and not b.is_inner:
                    for k in range(3, len(t.sent.cycles) - b.word):
                        handed_on.setdefault(t.sent.cycles[b.word + k], set()).add((1 << k, b.at % LANES, b.number & 0xFFFFFFFF))
        for cycle, word in enumerate(outputs):
            at, lane, ok, number = (fields.read(word, f"messages.payload.{name}") for name in ("at", "lane", "ok", "number"))
            if fields.read(word, "messages.valid"):
                assert not at & 1, f"cycle {cycle}: at[0]"
                if ok and at >> 3:
                    assert (at, lane, number) in handed_on.get(cycle, ()), f"cycle {cycle}: word {at:#x} at lane {lane} is ok as message {number}"
