"""The plots of the report, each as inline SVG. Prices are drawn in USD, times as time of day where the capture has it."""
import io
import re
import zlib

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, MultipleLocator

from tickgate.spec import clocks, itch50, records

BID, ASK, TRADE, INK, QUIET, ACCENT, STALE = "#1a7f64", "#c2452d", "#22303c", "#22303c", "#8a97a3", "#2f6db3", "#f3d9a4"
STYLE = {"svg.fonttype": "none", "font.size": 9, "font.family": "sans-serif", "axes.edgecolor": QUIET, "axes.labelcolor": INK,
         "text.color": INK, "xtick.color": INK, "ytick.color": INK, "axes.spines.top": False, "axes.spines.right": False,
         "axes.grid": True, "grid.color": "#e6eaee", "grid.linewidth": 0.7, "axes.axisbelow": True, "axes.titlesize": 10,
         "axes.titlelocation": "left", "legend.frameon": False}
DAY_NS = 86_400 * 10**9
LABELS = 7      # of a time axis, at most
ALONE_NS = 500  # to either side of a time that is the only one
STEPS_NS = (*(step * 10**k for k in range(9) for step in (1, 2, 5)), *(step * 10**9 for step in (1, 2, 5, 10, 15, 30)),
            *(step * 60 * 10**9 for step in (1, 2, 5, 10, 15, 30)), *(step * 3600 * 10**9 for step in (1, 2, 3, 6, 12)))
DRAWN = 400   # bars of the record rate, at most


def svg(draw, *args, size=(9, 3)):
    """Run ``draw(figure, *args)`` on a new figure of ``size`` inches; returns the SVG element, fit to be put into a page beside others."""
    name = draw.__name__
    with matplotlib.rc_context({**STYLE, "svg.hashsalt": name}):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure, *args)
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    text = out.getvalue()
    text = text[text.index("<svg"):]
    # ids are unique in one figure only, but a page shares them
    prefix = f"{name}-{zlib.crc32(text.encode()):08x}-"
    text = re.sub(r'\bid="', f'id="{prefix}', text)
    text = re.sub(r'(href="#|url\(#)', lambda m: m.group(1) + prefix, text)
    return re.sub(r'<svg ([^>]*?)height="[^"]*" ([^>]*?)width="[^"]*"', r'<svg \1\2', text, count=1)


