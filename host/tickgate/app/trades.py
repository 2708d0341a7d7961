"""``tickgate trades``: what traded."""
import click

from . import options


@click.command()
@options.files
@options.selecting("rows")
@options.output
@click.option("--all", "is_all", is_flag=True, help="Also what is no trade of its own: C that is not printable (a Q reports it), crosses of no shares.")
def trades(files, selection, resync, quiet, path, as_json, is_all):
    """Trades of the symbols in FILEs, as rows.

    type: E an order was executed at its price, C at another one, P against a hidden order, Q a cross, B the trade with this match number was
    broken later (it has no other values; its own row stays). price in 1e-4 USD, qty in shares.

    aggressor: the side that took, B or S: the other side of the resting order. Not known, so without value: for P (its side is always B since
    2014-07-14 and says nothing), for Q, and while the book is stale. printable: N when it must not count in volume. cross: O opening, C closing,
    H halt, I intraday.
    """
    import numpy as np

    from tickgate.spec import itch50, records

    from . import books
    from .table import CODE, NULL, SYMBOL, TEXT, Column, Table

    columns = [Column("time", "ns since midnight"), Column("symbol", "", TEXT), Column("number", "messages"), Column("type", "code", TEXT),
               Column("price", "1e-4 USD"), Column("qty", "shares"), Column("aggressor", "side", TEXT), Column("match", "number"),
               Column("printable", "Y or N", TEXT), Column("cross", "code", TEXT)]
    match = itch50.BY_CODE[b"B"]["match_number"]

    def told(rows):
        kind, flags = rows["message"].astype(np.int64), rows["flags"]
        is_cross, from_order = kind == ord("Q"), np.isin(kind, (ord("E"), ord("C")))
        known = from_order & (flags & records.STALE == 0)
        aggressor = np.where(flags & records.SELL != 0, ord("B"), ord("S"))
        price = np.where((rows["price"] > 0) | is_cross, rows["price"].astype(np.int64), NULL)
        return [rows["time"].astype(np.int64), SYMBOL + rows["locate"].astype(np.int64), rows["number"].astype(np.int64), CODE + kind, price,
                rows["qty"].astype(np.int64), np.where(known, CODE + aggressor, NULL), rows["match"].astype(np.int64),
                np.where(is_cross, CODE + ord("Y"), CODE + rows["detail"].astype(np.int64)),
                np.where(is_cross, CODE + rows["detail"].astype(np.int64), NULL)]

    def broken(piece, which):
        """Rows for the trades that a piece breaks."""
        at = piece.at[which]
        number = np.zeros(len(at), np.int64)
        for k in range(match.size):
            number = number << 8 | piece.data[at + books.PREFIX + match.offset + k]
        none = np.full(len(at), NULL)
        return [piece.time[which], SYMBOL + piece.locate[which].astype(np.int64), piece.first + np.flatnonzero(which), np.full(len(at), CODE + ord("B")),
                none, none, none, number, none, none]

    run = options.Run(files, resync, quiet)
    waiting, seen = [], None

    def flush(source):
        """Rows of a piece in the order of their messages, which slices and broken trades did not come in."""
        merged = [np.concatenate(column) for column in zip(*waiting)]
        waiting.clear()
        if not merged:
            return False
        order = np.argsort(merged[2], kind="stable")
        return table.take(source, [column[order] for column in merged], None, selection.limit)

    with Table(path, columns, run.paths) as table:
        last = None
        for source, _, rows, _, piece in books.walk(run, selection, rows=None, trades=True):
            if piece is not seen:
                if last is not None and flush(last):
                    run.stop()
                    break
                seen, last = piece, source
                which = (piece.kind == ord("B")) & (piece.size >= itch50.BY_CODE[b"B"].size) & (piece.time >= selection.start) & (piece.time < selection.end)
                if selection.symbols is not None:
                    which &= selection.locates(source.names)[piece.locate]
                if which.any():
                    waiting.append(broken(piece, which))
            chosen = rows["time"] >= selection.start
            if not is_all:
                chosen &= ~((rows["message"] == ord("C")) & (rows["detail"] != ord("Y"))) & ((rows["message"] != ord("Q")) | (rows["qty"] > 0))
            if chosen.any():
                waiting.append(told(rows[chosen]))
        else:
            if last is not None:
                flush(last)
        table.commit()
    return run.ended(table, path, as_json)
