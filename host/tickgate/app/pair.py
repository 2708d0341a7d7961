"""Card and twin side by side: the same frames to both, and their records compared."""
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields

import numpy as np

from tickgate.card import Card, CardError, CommandPort, EventRingReader, Recentring
from tickgate.device import FrameSink, word_cycle
from tickgate.spec import clocks, records, registers
from tickgate.spec.commands import HOST
from tickgate.twin import Golden
from tickgate.twin.unbounded import unbounded

from .check import Check, Expected, final
from .chunks import BYTES_A_RECORD, chunks
from .errors import InputError
from .summary import LOST

RING_LOG2 = 16       # records in the event ring
SETTLE = 2048        # cycles after the last frame: the longest way through the core, with much to spare, but for what waits in front of it
WATCH = 1 << 16      # bytes of frames between two looks at where prices are, when ladders follow them: 52 us of the line
REACTION = 1 << 14   # the same while a ladder is being moved: 13 us
_MODULUS = {(block.name, r.name): 1 << r.width for block in registers.BLOCKS for r in block.registers if r.access == "count"}   # where counters wrap
_TYPE_COUNT = next(r for r in registers.FEED.registers if r.name == "type_count")


class Pair:
    """A card made ready on ``device``, and (unless ``check`` is false) the twin of it. The card may have been used before: its books are emptied, and what
    its counters had is taken off.

    Frames go in by ``run``. What is found: ``frames`` sent, ``records`` taken, ``difference`` (``check.Difference``: the first record that
    differs) or ``failure`` (text: the ring is out of order), ``check.compared``, ``golden`` (the twin), ``cycles`` simulated in ``seconds``.

    ``port`` pushes commands to the card's books (``CommandPort``); the twin takes each where its record says that the card did. With ``recentre`` the ladders
    of symbols that move away are moved after them while the frames go: ``recentring`` (``Recentring``) tells what was done.
    Raises ``InputError`` when the device takes no frames or has another size than ``preset``.
    """

    def __init__(self, device, preset, symbols, filters, start=1, *, check=True, spacing="minimum", recentre=False):
        if not isinstance(device, FrameSink):
            raise InputError(f"card {device.name} takes its frames from a wire, not from a capture")
        self.device, self.preset, self.spacing = device, preset, spacing
        self.card = Card(device)
        other = [f"{f.name} {getattr(self.card.preset, f.name)}" for f in fields(preset)
                 if f.name != "name" and getattr(self.card.preset, f.name) != getattr(preset, f.name)]
        if other:
            raise InputError(f"card {device.name} is not preset {preset.name}: it has {', '.join(other)}")
        self._settle = SETTLE + (preset.lanes // preset.word << preset.burst_bits if preset.lanes > preset.word else 0)
        symbols = list(symbols)
        self.card.stop()
        device.idle(self._settle)      # what was on its way still belongs to the run before
        self.card.clear()
        self.card.forget(set(range(preset.symbols)) - {s.slot for s in symbols})
        self.card.load_symbols(symbols)
        self.card.set_filters(filters)
        self.ring = EventRingReader(self.card, RING_LOG2)
        self._counters, self._types = self.card.counters(), self.card.type_counts()   # of before
        self.card.start(start)
        self.card.wait_ready()   # writes may be on their way still; a read comes back after them
        self.golden = Golden(preset, symbols, filters, start=start) if check else None
        self.port = CommandPort(self.card, posted=True)
        self.truth = self.recentring = None
        if recentre and check:
            self.truth = unbounded([s.locate for s in symbols], filters, start, stale={s.locate for s in symbols if s.stale})
            self.recentring = Recentring(self.golden, self.truth, self.port)
        self.commands = []               # triples: frames that the twin had taken, number, command; all that took effect
        self._frames = deque()           # sent, and not taken by the twin: bytes, whether the FCS is bad
        self._starts = np.zeros(0, np.int64)   # cycles of their first words, and of those whose records are not expected yet
        self._known = deque()            # commands that took effect, not taken by the twin: row, command
        self._last = -1                  # sequence of the last record that the card wrote, counted from the first
        self._taken_frames = 0           # by the twin
        self._first = self._counters["ring"]["records"]   # sequence of the first record
        self.check = Check(self._dropped, self._first)
        self.frames = self.records = 0
        self.difference = self.failure = None
        self.cycles = -device.evaluated     # simulated
        self.seconds = 0.0                  # spent on them

    @property
    def over(self):
        """Whether something differs, so that going on is of no use."""
        return self.difference is not None or self.failure is not None

    def run(self, batches):
        """Send batches of frames (``bad_fcs`` is optional) until something differs.

        Yields, for each part of a batch that was sent, the part, the cycles of the first words of its frames, and the records that have come
        since; at last None, None and the records that came out after all frames.
        """
        with ThreadPoolExecutor(1) as pool:
            for batch in chunks(batches, self._most_bytes):
                self._frames.extend(_frames(batch) if self.golden else ())
                sending = pool.submit(self._send, batch)
                if self.golden and not self.port.waiting:
                    self._play()                      # while the card works: nothing but frames can come
                starts = sending.result()
                if self.golden:
                    self._starts = np.concatenate([self._starts, starts])
                self.frames += len(batch)
                yield batch, starts, self._taken()
                if self.over:
                    break
                if self.recentring:
                    self.recentring.step()
        self._spend(self.device.idle, self._settle)
        if not self.over:
            yield None, None, self._taken()
        while self.recentring and not self.over:      # what is under way comes to its end
            self.recentring.step()
            if not self.port.waiting:
                break
            self._spend(self.device.idle, self._settle)
            yield None, None, self._taken()
        if self.golden and not self.over:
            self.difference = self.check.finish()
        self.cycles += self.device.evaluated

    def counters(self):
        """Every counter of the card, as ``Card.counters``, by what it counted since this was made."""
        return {block: {name: (value - self._counters[block][name]) % _MODULUS[block, name] for name, value in values.items()}
                for block, values in self.card.counters().items()}

    def type_counts(self):
        """The same of ``Card.type_counts``."""
        since = {t: (n - self._types.get(t, 0)) % (1 << _TYPE_COUNT.width) for t, n in self.card.type_counts().items()}
        return {t: n for t, n in since.items() if n}

    def final(self):
        """Texts of what differs at the end, when all records were equal: counters, message types, session, stale slots, records lost."""
        golden, card = self.golden, self.card
        session = card.mold.session_low.to_bytes(8, "little") + card.mold.session_high.to_bytes(2, "little")
        stale = card.symbol.stale
        ours = {**self.counters(), "type": self.type_counts(), "mold.expected": card.mold.expected, "mold.session": session,
                "stale slots": {slot for slot in golden.slots if stale >> slot & 1}, "ring dropped": self._dropped()}
        theirs = {**golden.counters, "type": {chr(t): n for t, n in golden.type_count.items()}, "mold.expected": golden.expected,
                  **({"mold.session": golden.session} if golden.session else {}), "stale slots": golden.stale,
                  "ring": {"records": self.records + self.check.lost}, "ring dropped": self.check.lost}
        texts = [f"{name}: card {a}, twin {b}" for name, a, b in final(ours, theirs)]
        if self.check.lost:
            texts.append(f"{self.check.lost} records are missing in the ring's sequence: they could not be compared")
        return texts

    def _send(self, batch):
        return self._spend(self.device.send, batch, spacing=self.spacing)

    def _spend(self, work, *arguments, **options):
        begin = time.monotonic()
        result = work(*arguments, **options)
        self.seconds += time.monotonic() - begin
        return result

    def _most_bytes(self):
        if not self.recentring:
            return BYTES_A_RECORD << RING_LOG2
        return REACTION if self.recentring.busy else WATCH

    def _play(self):
        """The twin takes frames and commands, as far as it is known which came first: while commands wait for their record, one may have taken effect
        before any frame whose first record the card has not written yet. A frame without records may come before or after."""
        golden = self.golden
        while True:
            while self._known and golden.sequence == int(self._known[0][0]["sequence"]) - self._first:
                row, command = self._known.popleft()
                golden.command(command, int(row["number"]), int(clocks.cycle_of_ns(int(row["t_wire_ns"]))))
                self.commands.append((self._taken_frames, int(row["number"]), command))
                if self.recentring and self.recentring.busy:
                    self.recentring.took_effect(row, command)
            if not self._frames or (self.port.waiting or self._known) and golden.sequence > self._last:
                break
            frame, bad_fcs = self._frames.popleft()
            golden.frame(frame, bad_fcs)
            if self.truth:
                self.truth.frame(frame, bad_fcs)
            self._taken_frames += 1
        if self.truth:
            self.truth.take()   # its records are not needed, nor is the memory

    def _expect(self):
        """What the twin has said since goes to the check."""
        rows, origin = self.golden.take().copy(), self.golden.origins()
        by_host = rows["source"] == HOST
        first = self.frames - len(self._starts)       # the frame that the first of these belongs to
        cycle = clocks.cycle_of_ns(rows["t_wire_ns"].astype(np.int64))   # of commands; of frames only now
        cycle[~by_host] = word_cycle(self._starts[origin["frame_index"][~by_host] - first], origin["wire_offset"][~by_host] // self.preset.lanes)
        rows["t_wire_ns"] = clocks.ns_of_cycle(cycle)
        rows["sequence"] += np.uint64(self._first)
        self._starts = self._starts[len(self._starts) - len(self._frames):]
        self.check.expect(Expected(rows, origin["frame_index"], origin["message_offset"], origin["message_length"], cycle))

    def _taken(self):
        """What is in the ring by now, compared."""
        taken = []
        if self.golden:
            self._expect()
        while not self.over:
            try:
                rows = self.ring.poll()
            except CardError as error:   # a ring that is out of order is the card's failure, not the user's
                self.failure = str(error)
                break
            if not len(rows):
                break
            self.records += len(rows)
            taken.append(rows)
            if self.golden:
                self._last = int(rows["sequence"][-1]) - self._first
                try:
                    self._known.extend(zip(*self.port.took_effect(rows)))
                except CardError as error:
                    self.failure = str(error)
                    break
                self._play()
                self._expect()
                self.difference = self.check.compare(rows)
        return np.concatenate(taken) if taken else np.empty(0, records.COMMON.dtype)

    def _dropped(self):
        return sum((getattr(self.card.ring, name) - self._counters["ring"][name]) % _MODULUS["ring", name] for name in LOST["ring"])


def _frames(batch):
    """Frames of a batch as pairs of bytes and whether the FCS is bad."""
    bad = getattr(batch, "bad_fcs", None)
    return ((batch[k], bad is not None and bool(bad[k])) for k in range(len(batch)))
