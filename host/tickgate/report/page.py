"""One self-contained HTML page about a replay: its summary and the plots. Needs the extra ``report`` (matplotlib, jinja2)."""
from importlib.util import find_spec

NEEDS = ("matplotlib", "jinja2")
SHOWN = 3       # symbols with plots of their own
DEPTH = 40      # levels a side


def missing():
    """Names of the packages that the report needs and that are not installed."""
    return [name for name in NEEDS if find_spec(name) is None]


def page(summary, series, books):
    """The page as text.

    ``summary``: what ``tickgate.app.replay.play`` gives; ``series``: a ``Series``; ``books``: ``{slot: (bids, asks)}`` at the end, each a list of
    (price 1e-4 USD, shares), best first, for the slots whose depth is known.
    """
    import jinja2

    from . import plots

    names = {s["slot"]: s["name"] or f"locate {s['locate']}" for s in summary["symbols"]}
    busiest = sorted(series.tops, key=lambda slot: -series.tops[slot].seen)
    symbols = []
    for slot in busiest[:SHOWN]:
        tops, trades = series.tops[slot], series.trades.get(slot)
        drawn = [plots.svg(plots.top_of_book, tops.array(), trades.array() if trades else _no_trades(), size=(9, 4.2))]
        bids, asks = books.get(slot, ((), ()))
        bids, asks = near(bids, asks)
        if bids or asks:
            drawn.append(plots.svg(plots.depth, bids, asks, size=(9, 2.8)))
        symbols.append({"name": names.get(slot, f"slot {slot}"), "records": tops.seen, "keep": tops.keep, "plots": drawn})
    latency = summary["latency_cycles"]["record"]
    figures = {
        "latency": plots.svg(plots.latency, latency, size=(9, 0.9 + 0.32 * len(latency))) if latency else None,
        "messages": plots.svg(plots.messages, summary["messages"], size=(9, 0.7 + 0.26 * len(summary["messages"]))) if summary["messages"] else None,
        "rate": plots.svg(plots.rate, series.rate.start, series.rate.width, series.rate.counts, size=(9, 2.6)) if len(series.rate.counts) else None,
    }
    environment = jinja2.Environment(loader=jinja2.PackageLoader("tickgate.report", "."), autoescape=True, trim_blocks=True, lstrip_blocks=True,
                                     undefined=jinja2.StrictUndefined)
    return environment.get_template("page.html.j2").render(summary=summary, figures=figures, symbols=symbols, label=plots.label)


def near(bids, asks):
    """The best ``DEPTH`` levels of each side, without those so far from the best that they would hide the rest."""
    mid = (bids[0][0] + asks[0][0]) / 2 if bids and asks else (bids or asks or [(0, 0)])[0][0]
    spread = asks[0][0] - bids[0][0] if bids and asks else 0
    reach = max(mid * 0.03, 2 * spread)
    return tuple([level for level in side[:DEPTH] if abs(level[0] - mid) <= reach] for side in (list(bids), list(asks)))


def _no_trades():
    import numpy as np

    from .series import TRADE

    return np.empty(0, TRADE)
