"""``tickgate signals``: the formulas are tested with ``tickgate.signals``; here, that the command gives them the right books."""
import math

import pytest

from tickgate.app import books
from tickgate.capture import mold_frame, write_pcap
from tickgate.capture.synthetic import day
from tickgate.signals import Microprice
from tickgate.spec import itch50

from . import reference as ref

NS = 10 ** 9


@pytest.fixture
def signals(run):
    """``signals(*arguments)``: the table that comes out."""
    def command(*arguments, status=0):
        ended, out, err = run("signals", "--quiet", *arguments)
        assert ended == status, err
        return ref.table(out)

    return command


@pytest.fixture
def busy(tmp_path):
    path = tmp_path / "busy.itch"
    path.write_bytes(day(21, 2, 4000))
    return path


def flow(before, after):
    """Order-flow imbalance, in the words of the paper."""
    if before is None or None in before or None in after:
        return None
    (pb0, qb0, pa0, qa0), (pb1, qb1, pa1, qa1) = before, after
    demand = qb1 if pb1 > pb0 else qb1 - qb0 if pb1 == pb0 else -qb0
    supply = -qa0 if pa1 > pa0 else qa1 - qa0 if pa1 == pa0 else qa1
    return demand - supply


def expected(path, levels, decay):
    """Rows of each change of the top: time, symbol, top, OFI, depth imbalance, mid, weighted mid."""
    reference, last, out = ref.Reference(), {}, []
    for _, letter, m in ref.decoded(ref.blocks(path.read_bytes())):
        reference.take(letter, m)
        if letter not in "AFECXDU":
            continue
        locate = m["stock_locate"]
        bid_px, bid_qty, _, ask_px, ask_qty, _ = reference.top(locate)
        top = bid_px, bid_qty, ask_px, ask_qty
        if last.get(locate, (None,) * 4) == top:
            continue
        imbalance = mid = weighted = None
        if None not in top:
            bids, asks = ([(level or (0, 0))[1] for level in side] for side in reference.levels(locate, levels))
            weights = [decay ** k for k in range(levels)]
            bid, ask = (sum(w * q for w, q in zip(weights, side)) for side in (bids, asks))
            imbalance = (bid - ask) / (bid + ask)
            if bid_px < ask_px:
                mid, weighted = (bid_px + ask_px) / 2, (bid_px * ask_qty + ask_px * bid_qty) / (bid_qty + ask_qty)
        out.append((m["timestamp"], reference.names[locate], top, flow(last.get(locate), top), imbalance, mid, weighted))
        last[locate] = top
    return out


def same(a, b, places):
    return a is b is None or a is not None and b is not None and abs(a - b) <= 0.51 * 10 ** -places


def test_each_change(signals, busy):
    rows, table = expected(busy, 3, 0.25), signals(busy, "--levels", 3, "--decay", 0.25)
    assert [(r["time"], r["symbol"], r["ofi"]) for r in table] == [(t, s, ofi) for t, s, _, ofi, *_ in rows] and len(rows) > 300
    for got, (*_, imbalance, mid, weighted) in zip(table, rows):
        assert same(got["depth_imbalance"], imbalance, 6) and same(got["mid"], mid, 1) and same(got["weighted_mid"], weighted, 4)
    assert any(r["mid"] is None and r["depth_imbalance"] is not None for r in table)    # crossed before the open


def test_every_message_adds_up_to_the_changes(signals, busy):
    """A message that leaves the top as it is adds nothing to the flow."""
    changes, messages = signals(busy), signals(busy, "--every", "message")
    assert len(messages) > len(changes)
    for name in ("ALFA", "BRAVO"):
        sums = [sum(r["ofi"] for r in table if r["symbol"] == name and r["ofi"] is not None) for table in (changes, messages)]
        assert sums[0] == sums[1] != 0


