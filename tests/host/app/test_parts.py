"""The parts of the main job, each alone."""
import random
import re

import numpy as np
import pytest

from tickgate.app import symbols
from tickgate.app.chunks import BYTES_A_RECORD, chunks
from tickgate.app.errors import InputError
from tickgate.app.latency import Latency
from tickgate.app.progress import LINE_EVERY, Lines
from tickgate.app.replay import captured
from tickgate.app.tally import Tally
from tickgate.capture import FrameBatch, open_capture, scan
from tickgate.report import plots
from tickgate.report.series import TOP, TRADE, Rate, Series, Thinned
from tickgate.spec import clocks, itch50, moldudp64, records
from tickgate.spec.commands import HOST
from tickgate.spec.presets import PRESETS


def test_chunks_keep_frames_and_bounds():
    rng = random.Random(3)
    for _ in range(50):
        frames = [[rng.randbytes(rng.randrange(1, 90)) for _ in range(rng.randrange(1, 40))] for _ in range(3)]
        most = rng.choice((1, 64, 300, 10_000))
        out = list(chunks((FrameBatch.of(f, range(len(f))) for f in frames), lambda most=most: most))
        assert [f for b in out for f in b] == [f for some in frames for f in some]
        assert all(len(b) == 1 or sum(map(len, b)) <= most for b in out)
        assert all(len(a) + len(b[0]) > 0 for a, b in zip(out, out[1:]))


def test_no_message_gives_more_records_than_the_bound():
    sizes = [moldudp64.BLOCK.size + itch50.BY_CODE[code].size for code in itch50.NEEDED]
    assert min(sizes) >= BYTES_A_RECORD and moldudp64.BLOCK.size + itch50.BY_CODE[b"C"].size >= 2 * BYTES_A_RECORD


def _rows(*columns):
    rows = np.zeros(len(columns), records.COMMON.dtype)
    for row, values in zip(rows, columns):
        for name, value in values.items():
            row[name] = value
    return rows


def test_latency_percentiles_are_those_of_numpy():
    rng = np.random.default_rng(11)
    latency, every = Latency(), []
    for _ in range(5):
        cycles, start = rng.geometric(0.2, 300), rng.integers(0, 1 << 40, 300)
        rows = np.zeros(300, records.COMMON.dtype)
        rows["kind"], rows["message"] = records.TOP_OF_BOOK, ord("A")
        rows["t_wire_ns"], rows["t_out_ns"] = clocks.ns_of_cycle(start), clocks.ns_of_cycle(start + cycles)
        latency.add(rows)
        every.extend(cycles.tolist())
    want = {p: int(np.percentile(every, q, method="inverted_cdf")) for p, q in (("min", 0), ("p50", 50), ("p99", 99), ("max", 100))}
    assert latency.table() == {"A": {"count": 1500, **want}}


def test_latency_tells_records_of_c_and_gaps_apart():
    latency = Latency()
    latency.add(_rows({"kind": records.TOP_OF_BOOK, "message": ord("C"), "t_out_ns": clocks.ns_of_cycle(3)},
                      {"kind": records.TRADE, "message": ord("C"), "t_out_ns": clocks.ns_of_cycle(4)},
                      {"kind": records.GAP, "t_out_ns": clocks.ns_of_cycle(9)}, {"kind": records.TRADE, "message": ord("P")}))
    assert {name: t["max"] for name, t in latency.table().items()} == {"C": 3, "C_trade": 4, "P": 0, "gap": 9}


def test_tally_names_what_made_a_symbol_stale():
    tally = Tally([0, 1, 2, 3], {3: "from the start"})
    fault = {"kind": records.TOP_OF_BOOK, "slot": 1, "detail": records.OVERFILL, "number": 5 | records.LAP_BIT}
    gap = {"kind": records.GAP, "slot": records.NO_SLOT, "detail": ord("G"), "number": 9}
    tally.add(_rows({"kind": records.TOP_OF_BOOK, "slot": 0}, fault, {**fault, "number": 6}, gap, {**fault, "slot": 2, "number": 10}))
    assert tally.stale == {0: "gap: missing, at message 9", 1: "overfill, at message 5", 2: "gap: missing, at message 9", 3: "from the start"}
    assert tally.kinds == {"top_of_book": 4, "gap": 1} and tally.faults == {"overfill": 3} and tally.gaps == {"missing": 1}
    assert tally.updates == {0: 1, 1: 2, 2: 1}


