"""What a replay found: as JSON (``docs/summary.md`` documents its keys) and as text for people."""
from tickgate.spec import registers

from .latency import PERCENTILES, nanoseconds

#: Counters of frames, datagrams and records that were lost; of what is not the feed's or brings nothing new; of what went wrong before the card.
LOST = {
    "net": ("overflow", "not_ready", "bad_header", "fragment", "bad_length", "short_frame"),
    "mold": ("runts", "overruns"),
    "ring": ("dropped_full", "dropped_busy", "dropped_off"),
}
PASSED_OVER = {"net": ("not_ipv4", "not_udp", "filtered"), "mold": ("duplicates",), "feed": ("empty", "unknown", "short")}
TROUBLE = {"net": ("bad_fcs",), "mold": ("gaps", "missing", "sessions", "suspect")}
ENDED = {"equal": 0, "unchecked": 0, "mismatch": 1}   # exit status


def _check():
    known = {(block.name, register.name) for block in registers.BLOCKS for register in block.registers if register.access == "count"}
    for table in (LOST, PASSED_OVER, TROUBLE):
        for block, names in table.items():
            for name in names:
                if (block, name) not in known:
                    raise AssertionError(f"no counter {block}.{name}")


_check()


def nonzero(counters, table):
    """``{block.name: count}`` of the counters of a table that are not zero."""
    return {f"{block}.{name}": counters[block][name] for block, names in table.items() for name in names if counters[block][name]}


def lost(counters):
    """Frames, datagrams and records lost, together."""
    return sum(counters[block][name] for block, names in LOST.items() for name in names)


def show(summary, console):
    """Print the summary on a rich ``Console``."""
    from rich.table import Table

    facts = Table(box=None, show_header=False, pad_edge=False)
    facts.add_column(style="bold", no_wrap=True)
    facts.add_column(overflow="fold")
    types = " ".join(f"{t} {n:,}" for t, n in summary["messages"].items())
    kinds = ", ".join(f"{k} {n:,}" for k, n in summary["records_by_kind"].items())
    facts.add_row("capture", f"{summary['capture']['path']} ({summary['capture']['kind']})")
    facts.add_row("card", f"{summary['card']}, {summary['spacing']} spacing")
    facts.add_row("messages", f"{summary['messages_total']:,} in {summary['frames']:,} frames: {types}")
    facts.add_row("records", f"{summary['records']:,}" + (f": {kinds}" if kinds else ""))
    unchecked = summary["status"] == "unchecked"
    facts.add_row("compared", "not asked for" if unchecked else f"{summary['compared']:,}, mismatches {summary['mismatches']:,}")
    counters = summary["counters"]
    facts.add_row("dropped", _named(summary["dropped"], nonzero(counters, LOST)))
    for title, table in (("passed over", PASSED_OVER), ("feed trouble", TROUBLE)):
        if some := nonzero(counters, table):
            facts.add_row(title, ", ".join(f"{k} {v:,}" for k, v in some.items()))
    facts.add_row("faults", _named(sum(summary["faults"].values()), summary["faults"]))
    stale = [s for s in summary["symbols"] if s["cause"]]
    facts.add_row("stale", f"{len(stale)} of {len(summary['symbols'])} symbols" if stale else f"none of {len(summary['symbols'])} symbols")
    for s in stale:
        facts.add_row("", f"{s['name'] or s['locate']}: {s['cause']}")
    if moves := summary["recentrings"]:
        ended = [m["cycles"] for m in moves if m["cycles"] is not None]
        facts.add_row("re-centred", f"{len(ended)} of {len(moves)} ladders, {sum(m['commands'] for m in moves):,} commands"
                      + (f", {min(ended):,} to {max(ended):,} cycles" if ended else ""))
    for note in summary["notes"]:
        facts.add_row("note", note)
    facts.add_row("speed", f"{summary['kcycles_per_s']:,.0f} kcycle/s, {summary['messages_per_s']:,.0f} messages/s, {summary['cycles']:,} cycles")
    facts.add_row("time", ", ".join(f"{phase} {s:.2f} s" for phase, s in summary["seconds"].items()))
    console.print(facts)

    record = summary["latency_cycles"]["record"]
    if record:
        table = Table(box=None, pad_edge=False, header_style="bold",
                      title="\nlatency, last needed byte → record", title_justify="left", title_style="bold")
        table.add_column("type", no_wrap=True)
        table.add_column("records", justify="right")
        for p in PERCENTILES:
            table.add_column(f"{p} cycles" if p == "min" else p, justify="right")
        for p in PERCENTILES:
            table.add_column(f"{p} ns" if p == "min" else p, justify="right")
        for name, t in record.items():
            table.add_row(name, f"{t['count']:,}", *(str(t[p]) for p in PERCENTILES), *(f"{nanoseconds(t[p]):.1f}" for p in PERCENTILES))
        console.print(table)


def _named(total, parts):
    return f"{total:,}" + (f": {', '.join(f'{k} {v:,}' for k, v in parts.items())}" if parts else "")
