"""A device whose core is the twin: frames go in, its own records come back through the ring, so that all of the host can be tested without gateware.

What a broken card would do is done to the records on the way (``spoil``) or to the registers (``lie``).
"""
from collections import Counter
from dataclasses import replace

import numpy as np

from tickgate.device import DmaBuffer, word_cycle
from tickgate.spec import clocks, records, registers
from tickgate.spec.commands import Command
from tickgate.spec.presets import PRESETS, TICK_SIZES
from tickgate.twin import Golden, Symbol

LATENCY = 5     # cycles from the last needed byte to the record
GAP_WORDS = 6   # between frames

_REGISTERS = {address + 4 * word: (block.name, register.name, word)
              for block in registers.BLOCKS for address, register in block.offsets() for word in range(register.words)}


class LoopDevice:
    """``Device`` and ``FrameSink`` around a ``Golden``.

    ``spoil(rows)`` returns the rows that are written; ``lie``: ``{"block.register": value}`` once frames have come. Clearing begins with another
    ``Golden``; counters and sequence go on, and slots stay loaded, but stale until they are loaded again.
    """

    name = "loop"

    def __init__(self, preset="demo", spoil=None, lie=None):
        self.preset, self.spoil, self.lie = PRESETS[preset], spoil or (lambda rows: rows), lie or {}
        self.value = {(block.name, r.name): r.reset for block in registers.BLOCKS for r in block.registers}
        self.symbols, self.buffer, self.golden = {}, None, None
        self.past, self.past_types, self.sequence = Counter(), Counter(), 0   # of the runs before
        self.written, self.cycle, self.evaluated, self.last_out, self.closed, self.sent = 0, 1000, 1000, 0, False, 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.closed = True

    # ---- registers

    def read32(self, address):
        block, name, word = _REGISTERS[address]
        return self._read(block, name) >> 32 * word & 0xFFFFFFFF

    def _read(self, block, name):
        if self.sent and f"{block}.{name}" in self.lie:
            return self.lie[f"{block}.{name}"]
        golden = self.golden
        if block == "id":
            return {"magic": registers.MAGIC, "version": registers.VERSION}.get(name) or getattr(self.preset, name)
        if (block, name) == ("control", "ready"):
            return 1
        if (block, name) == ("ring", "written"):
            return self.written & 0xFFFFFFFF
        if (block, name) == ("ring", "records"):
            return self.written
        if (block, name) in self.past or golden and name in golden.counters.get(block, {}):
            return (self.past[block, name] + (golden.counters[block][name] if golden else 0)) % (1 << 48)
        if (block, name) == ("feed", "type_count"):
            code = self.value["feed", "type_select"]
            return self.past_types[code] + (golden.type_count.get(code, 0) if golden else 0)
        if golden:
            session = golden.session or bytes(10)
            special = {("mold", "expected"): golden.expected, ("mold", "session_low"): int.from_bytes(session[:8], "little"),
                       ("mold", "session_high"): int.from_bytes(session[8:], "little"), ("symbol", "stale"): sum(1 << k for k in golden.stale)}
            if (block, name) in special:
                return special[block, name]
        return self.value[block, name]

    def write32(self, address, value):
        block, name, word = _REGISTERS[address]
        keep = self.value[block, name] & ~(0xFFFFFFFF << 32 * word)
        self.value[block, name] = keep | value << 32 * word
        if (block, name) == ("control", "clear"):
            self._clear()
        if (block, name) == ("command", "push"):
            self._command(value)
        if (block, name) == ("symbol", "load"):
            s = {n: self.value["symbol", n] for n in ("locate", "base", "tick", "flags")}
            self.symbols.pop(value, None)
            if s["flags"] & 1:
                self.symbols[value] = Symbol(value, s["locate"], s["base"], TICK_SIZES[s["tick"]], stale=bool(s["flags"] & 2))

    post32 = write32

    def _command(self, kind):
        """It takes effect at once, and its record comes with those of the next frames."""
        fields = {name: self.value["command", name] for name in ("slot", "reference", "side", "qty", "price")}
        self.golden.command(Command(kind, **fields), self.value["command", "pushed"], self.cycle)
        self.value["command", "pushed"] += 1
        self.value["command", "done"] += 1

    def _clear(self):
        if self.golden:
            self.past.update({(block, name): n for block, counts in self.golden.counters.items() for name, n in counts.items()})
            self.past_types.update(self.golden.type_count)
            self.sequence += self.golden_records
            self.golden = None
        self.symbols = {slot: replace(symbol, stale=True) for slot, symbol in self.symbols.items()}

    def allocate(self, size):
        self.buffer = DmaBuffer(np.zeros(size, np.uint8), 1 << 32)
        return self.buffer

    # ---- frames

    def send(self, batch, *, first=0, spacing="minimum", max_records=None):
        if self.golden is None:
            net = {k: self.value["net", k] for b, k in self.value if b == "net"}
            filters = [(net[f"group{k}"], net[f"port{k}"] & 0xFFFF) for k in range(self.preset.filters) if net[f"port{k}"] >> 16]
            assert self.value["control", "enable"] and self.value["ring", "enable"]
            self.golden_records = 0
            self.golden = Golden(self.preset, self.symbols.values(), filters, start=self.value["mold", "start"])
        starts = np.empty(len(batch) - first, np.int64)
        for k in range(first, len(batch)):
            if self.cycle % clocks.GEARBOX_PERIOD == clocks.GEARBOX_PERIOD - 1:
                self.cycle += 1
            starts[k - first] = self.cycle
            words = -(-int(batch.length[k]) // self.preset.lanes)
            self.golden.frame(batch[k], cycles=[word_cycle(self.cycle, w) for w in range(words)])
            self.cycle = int(word_cycle(self.cycle, words)) + GAP_WORDS
            self.sent += 1
        self.evaluated = self.cycle
        self._records()
        return starts

    def idle(self, cycles):
        self.cycle += cycles
        self.evaluated = self.cycle
        if self.golden:
            self._records()

    def _records(self):
        rows = self.golden.take().copy()
        self.golden_records += len(rows)
        rows["sequence"] += np.uint64(self.sequence)
        if len(rows):
            self._ring(rows)

    def _ring(self, rows):
        for row in rows:   # records leave one a cycle, in order
            self.last_out = max(self.last_out + 1, int(clocks.cycle_of_ns(int(row["t_wire_ns"]))) + LATENCY)
            row["t_out_ns"] = clocks.ns_of_cycle(self.last_out)
        size = 1 << self.value["ring", "size_log2"]
        ring = self.buffer.array[:size * records.SIZE].view(records.COMMON.dtype)
        for row in self.spoil(rows):
            assert (self.written - self.value["ring", "credit"]) & 0xFFFFFFFF < size, "the ring is full"
            lap = 0 if self.written // size % 2 else records.LAP_BIT
            row["number"] = int(row["number"]) | lap
            ring[self.written % size] = row
            self.written += 1
