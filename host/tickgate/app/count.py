"""``tickgate count``: how many messages of which type."""
import sys

import click

from . import options


@click.command()
@options.files
@options.selecting("messages")
@click.option("--json", "as_json", is_flag=True, help="Report as JSON.")
def count(files, selection, resync, quiet, as_json):
    """Count the messages of FILEs by type; with --symbol, of each symbol.

    FILE: BinaryFILE ITCH, pcap or pcapng, each also gzip-compressed; a pattern; - for standard input. Messages that several lines of a feed bring count once.

    Exit status: 1 when a file is cut off or messages are missing, 2 when its bytes make no sense; what came before is counted all the same.
    """
    import numpy as np

    from tickgate.capture import CaptureError, kernels

    from .table import show

    types, short, symbols, sources, error, left = np.zeros(256, np.int64), 0, {}, [], None, selection.limit
    run = options.Run(files, resync, quiet)
    try:
        for source, pieces in run:
            by_locate, before = {}, types.copy()
            sources.append((source, by_locate, before))
            for piece in pieces:
                if not selection.is_all:
                    which = (piece.time >= selection.start) & (piece.time < selection.end)
                    if selection.symbols:
                        which &= selection.locates(source.names)[piece.locate]
                    piece = piece.only(which)
                if left is not None:
                    piece, left = piece.cut(left), left - min(left, len(piece))
                whole = piece.size >= kernels.COMMON
                short += len(piece) - int(whole.sum())
                types += np.bincount(piece.kind[whole], minlength=256)
                if selection.symbols:
                    for locate in np.unique(piece.locate).tolist():
                        by_locate[locate] = by_locate.get(locate, 0) + np.bincount(piece.kind[whole & (piece.locate == locate)], minlength=256)
                if left == 0:
                    run.stop()
                    break
            if selection.symbols:
                for locate, counts in by_locate.items():
                    name = source.names.name[locate].decode()
                    symbols[name] = symbols.get(name, 0) + counts
        if not run.is_stopped:
            selection.complain(run)
    except CaptureError as e:
        if not types.any() and not short:
            raise
        error, run.status = e, 2
    report = _report(run, sources, types, short, symbols, error)
    show(_text(report), as_json, report)
    if error:
        print(f"tickgate: error: {error}", file=sys.stderr)
    return run.status


def _by_type(counts):
    """Counts by type, most first."""
    order = sorted((-n, code) for code, n in enumerate(counts.tolist()) if n)
    return {_letter(code): -n for n, code in order}


def _letter(code):
    return chr(code) if 0x20 < code < 0x7F else f"0x{code:02x}"


def _report(run, sources, types, short, symbols, error):
    from tickgate.capture import kernels

    described = []
    for source, _, _ in sources:
        one = {"path": source.label, "kind": source.kind, "messages": source.messages, "complete": source.whole and error is None,
               "resyncs": source.report.resyncs, "notes": source.notes}
        if source.lines is not None:
            lines = source.lines
            one |= {"first_message": lines.first, "gaps": lines.gaps, "missing": lines.missing, "duplicates": lines.duplicates,
                    "out_of_order": lines.late, "frames_without_messages": dict(lines.skipped)}
        described.append(one)
    total = int(types.sum()) + short
    report = {"messages": total, "types": _by_type(types), "unknown_types": [_letter(code) for code in range(256) if types[code] and not kernels.SIZES[code]],
              "short": short, "files": described, "error": str(error) if error else None}
    if symbols:
        report["symbols"] = {name: _by_type(counts) for name, counts in sorted(symbols.items())}
    return report | {"seconds": round(run.seconds, 3), "messages_per_s": round(sum(s.messages for s, _, _ in sources) / max(run.seconds, 1e-9))}


def _text(report):
    from tickgate.spec import itch50

    known = {message.code.decode(): message.name.replace("_", " ") for message in itch50.MESSAGES}
    rows = [(letter, f"{n:,}", known.get(letter, "unknown type")) for letter, n in report["types"].items()]
    if report["short"]:
        rows.append(("", f"{report['short']:,}", "shorter than any message"))
    rows.append(("", f"{report['messages']:,}", "messages"))
    wide = max(len(n) for _, n, _ in rows)
    out = [f"{letter:4} {n:>{wide}}  {what}" for letter, n, what in rows]
    for name, types in report.get("symbols", {}).items():
        out.append(f"{name}: {sum(types.values()):,}: " + " ".join(f"{letter} {n:,}" for letter, n in types.items()))
    if len(report["files"]) > 1:
        out += [f"{one['path']}: {one['messages']:,} messages" for one in report["files"]]
    if report["unknown_types"]:
        out.append(f"unknown types: {' '.join(report['unknown_types'])}")
    return "\n".join(out)
