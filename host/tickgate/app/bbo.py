"""``tickgate bbo``: best bid and offer."""
import click

from . import options

LEVELS = 32      # levels in which a round lot must be found


@click.command()
@options.files
@options.selecting("rows")
@options.output
@click.option("--every", type=click.Choice(["change", "message"]), default="change", show_default=True,
              help="A row for each change of price or size, or for each message that touches the book.")
@click.option("--round-lots", is_flag=True, help="Also the best bid and offer in round lots.")
def bbo(files, selection, resync, quiet, path, as_json, every, round_lots):
    """Best bid and offer of each symbol in FILEs, as rows.

    time: ns since midnight; number: of the message; prices in 1e-4 USD, sizes in shares, an empty side has no value; trading: T trades, Q quotes
    only, H halted, P paused, h halted by the operator; valid: 1 the book is the exchange's, 0 messages were missing or made no sense before;
    crossed: 1 the bid is at or above the ask, which is legal outside continuous trading.

    --round-lots: an order smaller than the symbol's round lot (of R, else 100 shares) is no quote by itself. round_bid_px is the best price at
    which, together with all that is better, at least one round lot is bid, round_bid_qty how much that is in whole lots; the same for asks.
    Looked for in 32 levels.
    """
    import numpy as np

    from tickgate.spec import records

    from . import books
    from .table import NULL, TEXT, Column, Table

    columns = [Column("time", "ns since midnight"), Column("symbol", "", TEXT), Column("number", "messages"),
               *(Column(f"{side}_{what}", unit) for side in ("bid", "ask") for what, unit in (("px", "1e-4 USD"), ("qty", "shares"), ("orders", "orders"))),
               Column("trading", "code", TEXT), Column("valid", "0 or 1"), Column("crossed", "0 or 1")]
    if round_lots:
        columns += [Column(f"round_{side}_{what}", unit) for side in ("bid", "ask") for what, unit in (("px", "1e-4 USD"), ("qty", "shares"))]
    before = books.Before(8, NULL)        # round lots: what was told of a symbol last

    def told(rows, lots):
        time, symbol, number, trading, valid, crossed = books.heads(rows)
        out = [time, symbol, number, *books.side(rows, "bid", records.BID), *books.side(rows, "ask", records.ASK), trading, valid, crossed]
        if round_lots:
            lot = lots[rows["locate"]]
            lot = np.where(lot > 0, lot, 100)
            out += [*_round(rows["bids"], lot), *_round(rows["asks"], lot)]
        return out

    def changed(rows, out):
        """With round lots a change may be below the best."""
        values = np.stack([out[k] for k in (3, 4, 6, 7, 12, 13, 14, 15)], axis=1)
        return (before.take(rows, values) != values).any(axis=1)

    run = options.Run(files, resync, quiet)
    how = {"rows": "every", "depth": LEVELS} if round_lots else {"rows": "changes" if every == "change" else "every"}
    with Table(path, columns, run.paths) as table:
        for source, rows, _, _, _ in books.walk(run, selection, **how):
            out = told(rows, source.names.lot)
            which = rows["time"] >= selection.start
            if round_lots and every == "change":
                which &= changed(rows, out)
            if table.take(source, out, which, selection.limit):
                run.stop()
        table.commit()
    return run.ended(table, path, as_json)


def _round(levels, lot):
    """Price and shares of the best quote in round lots of one side; ``levels``: best first, [rows, levels]."""
    import numpy as np

    from .table import NULL

    total = levels["quantity"].astype(np.int64).cumsum(axis=1)
    enough = total >= lot[:, None]
    at, rows = enough.argmax(axis=1), np.arange(len(levels))
    there = enough[rows, at]
    return np.where(there, levels["price"][rows, at].astype(np.int64), NULL), np.where(there, total[rows, at] // lot * lot, NULL)
