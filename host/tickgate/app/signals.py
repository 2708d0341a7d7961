"""``tickgate signals``: what a book says about the next price."""
import click

from . import options

_DECIMALS = {"ofi": 0, "depth_imbalance": 6, "mid": 1, "weighted_mid": 4, "microprice": 4}


@click.command()
@options.files
@options.selecting("rows")
@options.output
@click.option("--every", type=options.Span("change", "message"), default="change", show_default=True, metavar="change|message|SPAN",
              help="A row for each change of the best bid or offer, for each message that touches the book, or at fixed times: 1s, 100ms.")
@click.option("--levels", type=click.IntRange(1, 100), default=5, show_default=True, metavar="N", help="Levels of depth_imbalance.")
@click.option("--decay", type=click.FloatRange(0, 1, min_open=True), default=0.5, show_default=True, metavar="D",
              help="Weight of a level of depth_imbalance against the one before it.")
@click.option("--microprice", "wants_microprice", is_flag=True, help="Add Stoikov's microprice, which is estimated first: reads its files one time more.")
@click.option("--fit", multiple=True, metavar="FILE", help="Estimate it on these files, not on FILEs themselves; may be repeated.")
@click.option("--buckets", type=click.IntRange(1, 100), default=10, show_default=True, metavar="N", help="microprice: parts of the imbalance.")
@click.option("--spreads", type=click.IntRange(1, 100), default=4, show_default=True, metavar="N", help="microprice: widest spread, in ticks.")
@click.option("--tick", type=click.IntRange(min=1), default=100, show_default=True, metavar="N", help="microprice: tick in 1e-4 USD.")
def signals(files, selection, resync, quiet, path, as_json, every, levels, decay, wants_microprice, fit, buckets, spreads, tick):
    """Signals of the books in FILEs, as rows. With P price, q shares, b best bid, a best ask, n this row, n-1 the one before, [x] 1 where x holds:

    \b
    ofi              order-flow imbalance after Cont, Kukanov and Stoikov (2014), shares; above 0: buying pressure
                       [Pb(n)>=Pb(n-1)] qb(n) - [Pb(n)<=Pb(n-1)] qb(n-1) - [Pa(n)<=Pa(n-1)] qa(n) + [Pa(n)>=Pa(n-1)] qa(n-1)
                     at fixed times: the sum since the time before
    depth_imbalance  -1 all is offered … 1 all is bid; over --levels levels k = 0, 1, … with weights D^k (--decay)
                       sum D^k (qb(k) - qa(k)) / sum D^k (qb(k) + qa(k))
    mid              (Pb + Pa) / 2, in 1e-4 USD
    weighted_mid     size-weighted mid, in 1e-4 USD: the more is bid, the nearer to the ask (often called microprice; it is not Stoikov's)
                       (Pb qa + Pa qb) / (qb + qa)
    microprice       Stoikov (SSRN 2970694, 2017), in 1e-4 USD: mid + G*(x), x = (imbalance qb / (qb + qa), spread)
                       G* = G1 + B G1 + B^2 G1 + …, G1 = (1 - Q)^-1 r, B = (1 - Q)^-1 T, where Q and T are the probabilities of the next state with the mid
                       unchanged and moved, r the mid's expected move, estimated for each symbol on its changes and their mirror images; above mid: upward

    No value: a side is empty, or the book is stale since messages were missing or made no sense; for mid, weighted_mid and microprice also when
    it is locked or crossed; for ofi in a symbol's first row; for microprice where the spread is wider than --spreads or the state was never seen.

    Without --fit the microprice is estimated on the rows that it is given for: good for study, but it has seen their future.
    """
    import numpy as np

    from tickgate.signals import Microprice, depth_imbalance, mid, weighted_mid
    from tickgate.spec import records

    from . import books
    from .table import SYMBOL, TEXT, Column, Table, decimal

    if fit and not wants_microprice:
        raise click.UsageError("--fit is for --microprice")
    if wants_microprice and "-" in (fit or files):
        raise click.UsageError("--microprice reads its files twice: standard input cannot be read again (--fit FILE)")
    units = {"ofi": "shares", "depth_imbalance": "1"}
    columns = [Column("time", "ns since midnight"), Column("symbol", "", TEXT),
               *(Column(name, units.get(name, "1e-4 USD"), places) for name, places in _DECIMALS.items() if name != "microprice" or wants_microprice)]
    quotes = ("bid_px", "bid_qty", "ask_px", "ask_qty")

    def valid(rows):
        return rows["flags"] & records.VALID != 0

    def best(rows):
        """The best quotes; of a book that is not valid none."""
        good = valid(rows)
        return [np.where(good, rows[name].astype(np.int64), 0) for name in quotes]

    def estimate():
        """A ``Microprice`` by symbol."""
        models, again = {}, options.Run(fit or files, resync, quiet)
        for source, rows, *_ in books.walk(again, selection._replace(limit=None), rows="changes"):
            for locate in np.unique(rows["locate"]).tolist():
                its = rows[(rows["locate"] == locate) & (rows["time"] >= selection.start)]
                model = models.setdefault(source.names.name[locate], Microprice(buckets, spreads, tick))
                if getattr(model, "source", None) is not source:
                    model.interrupt()
                    model.source = source
                model.observe(*best(its))
        return {symbol: model.fit() for symbol, model in models.items()}

    models = estimate() if wants_microprice else {}
    flow = _Flow()

    def told(source, rows, ofi):
        good = valid(rows)
        ofi = np.where(good, ofi, np.nan)
        bid, ask = (np.where(good[:, None], rows[side]["quantity"], 0) for side in ("bids", "asks"))
        out = [rows["time"], SYMBOL + rows["locate"].astype(np.int64), decimal(ofi, _DECIMALS["ofi"]),
               decimal(depth_imbalance(bid, ask, decay), _DECIMALS["depth_imbalance"]), decimal(mid(*best(rows)), _DECIMALS["mid"]),
               decimal(weighted_mid(*best(rows)), _DECIMALS["weighted_mid"])]
        if wants_microprice:
            price = np.full(len(rows), np.nan)
            for locate in np.unique(rows["locate"]).tolist():
                its = rows["locate"] == locate
                model = models.get(source.names.name[locate])
                if model:
                    price[its] = model.price(*best(rows[its]))
            out.append(decimal(price, _DECIMALS["microprice"]))
        return out

    run = options.Run(files, resync, quiet)
    sampler, current, gap, end, stopped = None, None, None, 0, False

    def samples(source, moments):
        for rows, ofi in moments:
            if table.take(source, told(source, rows, ofi), (rows["time"] >= selection.start) & (rows["time"] < selection.end), selection.limit):
                return True
        return False

    with Table(path, columns, run.paths) as table:
        for source, rows, _, now, piece in books.walk(run, selection, rows="every" if every == "message" else "changes", depth=levels):
            if source is not current:
                if sampler is not None:
                    stopped = samples(current, sampler.finish(end))
                current, flow = source, _Flow()
                sampler = None if every in ("change", "message") else books.Sampler(every, max(selection.start - every, 0))
            if piece.gap and gap is not piece:
                gap = piece
                flow.invalidate()
                if sampler is not None:
                    sampler.invalidate()
            if stopped:
                pass
            elif sampler is None:
                ofi = flow.of(rows, best(rows))
                stopped = table.take(source, told(source, rows, ofi), rows["time"] >= selection.start, selection.limit)
            else:
                stopped = samples(source, sampler.add(rows, now, flow.of(rows, best(rows))))
            end = now
            if stopped:
                run.stop()
        if sampler is not None and not stopped:
            samples(current, sampler.finish(end))
        table.commit()
    return run.ended(table, path, as_json)


class _Flow:
    """Order-flow imbalance of rows, each against the one of its symbol before it."""

    def __init__(self):
        from . import books

        self.before = books.Before(4, 0)

    def of(self, rows, quotes):
        """Of each of ``rows`` with its best ``quotes``."""
        import numpy as np

        from tickgate.signals import order_flow_imbalance

        before = self.before.take(rows, np.stack(quotes, axis=1))
        return order_flow_imbalance(before.T, quotes)

    def invalidate(self):
        """Messages are missing from here on."""
        self.before.forget()
