"""``make latency``: writes docs/latency.md and build/latency/summary.json.

    python -m tickgate_sim.latency [--presets full,wide] [--messages 100000] [--check]

Exit status: 1 when a message was lost, when a latency is not the declared one or changes under load, or with ``--check`` when the page is not what was
found. With other presets or another number of messages nothing is written.
"""
import argparse
import json
import sys
from pathlib import Path

from tickgate.app.latency import nanoseconds
from tickgate.spec.emit import markdown_table
from tickgate.spec.presets import PRESETS

from .declared import GROUPS, hops, top_of_book
from .measured import LONG, measure

PAGE, SUMMARY = Path("docs/latency.md"), Path("build/latency/summary.json")
SHOWN, MESSAGES = ("full", "wide"), 100_000


def wrong(preset, rows):
    """What no run of ``preset`` may show, a line each."""
    declared = top_of_book(preset)
    return [f"{row.pattern}: {row.lost} records lost" for row in rows if row.lost] + [
        f"{row.pattern}: {t} takes {span[0]} to {span[1]} cycles {how}, declared are {declared[t]}"
        for row in rows for how, spans in (("idle", row.idle), ("at line rate", row.packed)) for t, span in spans.items() if span != (declared[t],) * 2]


PAGE_TEXT = """# Latency, in cycles

Written by `make latency`. A cycle is 3.103 ns (322.265625 MHz). It runs from the word with the last byte that decides what a message does, at the MAC's
output, to the cycle in which the result is valid. It is the same for every message of a type: at any alignment, whatever the book looks like, idle and at
line rate, with the bubbles of the line.

The transceiver, PCS and MAC before it, and the way to host memory behind it, are not in these sums.

{presets}
"""

PRESET_TEXT = """## Preset `{preset}`

What the hops declare, each held by its own tests, and their sums{far}:

{declared}

What the virtual card shows with one symbol, so that every message meets the one before it. *Packed*: datagrams with up to {long:,} bytes of messages (jumbo
frames), back to back at 10G line rate; change is against *idle*, a message a frame. *Spacing* is the mean distance of the messages of a datagram. Every record
was compared with the twin's. Cycles count from the last needed byte to the top of book: the record's own times, less the cycles from top of book to record.

{measured}
"""


def _span(span):
    return str(span[0]) if span[0] == span[1] else f"{span[0]} to {span[1]}"


def section(preset, rows):
    """What the page says of a preset."""
    columns = [hops(types, preset) for types in GROUPS]
    tops, totals = ([sum(cycles for _, _, cycles in column[:end]) for column in columns] for end in (-1, None))
    declared = markdown_table(["hop", "from → to", *GROUPS], [
        *([hop, way, *(column[k][2] for column in columns)] for k, (hop, way, _) in enumerate(columns[0])),
        ["**last needed byte → top of book**", "", *(f"**{n}** ({nanoseconds(n):.1f} ns)" for n in tops)],
        ["last needed byte → record", "", *(f"{n} ({nanoseconds(n):.1f} ns)" for n in totals)]])
    measured = markdown_table(["pattern", "messages offered", "spacing, cycles", "lost", "cycles to the top of book, packed", "change"], (
        [row.pattern, f"{row.offered:,}", f"{row.spacing:.2f}", str(row.lost), ", ".join(f"{t} {_span(span)}" for t, span in row.packed.items()),
         str(row.change)]
        for row in rows))
    far = f"; {2 * preset.crossing} of them are registers to memories in other SLRs and back" if preset.crossing else ""
    return PRESET_TEXT.format(preset=preset.name, long=LONG, declared=declared, measured=measured, far=far)


def summary(preset, rows):
    """The same for build/latency/summary.json."""
    return {"top_of_book": top_of_book(preset), "line_rate": [
        {"pattern": row.pattern, "offered": row.offered, "spacing_cycles": round(row.spacing, 3), "lost": row.lost, "packed": row.packed, "idle": row.idle,
         "change": row.change} for row in rows]}


def main(arguments=None):
    options = argparse.ArgumentParser(prog="python -m tickgate_sim.latency", description=__doc__.splitlines()[0])
    options.add_argument("--presets", default=",".join(SHOWN))
    options.add_argument("--messages", type=int, default=MESSAGES, help="of each pattern at line rate")
    options.add_argument("--check", action="store_true", help="fail when docs/latency.md is not what is found")
    options = options.parse_args(arguments)
    problems, sections, found = [], [], {}
    for name in options.presets.split(","):
        if name not in PRESETS:
            sys.exit(f"no preset {name!r}: there are {', '.join(PRESETS)}")
        preset, rows = PRESETS[name], measure(name, options.messages)
        for row in rows:
            print(f"{name}: {row.pattern}: {row.offered:,} messages, {row.lost} lost, packed {row.packed}, idle {row.idle}", flush=True)
        problems += wrong(preset, rows)
        sections.append(section(preset, rows))
        found[name] = summary(preset, rows)
    text = PAGE_TEXT.format(presets="\n".join(sections))
    if tuple(found) == SHOWN and options.messages == MESSAGES:
        SUMMARY.parent.mkdir(parents=True, exist_ok=True)
        SUMMARY.write_text(json.dumps(found, indent=1) + "\n")
        if not options.check:
            PAGE.write_text(text)
        elif not PAGE.exists() or PAGE.read_text() != text:
            problems.append(f"{PAGE} is stale: make latency writes it")
    for problem in problems:
        print(f"tickgate: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