@pytest.mark.parametrize("piece", [7, books.SLICE])
def test_fixed_times(signals, busy, monkeypatch, piece):
    """The flow of an interval is the sum of its rows; the rest is as it stands at the moment."""
    monkeypatch.setattr(books, "SLICE", piece)
    every, start, end = 600 * NS, 36_000 * NS, 54_000 * NS
    rows, table = expected(busy, 5, 0.5), signals(busy, "--every", "10min", "--start", "10:00", "--end", "15:00")
    moments = range(start, end, every)
    assert [(r["time"], r["symbol"]) for r in table] == [(t, name) for t in moments for name in ("ALFA", "BRAVO")]
    some = 0
    for got in table:
        its = [r for r in rows if r[1] == got["symbol"] and got["time"] - every < r[0] <= got["time"]]
        assert got["ofi"] == sum(r[3] for r in its)
        some += bool(its)
        last = [r for r in rows if r[1] == got["symbol"] and r[0] <= got["time"]][-1]
        assert got["mid"] == last[5] and same(got["weighted_mid"], last[6], 4)
    assert some > 20


def test_microprice_is_fitted_by_symbol(signals, busy, tmp_path):
    rows, table = expected(busy, 5, 0.5), signals(busy, "--microprice", "--buckets", 4, "--spreads", 2)
    seen = 0
    for name in ("ALFA", "BRAVO"):
        quotes = [[x or 0 for x in top] for _, symbol, top, *_ in rows if symbol == name]
        model = Microprice(4, 2)
        model.observe(*zip(*quotes))
        prices = model.fit().price(*zip(*quotes))
        got = [r["microprice"] for r in table if r["symbol"] == name]
        for mine, theirs in zip(prices, got, strict=True):
            assert same(None if math.isnan(mine) else mine, theirs, 4)
            seen += theirs is not None
    assert seen > 100
    other = tmp_path / "other.itch"
    other.write_bytes(day(22, 2, 4000))
    fitted = signals(busy, "--microprice", "--fit", other, "--buckets", 4, "--spreads", 2)
    assert [r["mid"] for r in fitted] == [r["mid"] for r in table] and [r["microprice"] for r in fitted] != [r["microprice"] for r in table]


def test_stale_book_has_no_signals(signals, tmp_path, busy):
    messages = ref.blocks(busy.read_bytes())
    path = tmp_path / "gap.pcap"
    frames = [mold_frame(k + 1, messages[k:k + 10]) for k in range(0, len(messages), 10)]
    write_pcap(path, frames[:200] + frames[201:], [10 ** 18 + k for k in range(len(frames) - 1)])
    lost = int.from_bytes(messages[2000][5:11], "big")
    for every in ("change", "10s"):
        table = signals(path, "--every", every, status=1)
        values = [[r[name] for name in ("ofi", "depth_imbalance", "mid", "weighted_mid")] for r in table if r["time"] > lost + 10 * NS]
        assert len(values) > 100 and all(row == [None] * 4 for row in values)
        assert any(r["mid"] for r in table if r["time"] < lost)


def test_the_example_of_the_documentation(signals, tmp_path):
    """Bid 10.00 x 100 becomes 10.01 x 30, ask 10.02 x 100 stays: +30. (The change of quantities alone would be -70.)"""
    def message(code, **fields):
        return itch50.BY_CODE[code].encode(stock_locate=1, **fields)

    def add(reference, side, shares, price):
        return message(b"A", order_ref=reference, side=side, shares=shares, price=price, stock="X")

    path = tmp_path / "few.itch"
    path.write_bytes(ref.binaryfile([message(b"R", stock="X"), add(1, "B", 100, 100_000), add(2, "S", 100, 100_200), add(3, "B", 30, 100_100)]))
    assert [r["ofi"] for r in signals(path)] == [None, None, 30]


def test_help_has_formulas_and_signs(run):
    _, out, _ = run("signals", "--help")
    for text in ("Cont, Kukanov and Stoikov", "[Pb(n)>=Pb(n-1)] qb(n)", "above 0: buying pressure", "-1 all is offered", "(Pb qa + Pa qb) / (qb + qa)",
                 "2970694", "G* = G1 + B G1 + B^2 G1"):
        assert text in out


def test_bad_options(run, busy):
    for arguments, cause in ((("--decay", 0), "--decay"), (("--fit", busy), "--fit is for --microprice"),
                             (("--every", "never"), "must be change, message, or a span")):
        status, out, err = run("signals", busy, *arguments)
        assert (status, out) == (2, "") and cause in err and err.count("\n") == 1
    status, _, err = run("signals", "-", "--microprice")
    assert status == 2 and "standard input cannot be read again" in err
