"""The main job: a capture through card, ring and twin.

``prepare`` reads the capture once and settles what the card is told; ``play`` runs it through a ``Pair`` of card and twin and sums up what was found.
"""
import contextlib
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tickgate.capture import open_capture
from tickgate.capture import scan as survey
from tickgate.spec import clocks
from tickgate.spec.commands import HOST
from tickgate.spec.presets import PRESETS
from tickgate.twin import Golden

from . import mismatch, summary, symbols, version
from .errors import InputError
from .latency import Latency, nanoseconds, top_of_book
from .pair import Pair
from .tally import Tally


@dataclass(frozen=True, kw_only=True)
class Job:
    """What the user asked for. ``symbols``: see ``symbols.choose``; ``groups``: ``IP:PORT`` texts; ``limit``: ITCH messages."""

    capture: str
    card: str = "virtual"
    preset: str = "demo"
    symbols: str | None = None
    groups: tuple = ()
    limit: int | None = None
    check: bool = True
    spacing: str | None = None    # of frames: minimum, capture; None: what the core can take for ever
    recentre: bool = False


@dataclass(kw_only=True)
class Plan:
    """What the card is told, and the capture it comes from. ``scan``: of what goes to its filters; ``start``: number of the first message;
    ``notes``: what the user should know of all that."""

    job: Job
    capture: object
    scan: object
    preset: object
    symbols: list
    filters: list
    notes: list
    start: int
    seconds: dict = field(default_factory=dict)   # wall time by phase

    @property
    def spacing(self):
        """Of the frames: what the user wants, else back to back, but in the capture's time where the wire is faster than the core."""
        return self.job.spacing or ("minimum" if self.preset.lanes == self.preset.word else "capture")

    @contextlib.contextmanager
    def timed(self, phase):
        """Add the time of the block to a phase."""
        begin = time.monotonic()
        try:
            yield
        finally:
            self.seconds[phase] = self.seconds.get(phase, 0.0) + time.monotonic() - begin


def prepare(job):
    """Read the capture once, and choose symbols and filters. Raises ``InputError`` or ``CaptureError`` for whatever cannot be replayed."""
    if job.recentre and not job.check:
        raise InputError("--recentre needs the twin: it does not go with --no-check")
    preset = PRESETS.get(job.preset)
    if preset is None:
        raise InputError(f"unknown preset {job.preset}: there are {', '.join(PRESETS)}")
    begin = time.monotonic()
    capture = open_capture(job.capture)
    scan = survey(capture, job.limit)
    chosen, ignored = symbols.filters(job.groups, scan, preset)
    notes = [symbols.ignored_note(ignored, scan)] if ignored else []
    if ignored and not scan.destinations.keys().isdisjoint(chosen):
        scan = survey(capture, job.limit, set(chosen))   # what the card does not hear must not count
    if scan.late:
        notes.append(f"{scan.late}: all symbols are stale")
    plan = Plan(job=job, capture=capture, scan=scan, preset=preset, symbols=symbols.choose(job.symbols, scan, preset, job.capture),
                filters=chosen, notes=notes, start=scan.first_sequence)
    plan.seconds["scan"] = time.monotonic() - begin
    return plan


def play(plan, device, progress, series=None):
    """Replay what ``prepare`` planned on ``device``. Returns the summary (``docs/summary.md``) and the twin (None without check).

    ``series`` (``tickgate.report.series.Series``) collects what the report draws.
    """
    job, scan = plan.job, plan.scan
    pair = Pair(device, plan.preset, plan.symbols, plan.filters, plan.start, check=job.check, spacing=plan.spacing, recentre=job.recentre)
    latency, recent = Latency(), ()
    tally = Tally((s.slot for s in plan.symbols), {s.slot: scan.late for s in plan.symbols if s.stale})
    progress.start(scan.frames)
    try:
        with plan.timed("run"):
            for batch, starts, rows in pair.run(plan.capture.frames(job.limit)):
                tally.add(rows)
                latency.add(rows[rows["source"] != HOST])
                if batch is not None:
                    recent = (*recent[-1:], (batch.time_ns, starts))   # a record comes from one of the last two
                    progress.advance(len(batch), scan.total * len(batch) / scan.frames)
                if series is not None and len(rows):
                    series.add(rows, captured(rows, recent))
    finally:
        progress.stop()
    return _summary(plan, pair, tally, latency), pair.golden