def test_tally_forgets_what_the_host_has_put_right():
    tally = Tally([0, 1, 2])
    fault = {"kind": records.TOP_OF_BOOK, "slot": 1, "detail": records.OVERFILL, "number": 5}
    gap = {"kind": records.GAP, "slot": records.NO_SLOT, "detail": ord("G"), "number": 9}
    hold, arm = ({"kind": records.STATUS, "slot": 1, "source": HOST, "message": ord(letter), "flags": flags}
                 for letter, flags in (("-", records.STALE), ("+", 0)))
    tally.add(_rows(fault, hold))
    assert tally.stale == {1: "held by the host"}
    tally.add(_rows(fault, {**arm, "flags": records.STALE}))           # refused: it went wrong again
    assert tally.stale == {1: "held by the host"}
    tally.add(_rows(hold, arm, {**fault, "source": HOST, "slot": 2, "number": 7}))
    assert tally.stale == {2: "overfill, at message 7"} and tally.updates == {1: 2}
    tally.add(_rows(arm, gap, hold, arm))
    assert tally.stale == {0: "gap: missing, at message 9", 2: "overfill, at message 7"}


def test_symbols_in_the_order_named(capture):
    found = scan(open_capture(capture))
    names = sorted(found.symbols.values(), reverse=True)[:3]
    chosen = symbols.choose(",".join([*names, names[0], " " + names[1].lower()]), found, PRESETS["small"], "x")
    assert [s.name for s in chosen] == names and [s.slot for s in chosen] == [0, 1, 2]
    assert all(found.symbols[s.locate] == s.name and (s.base, s.tick) == found.window(s.locate, PRESETS["small"].ticks) for s in chosen)
    top = symbols.choose("top:2", found, PRESETS["small"], "x")
    assert [s.locate for s in top] == found.top(2)
    assert len(symbols.choose(None, found, PRESETS["small"], "x")) == 4
    found.book[found.top(4)[1:]] = 0   # symbols without book messages fill up, in locate order
    assert [s.locate for s in symbols.choose("top:3", found, PRESETS["small"], "x")] == [*found.top(1), *sorted(set(found.symbols) - set(found.top(1)))[:2]]
    with pytest.raises(InputError, match="5 symbols asked for: preset small holds 4"):
        found.symbols[99] = "FIFTH"
        symbols.choose(",".join(found.symbols.values()), found, PRESETS["small"], "x")


def test_near_names():
    names = {"AAPL": 1, "AAL": 2, "MSFT": 3}
    assert symbols._near("AA", names) == "near it are AAL, AAPL" and symbols._near("MSTF", names) == "near it are MSFT"
    assert "none of the 3" in symbols._near("ZZZ", names) and "top:N" in symbols._near("A", {})


def test_filters_are_the_busiest_destinations(capture):
    found = scan(open_capture(capture))
    busy = [(k, 1000 + k) for k in range(6)]
    found.destinations.clear()
    found.destinations.update({d: 10 * k + 1 for k, d in enumerate(busy)})
    found.sessions = {d: {b"0000000001"} for d in busy}
    assert symbols.filters((), found, PRESETS["small"]) == (busy[:1:-1], busy[1::-1])
    assert symbols.filters(("0.0.0.3:1003",), found, PRESETS["small"]) == ([(3, 1003)], [busy[k] for k in (5, 4, 2, 1, 0)])
    # another session is another feed; a feed may change its session
    found.sessions[busy[3]] = {b"0000000002"}
    found.sessions[busy[5]] = {b"0000000001", b"0000000003"}
    found.sessions[busy[0]] = {b"0000000003"}
    assert symbols.filters((), found, PRESETS["small"]) == ([busy[k] for k in (5, 4, 2, 1)], [busy[3], busy[0]])
    note = symbols.ignored_note([busy[3], busy[0]], found)
    assert note == "not listened to: 0.0.0.3:1003 (session 0000000002; 31 datagrams), 0.0.0.0:1000 (session 0000000003; 1 datagrams); --group chooses others"
    assert symbols.ignored_note([busy[3]] * 6, found).endswith(" and 2 more; --group chooses others")


