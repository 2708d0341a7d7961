"""What net.datagram does with frames, cycle by cycle. Which are dropped and why is the twin's word."""
from tickgate.spec.registers import NET
from tickgate.twin.net import Net

from .hop import Script
from .wire import LANES

COUNTERS = tuple(r.name for r in NET.registers if r.access == "count" and r.name != "overflow")   # that one is net.narrow's
SETTLE = 5          # cycles from a frame's last word to its counters and its end
GOOD_FROM = 3       # word of a datagram from which `good` and `source` are settled: the fourth


def datagram_words(words, datagram):
    """(cycle, fields) of the datagram's words: those of the frame (``Sent.words``) from the one with the first payload byte on, and what net says of them."""
    begin = datagram.start // LANES
    end = datagram.end - LANES * begin
    for k, (cycle, word) in enumerate(words[begin:]):
        yield cycle, {"data": word["data"], "first": int(k == 0), "last": word["last"], "left": max(0, end - LANES * k), "count": word["count"],
                      "good": 1, "source": datagram.source}


class DatagramScript(Script):
    """Frames into a ``DatagramReceiver``. ``filters``: as for the twin; ``enable``: function of the cycle."""

    resting = {"frames.valid": 0}
    quiet = ("datagrams.valid", "ends.valid", "busy", *(f"events.{name}" for name in COUNTERS))

    def __init__(self, seed, sent, filters, *, enable=lambda cycle: 1):
        super().__init__(seed, sent[-1].last + SETTLE + 4)
        self.twin = Net(filters)
        self.causes = []                     # counter of each frame
        for cycle in range(self.cycles):
            self.drive(cycle, {"enable": enable(cycle)})
            for k, destination in enumerate(filters):
                group, port = destination or (self.rng.getrandbits(32), self.rng.getrandbits(16))
                self.drive(cycle, {f"filters.{k}.group": group, f"filters.{k}.port": port, f"filters.{k}.on": int(destination is not None)})
        for s in sent:
            self._frame(s, enable(s.cycles[0]))

    def _frame(self, sent, enabled):
        words = list(sent.words(self.rng))
        for cycle, word in words:
            self.drive(cycle, {"frames.valid": 1, **{f"frames.payload.{name}": value for name, value in word.items()}})
        settled = sent.last + SETTLE
        if not enabled:
            datagram, cause = None, "not_ready"
        else:
            before = dict(self.twin.counters)
            datagram = self.twin.take(sent.frame, sent.bad_fcs)
            cause, = (name for name in COUNTERS if name not in ("frames", "bad_fcs") and self.twin.counters[name] != before[name])
            for cycle in range(sent.cycles[0] + 1, sent.last + 1):
                self.expect(cycle, {"busy": 1})
        self.causes.append(cause)
        self.expect(settled, {"events.frames": 1, f"events.{cause}": 1, "events.bad_fcs": int(sent.bad_fcs)})
        if datagram:
            self.expect(settled, {"ends.valid": 1, "ends.payload.source": datagram.source,
                                  "ends.payload.suspect": int(sent.bad_fcs or len(sent.frame) < datagram.end)})
            for k, (cycle, word) in enumerate(datagram_words(words, datagram)):
                unsettled = ("good", "source") if k < GOOD_FROM else ()
                self.expect(cycle, {"datagrams.valid": 1, **{f"datagrams.payload.{n}": value for n, value in word.items() if n not in unsettled}})
        elif enabled:                        # words of a frame that is dropped may go on, but never as good ones
            for cycle in sent.cycles:
                self.expect(cycle, {"datagrams.valid": None})

    def check(self, fields, outputs):
        super().check(fields, outputs)
        since = 0
        for cycle, word in enumerate(outputs):
            if fields.read(word, "datagrams.valid"):
                since = 0 if fields.read(word, "datagrams.payload.first") else since + 1
                if since >= GOOD_FROM and fields.read(word, "datagrams.payload.good"):
                    assert "datagrams.payload.good" in self.expected.get(cycle, {}), f"cycle {cycle}: a word of a dropped frame is good"
