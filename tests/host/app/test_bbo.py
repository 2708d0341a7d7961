"""``tickgate bbo`` and ``tickgate book`` against the golden book."""
import random

import pytest

from tickgate.app import books
from tickgate.capture import mold_frame, write_pcap
from tickgate.capture.synthetic import day
from tickgate.spec import itch50

from . import reference as ref

SIDES = ("bid_px", "bid_qty", "bid_orders", "ask_px", "ask_qty", "ask_orders")


@pytest.fixture
def rows(run):
    """``rows(command, *arguments)``: the table that comes out; the command must end well."""
    def command(*arguments, status=0):
        ended, out, err = run(*arguments, "--quiet")
        assert ended == status, err
        return ref.table(out)

    return command


def tops(table):
    return [(row["time"], row["symbol"], row["number"], *(row[name] for name in SIDES)) for row in table]


@pytest.mark.parametrize("seed", [1, 2])
def test_a_row_for_each_message_and_for_each_change(rows, tmp_path, seed):
    path = tmp_path / "day.itch"
    path.write_bytes(day(seed, 5, 3000))
    expected = ref.bbo(ref.blocks(path.read_bytes()))
    assert tops(rows("bbo", path, "--every", "message")) == expected and len(expected) > 2000
    changed = ref.changes(expected)
    assert tops(rows("bbo", path)) == changed and len(changed) < len(expected)
    names = {"ALFA", "CHARLIE"}
    assert tops(rows("bbo", path, "--symbol", "ALFA,CHARLIE")) == [row for row in changed if row[1] in names]


def test_real_slice(rows, real_data):
    path = real_data("itch/derived_20191230_book_slice.itch")
    expected = ref.changes(ref.bbo(ref.blocks(path.read_bytes())))
    assert tops(rows("bbo", path)) == expected and len(expected) > 4900


def test_real_truncated_day(rows, real_data):
    path = real_data("itch/nasdaq_head_251837.truncated.gz")
    expected = ref.changes(ref.bbo(ref.blocks(path.read_bytes()), {"AZN", "AAPL", "SPY"}))
    assert tops(rows("bbo", path, "--symbol", "AZN,AAPL,SPY", status=1)) == expected and len(expected) > 50


def test_times_limit_and_files(rows, capture):
    whole = rows("bbo", capture)
    start, end = 36_000_000_000_000, 43_200_000_000_000
    inside = [row for row in whole if start <= row["time"] < end]
    assert rows("bbo", capture, "--start", "10:00:00", "--end", "12:00") == inside and inside
    assert rows("bbo", capture, "--start", "10:00:00", "--end", "12:00", "--limit", 3) == inside[:3]
    both = rows("bbo", capture, capture, "--limit", len(whole) + 2)
    assert [row.pop("file") for row in both] == [str(capture)] * len(both) and both == whole + whole[:2]


def test_empty_side_has_no_value_and_crossed_is_told(rows, tmp_path):
    messages = [itch50.BY_CODE[b"R"].encode(stock_locate=3, stock="ZVZZT", round_lot_size=100)]

    def add(reference, side, shares, price):
        messages.append(itch50.BY_CODE[b"A"].encode(stock_locate=3, timestamp=len(messages), order_ref=reference, side=side, shares=shares,
                                                    stock="ZVZZT", price=price))

    add(1, "B", 10, 4)                      # 0.0004 and 100000.00 are prices like any other
    add(2, "S", 20, 1_000_000_000)
    add(3, "B", 30, 1_000_000_000)
    messages.append(itch50.BY_CODE[b"D"].encode(stock_locate=3, timestamp=9, order_ref=2))
    path = tmp_path / "few.itch"
    path.write_bytes(ref.binaryfile(messages))
    got = rows("bbo", path)
    assert [[row[name] for name in (*SIDES, "valid", "crossed", "trading")] for row in got] == [
        [4, 10, 1, None, None, None, 1, 0, None], [4, 10, 1, 1_000_000_000, 20, 1, 1, 0, None],
        [1_000_000_000, 30, 1, 1_000_000_000, 20, 1, 1, 1, None], [1_000_000_000, 30, 1, None, None, None, 1, 0, None]]


def packets(path, messages, order):
    """A pcap of packets of ten messages, in this order."""
    frames = [mold_frame(k + 1, messages[k:k + 10]) for k in range(0, len(messages), 10)]
    write_pcap(path, [frames[k] for k in order], [10 ** 18 + 1000 * k for k in range(len(order))])
    return len(frames)