@pytest.mark.parametrize("times", [[7], [5, 5, 5], [0, 10**18], [3 * 10**18, 3 * 10**18 + 1], [10**9 * 86_400 * k for k in range(9)], [0, 20 * 3600 * 10**9]])
def test_plots_of_any_span_of_time(times):
    tops = np.zeros(len(times), TOP)
    tops["time"], tops["bid"], tops["ask"], tops["flags"] = times, 10_000, 10_100, records.STALE
    rate = Rate()
    rate.add(np.array(times))
    for drawn in ((plots.top_of_book, tops, np.zeros(0, TRADE)), (plots.rate, rate.start, rate.width, rate.counts)):
        text = plots.svg(*drawn)
        labels = re.findall(r">(?:day [\d,]+, )?(\d\d:\d\d:\d\d[.\d]*)</text>", text)
        assert 1 <= len(labels) <= plots.LABELS + 2 and ("day " in text) == (times[-1] - times[0] > plots.DAY_NS)


def test_thinned_keeps_every_nth_in_bounded_memory():
    rng = np.random.default_rng(1)
    for _ in range(100):
        limit, seen = int(rng.integers(1, 9)), 0
        thinned = Thinned(np.dtype([("v", "i8")]), limit)
        for n in rng.integers(0, 40, int(rng.integers(1, 30))).tolist():
            rows = np.zeros(n, [("v", "i8")])
            rows["v"] = np.arange(seen, seen + n)
            seen += n
            thinned.add(rows)
        assert thinned.array()["v"].tolist() == list(range(0, seen, thinned.keep))
        assert len(thinned.array()) <= 2 * limit and (thinned.keep == 1 or len(thinned.array()) >= limit // 2)


def test_rate_counts_each_event_in_its_bin():
    rng = np.random.default_rng(2)
    rate, every = Rate(10, 8), []
    for _ in range(60):
        times = np.sort(rng.integers(1000, 1000 + int(rng.integers(1, 9000)), 5))
        times[0] = 1000
        every.extend(times.tolist())
        rate.add(times)
    assert rate.counts.tolist() == np.bincount((np.array(every) - 1000) // rate.width).tolist() and len(rate.counts) <= 8 and rate.width > 10


def test_series_takes_each_execution_once():
    def book(message, **values):
        row = records.RECORDS["top_of_book"].encode(kind=records.TOP_OF_BOOK, message=ord(message), flags=records.BID, bid_px=500, **values)
        return np.frombuffer(row, records.COMMON.dtype)

    def trade(message, detail, **values):
        row = records.RECORDS["trade"].encode(kind=records.TRADE, message=ord(message), detail=ord(detail), **values)
        return np.frombuffer(row, records.COMMON.dtype)

    rows = np.concatenate([book("A", order_px=1, order_qty=1), book("E", order_px=500, order_qty=7), book("C", order_px=500, order_qty=8),
                           trade("C", "Y", px=501, qty=8), trade("C", "N", px=502, qty=9), trade("Q", "O", px=503, qty=0),
                           trade("P", "Y", px=504, qty=3)])
    series = Series()
    series.add(rows, np.arange(len(rows)) * 10)
    assert series.trades[0].array().tolist() == [(10, 500, 7), (30, 501, 8), (60, 504, 3)]
    assert series.tops[0].array().tolist() == [(t, 500, -1, records.BID) for t in (0, 10, 20)] and series.rate.counts.sum() == 7


def test_each_record_gets_the_capture_time_of_its_frame():
    batches = [(np.array([10, 20]), np.array([100, 200])), (np.array([30]), np.array([300]))]
    rows = np.zeros(6, records.COMMON.dtype)
    rows["t_wire_ns"] = clocks.ns_of_cycle(np.array([100, 150, 199, 200, 299, 300]))
    assert captured(rows, batches).tolist() == [10, 10, 10, 20, 20, 30]


def test_progress_lines(capsys):
    now = [0.0]
    lines = Lines(clock=lambda: now[0])
    lines.start(100)
    for _ in range(10):
        now[0] += LINE_EVERY / 2 + 0.01
        lines.advance(10, 1000)
    err = capsys.readouterr().err.splitlines()
    assert len(err) == 5 and err[0].startswith("20 of 100 frames, 200 messages/s, 40 s left")
