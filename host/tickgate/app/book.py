"""``tickgate book``: books with their levels."""
import click

from . import options


@click.command()
@options.files
@options.selecting("rows")
@options.output
@click.option("--levels", type=click.IntRange(1, 1000), default=10, show_default=True, metavar="N", help="Levels of each side.")
@click.option("--every", type=options.Span("event"), default="event", show_default=True, metavar="event|SPAN",
              help="A row after each message that touches the book, or at fixed times: 1s, 100ms.")
def book(files, selection, resync, quiet, path, as_json, levels, every):
    """Books of the symbols in FILEs, N levels a side, as rows.

    time: ns since midnight; number: of the message (none at fixed times); valid: 1 the book is the exchange's, 0 messages were missing or made no
    sense before; crossed: 1 the best bid is at or above the best ask; then for each level, 00 the best, bid_px_00 in 1e-4 USD, bid_sz_00 in
    shares, bid_ct_00 in orders, and the same for asks. A level that is not there has no value.

    Fixed times are multiples of the span since midnight. A row shows the book after all messages up to and including its time; a symbol's first
    row is the first one after its first order, and from then on there is one at each time until the file ends.
    """
    import numpy as np

    from . import books
    from .table import NULL, TEXT, Column, Table

    columns = [Column("time", "ns since midnight"), Column("symbol", "", TEXT), Column("number", "messages"), Column("trading", "code", TEXT),
               Column("valid", "0 or 1"), Column("crossed", "0 or 1"),
               *(Column(f"{side}_{what}_{k:02}", unit) for k in range(levels) for side in ("bid", "ask")
                 for what, unit in (("px", "1e-4 USD"), ("sz", "shares"), ("ct", "orders")))]

    def told(rows):
        out = list(books.heads(rows))
        for k in range(levels):
            for side in ("bids", "asks"):
                level = rows[side][:, k]
                out += [np.where(level["count"] > 0, level[what].astype(np.int64), NULL) for what in ("price", "quantity", "count")]
        return out

    run = options.Run(files, resync, quiet)
    sampler, sampled, end, stopped = None, None, 0, False

    def samples(source, moments):
        for rows, _ in moments:
            out = told(rows)
            out[2] = NULL
            if table.take(source, out, (rows["time"] >= selection.start) & (rows["time"] < selection.end), selection.limit):
                return True
        return False

    with Table(path, columns, run.paths) as table:
        for source, rows, _, now, piece in books.walk(run, selection, rows="every", depth=levels):
            if every == "event":
                stopped = table.take(source, told(rows), rows["time"] >= selection.start, selection.limit)
            else:
                if sampled is not source:
                    stopped = sampler is not None and samples(sampled, sampler.finish(end))
                    sampler, sampled, gap = books.Sampler(every, max(selection.start - every, 0)), source, None
                if piece.gap and gap is not piece:
                    sampler.invalidate()
                    gap = piece
                stopped = stopped or samples(source, sampler.add(rows, now))
                end = now
            if stopped:
                run.stop()
        if sampler is not None and not stopped:
            samples(sampled, sampler.finish(end))
        table.commit()
    return run.ended(table, path, as_json)