def test_gap_makes_every_book_stale(rows, capture, tmp_path):
    """From the first missing message on no row is valid; before it all are. A late start is stale from its beginning."""
    messages = ref.blocks(capture.read_bytes())
    path = tmp_path / "gap.pcap"
    count = -(-len(messages) // 10)
    packets(path, messages, [k for k in range(count) if k != 60])
    table = rows("bbo", path, status=1)
    assert {row["valid"] for row in table if row["number"] <= 600} == {1} and {row["valid"] for row in table if row["number"] > 600} == {0}
    packets(path, messages, range(30, count))
    table = rows("bbo", path)
    assert table and {row["valid"] for row in table} == {0} and min(row["number"] for row in table) > 300


def test_order_and_copies_of_packets_do_not_matter(rows, capture, tmp_path):
    """Two lines, packets late and twice: the rows of the file itself."""
    messages, seed = ref.blocks(capture.read_bytes()), 4
    rng, count = random.Random(seed), -(-len(messages) // 10)
    order = [k for k in range(count) for _ in range(rng.choice((1, 1, 2)))]
    for k in range(0, len(order) - 3, 7):
        order[k], order[k + 3] = order[k + 3], order[k]
    assert order != sorted(order) and set(order) == set(range(count))
    path = tmp_path / "lines.pcap"
    packets(path, messages, order)
    got, expected = rows("bbo", path), rows("bbo", capture)
    print(f"seed {seed}")
    assert got == expected


def test_fault_makes_its_symbol_stale_and_no_other(rows, tmp_path, capture):
    """An execution of an order that nobody knows."""
    messages = ref.blocks(capture.read_bytes())
    names = {m["stock"].decode().strip(): m["stock_locate"] for _, letter, m in ref.decoded(messages) if letter == "R"}
    bad = itch50.BY_CODE[b"E"].encode(stock_locate=names["BRAVO"], timestamp=int.from_bytes(messages[700][5:11], "big"), order_ref=1 << 60, executed_shares=5)
    path = tmp_path / "fault.itch"
    path.write_bytes(ref.binaryfile([*messages[:700], bad, *messages[700:]]))
    table = rows("bbo", path)
    assert {(row["symbol"], row["valid"]) for row in table if row["number"] > 700} == {("ALFA", 1), ("BRAVO", 0), ("CHARLIE", 1), ("DELTA", 1)}
    assert all(row["valid"] for row in table if row["number"] <= 700)


def test_symbols_that_are_known_without_directory(rows, capture, tmp_path):
    """Who joins late knows a locate from any message with a stock."""
    messages = [m for m in ref.blocks(capture.read_bytes()) if m[:1] != b"R"]
    path = tmp_path / "late.itch"
    path.write_bytes(ref.binaryfile(messages))
    got, whole = rows("bbo", path, "--symbol", "BRAVO"), rows("bbo", capture, "--symbol", "BRAVO")
    for row in [*got, *whole]:
        del row["number"]
    assert got == whole


def round_lot(levels, lot):
    total = 0
    for price, shares, _ in levels:
        total += shares
        if total >= lot:
            return price, total // lot * lot
    return None, None


def test_round_lots(rows, tmp_path):
    """Against all levels of the golden book; a symbol with a lot of its own."""
    raw = day(6, 3, 2500)
    messages = ref.blocks(raw)
    lots = {"ALFA": 100, "BRAVO": 40, "CHARLIE": 1000}
    for k, (_, letter, m) in enumerate(ref.decoded(messages)):
        if letter == "R":
            messages[k] = itch50.BY_CODE[b"R"].encode(**{**m, "round_lot_size": lots[m["stock"].decode().strip()]})
    path = tmp_path / "lots.itch"
    path.write_bytes(ref.binaryfile(messages))
    reference, expected, last, seen = ref.Reference(), [], {}, set()
    for number, letter, m in ref.decoded(messages):
        reference.take(letter, m)
        if letter in "AFECXDU":
            name, top = reference.names[m["stock_locate"]], reference.top(m["stock_locate"])
            quotes = [x for side in reference.levels(m["stock_locate"], 32) for x in round_lot([level for level in side if level], lots[name])]
            key = (top[0], top[1], top[3], top[4], *quotes)
            if last.get(name) != key:
                expected.append((number, name, *quotes))
            seen.add(quotes[0] != top[0])
            last[name] = key
    got = rows("bbo", path, "--round-lots")
    assert [(r["number"], r["symbol"], r["round_bid_px"], r["round_bid_qty"], r["round_ask_px"], r["round_ask_qty"]) for r in got] == expected
    assert seen == {True, False}


# ---- book


def levels_of(row, n):
    return [[(row[f"{side}_px_{k:02}"], row[f"{side}_sz_{k:02}"], row[f"{side}_ct_{k:02}"]) if row[f"{side}_px_{k:02}"] is not None else None
             for k in range(n)] for side in ("bid", "ask")]


def test_levels_after_each_message(rows, tmp_path):
    path, n = tmp_path / "day.itch", 4
    path.write_bytes(day(3, 3, 1500))
    reference, expected = ref.Reference(), []
    for number, letter, m in ref.decoded(ref.blocks(path.read_bytes())):
        reference.take(letter, m)
        if letter in "AFECXDU":
            expected.append((number, reference.names[m["stock_locate"]], reference.levels(m["stock_locate"], n)))
    got = rows("book", path, "--levels", n)
    assert [(row["number"], row["symbol"], levels_of(row, n)) for row in got] == expected
    assert any(None in side for _, _, sides in expected for side in sides) and len(expected) > 1000


@pytest.mark.parametrize(("every", "ns"), [("1s", 10 ** 9), ("7min", 420 * 10 ** 9), ("3h", 3 * 3600 * 10 ** 9)])
@pytest.mark.parametrize("piece", [7, books.SLICE])
def test_levels_at_fixed_times(rows, tmp_path, monkeypatch, every, ns, piece):
    """At each multiple from the first order on, as all messages up to that moment left the books; the last moment is at or before the last message."""
    monkeypatch.setattr(books, "SLICE", piece)
    path, n, start, end = tmp_path / "day.itch", 2, 35_900 * 10 ** 9, 36_500 * 10 ** 9 if ns == 10 ** 9 else 72_000 * 10 ** 9
    messages, before, moved = ref.decoded(ref.blocks(day(8, 3, 1500))), 0, 0
    for _, letter, m in messages:             # messages exactly on a moment belong to it: every other first one after a moment is moved there
        moment = m["timestamp"] // ns * ns
        if moment > before and letter in "AFECXDU":
            moved += 1
            m["timestamp"] = moment if moved % 2 else m["timestamp"]
        before = m["timestamp"]
    assert moved > 2
    path.write_bytes(ref.binaryfile([itch50.BY_CODE[letter.encode()].encode(**m) for _, letter, m in messages]))
    reference, expected, queue = ref.Reference(), [], list(messages)
    for moment in range(-(-start // ns) * ns, min(end, messages[-1][2]["timestamp"] + 1), ns):
        while queue and queue[0][2]["timestamp"] <= moment:
            _, letter, m = queue.pop(0)
            reference.take(letter, m)
        expected += [(moment, reference.names[locate], reference.levels(locate, n)) for locate in sorted(reference.books)]
    got = rows("book", path, "--levels", n, "--every", every, "--start", "09:58:20", "--end", "10:08:20" if ns == 10 ** 9 else "20:00")
    assert [(row["time"], row["symbol"], levels_of(row, n)) for row in got] == expected and len(expected) >= 9
    assert all(row["number"] is None for row in got)


def test_fixed_times_after_a_gap_are_not_valid(rows, capture, tmp_path):
    messages = ref.blocks(capture.read_bytes())
    path = tmp_path / "gap.pcap"
    packets(path, messages, [k for k in range(len(messages) // 10) if k != 60])
    lost = int.from_bytes(messages[600][5:11], "big")
    table = rows("book", path, "--every", "10s", "--levels", 1, status=1)
    known = int.from_bytes(messages[610][5:11], "big")
    assert {row["valid"] for row in table if row["time"] < lost} == {1} and {row["valid"] for row in table if row["time"] >= known} == {0}


def test_bad_options(run, capture):
    for arguments, cause in ((("--every", "0s"), "a span above 0"), (("--every", "-1s"), "a span above 0"), (("--levels", 0), "--levels"),
                             (("--every", "1 s"), "a span above 0")):
        status, out, err = run("book", capture, *arguments)
        assert (status, out) == (2, "") and cause in err and err.count("\n") == 1