def _clock(axes, first, last):
    """Make x a time axis of nanoseconds from ``first`` to ``last``, as ``_of_day`` gives them: labelled with time of day for UTC epoch or since midnight,
    finer the shorter the span, and with the days before it when it is longer than one."""
    first, last = int(first), int(last)
    if first == last:
        first, last = first - ALONE_NS, last + ALONE_NS
    span = last - first
    digits = 0 if span > 20 * 10**9 else 3 if span > 20 * 10**6 else 6 if span > 20 * 10**3 else 9

    def text(ns, _):
        days, ns = divmod(int(ns), DAY_NS)
        s, rest = divmod(ns, 10**9)
        fraction = f".{rest:09d}"[:digits + 1] if digits else ""
        return (f"day {days + 1:,}, " if span > DAY_NS else "") + f"{s // 3600:02d}:{s // 60 % 60:02d}:{s % 60:02d}{fraction}"

    labels = LABELS if span <= DAY_NS else LABELS // 2   # longer ones
    whole_days = -(-span // (labels * DAY_NS)) * DAY_NS
    axes.set_xlim(first, last)   # ours and not the plot's own margins, which may be years: there would be no end of labels
    axes.xaxis.set_major_formatter(FuncFormatter(text))
    axes.xaxis.set_major_locator(MultipleLocator(next((step for step in STEPS_NS if step * labels >= span), whole_days)))


def _of_day(times, first):
    """Times in ns since midnight of the day of ``first``: small enough for the floats of a plot."""
    return times - first // DAY_NS * DAY_NS


def latency(figure, table):
    """Cycles from the last needed byte to the record, by message type: line from least to most, dot at the median."""
    names = [n for n in table if table[n]["count"]]
    axes = figure.add_subplot()
    for y, name in enumerate(reversed(names)):
        t = table[name]
        axes.plot([t["min"], t["max"]], [y, y], color=QUIET, linewidth=3, solid_capstyle="round")
        axes.plot([t["p99"]], [y], marker="|", markersize=11, color=ACCENT, markeredgewidth=2)
        axes.plot([t["p50"]], [y], marker="o", markersize=7, color=ACCENT)
        axes.annotate(f"{t['p50']}" if t["min"] == t["max"] else f"{t['min']} / {t['p50']} / {t['max']}", (t["max"], y), xytext=(10, 0),
                      textcoords="offset points", va="center", fontsize=8)
    axes.set_yticks(range(len(names)), [label(n) for n in reversed(names)])
    axes.set_ylim(-0.7, len(names) - 0.3)
    top = max((table[n]["max"] for n in names), default=1)
    axes.set_xlim(0, top * 1.15 + 2)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("cycles from the word with the last needed byte to the record (dot: median, tick: p99, line: min to max)")
    ns = clocks.NS_NUMERATOR / clocks.NS_DENOMINATOR
    axes.secondary_xaxis("top", functions=(lambda c: c * ns, lambda t: t / ns)).set_xlabel("ns")


def label(name):
    """A message type with its name: ``A  add order``."""
    if name == "gap":
        return "gap"
    layout = itch50.BY_CODE.get(name[:1].encode())
    return f"{name[:1]}  {layout.name.replace('_', ' ') if layout else 'unknown'}{', trade' if name.endswith('_trade') else ''}"


def top_of_book(figure, tops, trades):
    """Best bid and ask of one symbol over time with its trades; below it the spread."""
    axes, spread = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    start = int(tops["time"][0])
    time, usd = _of_day(tops["time"], start), lambda px: np.where(px >= 0, px / 10_000, np.nan)
    bid, ask = usd(tops["bid"]), usd(tops["ask"])
    both = ~np.isnan(bid) & ~np.isnan(ask)
    axes.fill_between(time, bid, ask, where=both, step="post", color="#eef2f5", linewidth=0)
    axes.step(time, ask, where="post", color=ASK, linewidth=1.1, label="best ask")
    axes.step(time, bid, where="post", color=BID, linewidth=1.1, label="best bid")
    if len(trades):
        size = 5 + 60 * trades["shares"] / max(1, trades["shares"].max())
        axes.scatter(_of_day(trades["time"], start), trades["price"] / 10_000, s=size, color=TRADE, alpha=0.3, linewidth=0, zorder=1.8,
                     label="trade (area: shares)")
    stale = (tops["flags"] & records.STALE) != 0
    if stale.any():
        axes.fill_between(time, 0, 1, where=stale, step="post", transform=axes.get_xaxis_transform(), color=STALE, alpha=0.5, linewidth=0,
                          label="stale")
    limits = _core(bid, ask, trades["price"] / 10_000)
    if limits:
        axes.set_ylim(*limits)
    axes.set_ylabel("USD")
    axes.legend(loc="upper left", ncols=4, fontsize=8, bbox_to_anchor=(0, 1.14))
    gap = np.where(both, (ask - bid) * 100, np.nan)
    spread.step(time, gap, where="post", color=ACCENT, linewidth=1)
    spread.set_ylabel("spread, cent")
    if both.any():
        low, high = min(0, np.nanmin(gap)), np.nanpercentile(gap, 97)
        spread.set_ylim(low * 1.1, max(high * 1.3, low + 0.01))
    _clock(spread, time.min(), time.max())


def _core(bid, ask, trades):
    """Price range worth drawing: quotes far from everything would flatten the rest."""
    values = [np.nanpercentile(v, [3, 97]) for v in (bid, ask) if (~np.isnan(v)).any()]
    if not values:
        return None
    low, high = min(v[0] for v in values), max(v[1] for v in values)
    inner = [np.nanpercentile(bid, 50), np.nanpercentile(ask, 50)] if len(values) == 2 else [low, high]
    width = max(inner[1] - inner[0], inner[0] * 0.002)
    low, high = max(low, inner[0] - 20 * width), min(high, inner[1] + 20 * width)
    near = trades[(trades > low - width) & (trades < high + width)]
    if len(near):
        low, high = min(low, near.min()), max(high, near.max())
    margin = max((high - low) * 0.08, 0.0001)
    return low - margin, high + margin


def depth(figure, bids, asks):
    """Shares resting at each price at the end; ``bids`` and ``asks`` are (price 1e-4 USD, shares), best first."""
    axes = figure.add_subplot()
    for levels, colour, name in ((bids, BID, "bids"), (asks, ASK, "asks")):
        if levels:
            price, shares = np.array(levels, dtype=np.int64).T
            axes.fill_between(price / 10_000, np.cumsum(shares), step="post", color=colour, alpha=0.15, linewidth=0)
            axes.step(price / 10_000, np.cumsum(shares), where="post", color=colour, linewidth=1.3, label=f"{name}, cumulative")
            axes.vlines(price / 10_000, 0, shares, color=colour, linewidth=2)
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.0f}"))
    axes.set_xlabel("USD")
    axes.set_ylabel("shares")
    axes.legend(loc="upper left", ncols=2, fontsize=8, bbox_to_anchor=(0, 1.16))


def messages(figure, counts):
    """Messages of the capture by type, on a logarithmic scale, since the rare ones matter as well."""
    axes = figure.add_subplot()
    items = sorted(counts.items(), key=lambda item: item[1])
    axes.barh(range(len(items)), [n for _, n in items], color=ACCENT, height=0.65)
    for y, (_, n) in enumerate(items):
        axes.annotate(f"{n:,}", (n, y), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8)
    axes.set_yticks(range(len(items)), [label(t) for t, _ in items])
    axes.set_xscale("log")
    axes.set_xlim(0.8, max((n for _, n in items), default=1) * 4)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("messages")


def rate(figure, start, width, counts):
    """Records a second over the capture's time, where all but a thousandth of them are."""
    axes = figure.add_subplot()
    share = np.cumsum(counts) / counts.sum()
    first, last = np.searchsorted(share, 0.0005), np.searchsorted(share, 0.9995) + 1
    start, counts = start + width * int(first), counts[first:last]
    join = -(-len(counts) // DRAWN)
    counts = np.append(counts, np.zeros(-len(counts) % join, np.int64)).reshape(-1, join).sum(axis=1)
    width *= join
    time = _of_day(start + width * np.arange(len(counts) + 1), start)
    per_second = counts * (10**9 / width)
    axes.stairs(per_second, time, fill=True, color=ACCENT, alpha=0.75)
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.0f}"))
    axes.set_ylabel(f"records/s, mean of {_duration(width)}")
    _clock(axes, time[0], time[-1])


def _duration(ns):
    for unit, size in (("s", 10**9), ("ms", 10**6), ("µs", 10**3)):
        if ns >= size:
            return f"{ns / size:,.4g} {unit}"
    return f"{ns} ns"