def moves(pair):
    """Re-centrings as the summary has them; cycles from the first hold to the arming, in which the symbol was stale, ``None`` when it still is."""
    return [{"slot": m.slot, "from": m.old, "to": m.new, "orders": m.orders, "commands": m.commands, "holds": m.holds, "refused": m.refused,
             "cycles": int(clocks.cycles_between(m.began, m.ended)) if m.ended else None}
            for m in (pair.recentring.moves if pair.recentring else ())]


def captured(rows, recent):
    """Capture time of the frame that each record comes from: the last one that began before the record's word. ``recent``: pairs of capture times and
    cycles of the first words of frames that went one after the other."""
    time_ns = np.concatenate([t for t, _ in recent])
    starts = np.concatenate([s for _, s in recent])
    at = np.searchsorted(starts, clocks.cycle_of_ns(rows["t_wire_ns"].astype(np.int64)), "right") - 1
    return time_ns[np.maximum(at, 0)]


def _differences(plan, pair):
    """All that differs as texts, and the first record's story if it is a record."""
    if pair.failure:
        return [pair.failure], None
    if pair.difference:
        with plan.timed("mismatch"):
            frames = ((frame, False) for batch in plan.capture.frames(plan.job.limit) for frame in batch)
            told = mismatch.story(pair.difference, frames, Golden(plan.preset, plan.symbols, plan.filters, start=plan.start), pair.commands)
        return [told["text"]], told
    if not pair.golden:
        return [], None
    texts = pair.final()
    tracked = sum(int(plan.scan.book[s.locate]) for s in plan.symbols)
    if tracked and not pair.check.compared:
        texts.append(f"nothing was compared, although the capture has {tracked} book messages of tracked symbols")
    return texts, None


def _summary(plan, pair, tally, latency):
    job, scan, counters, table = plan.job, plan.scan, pair.counters(), latency.table()
    notes = [*plan.capture.report.warnings(), *plan.notes]
    differences, told = _differences(plan, pair)
    return {
        "version": version(),
        "status": "mismatch" if differences else "equal" if pair.golden else "unchecked",
        "capture": {"path": str(job.capture), "name": Path(job.capture).name, "kind": plan.capture.kind, "first_message": plan.start},
        "card": pair.device.name,
        "preset": job.preset,
        "spacing": plan.spacing,
        "limit": job.limit,
        "messages": dict(sorted(scan.messages.items(), key=lambda item: -item[1])),
        "messages_total": scan.total,
        "frames": pair.frames,
        "records": pair.records,
        "records_by_kind": dict(tally.kinds),
        "compared": pair.check.compared,
        "mismatches": len(differences),
        "dropped": summary.lost(counters),
        "drops": {**summary.nonzero(counters, summary.LOST), **summary.nonzero(counters, summary.PASSED_OVER)},
        "faults": dict(tally.faults),
        "gaps": dict(tally.gaps),
        "symbols": [{"slot": s.slot, "locate": s.locate, "name": s.name, "base": s.base, "tick": s.tick, "updates": tally.updates[s.slot],
                     "cause": tally.stale.get(s.slot)} for s in plan.symbols],
        "recentrings": moves(pair),
        "latency_cycles": {"record": table, "top_of_book": top_of_book(table)},
        "latency_ns": {"record": {name: {p: v if p == "count" else nanoseconds(v) for p, v in t.items()} for name, t in table.items()}},
        "cycles": pair.cycles,
        "kcycles_per_s": round(pair.cycles / max(pair.seconds, 1e-9) / 1000, 1),
        "messages_per_s": round(scan.total / max(plan.seconds["run"], 1e-9)),
        "seconds": {phase: round(s, 3) for phase, s in plan.seconds.items()},
        "counters": counters,
        "type_count": pair.type_counts(),
        "filters": plan.filters,
        "differences": differences,
        "mismatch": told,
        "notes": notes,
    }
