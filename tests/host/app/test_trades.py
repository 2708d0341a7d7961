"""``tickgate trades``."""
import pytest

from tickgate.capture.synthetic import day
from tickgate.spec import itch50

from . import reference as ref


@pytest.fixture
def trades(run):
    """``trades(*arguments)``: the table that comes out."""
    def command(*arguments, status=0):
        ended, out, err = run("trades", "--quiet", *arguments)
        assert ended == status, err
        return ref.table(out)

    return command


def expected(messages):
    """All rows by the golden book: every execution with the side that took."""
    reference, out = ref.Reference(), []
    for number, letter, m in ref.decoded(messages):
        outcome = reference.take(letter, m)
        row = {"time": m["timestamp"], "symbol": reference.names.get(m["stock_locate"]), "number": number, "type": letter, "price": None, "qty": None,
               "aggressor": None, "match": m.get("match_number"), "printable": None, "cross": None}
        if letter in "EC":
            row |= {"price": m["execution_price"] if letter == "C" else outcome.price, "qty": m["executed_shares"], "aggressor": "SB"[outcome.sell],
                    "printable": m["printable"].decode() if letter == "C" else "Y"}
        elif letter == "P":
            row |= {"price": m["price"], "qty": m["shares"], "printable": "Y"}
        elif letter == "Q":
            row |= {"price": m["cross_price"], "qty": m["shares"], "printable": "Y", "cross": m["cross_type"].decode()}
        elif letter != "B":
            continue
        out.append(row)
    return out


def plain(rows):
    """Those that are trades of their own."""
    return [row for row in rows if row["printable"] != "N" and not (row["type"] == "Q" and not row["qty"])]


def test_all_types_of_a_day(trades, tmp_path):
    path = tmp_path / "day.itch"
    path.write_bytes(day(11, 4, 6000))
    rows = expected(ref.blocks(path.read_bytes()))
    assert trades(path, "--all") == rows
    got = trades(path)
    assert got == plain(rows) and len(got) < len(rows)
    assert {(row["type"], row["aggressor"]) for row in got} == {("E", "B"), ("E", "S"), ("C", "B"), ("C", "S"), ("P", None), ("Q", None), ("B", None)}
    assert {row["cross"] for row in rows} == {None, "O", "H", "C"}
    # every share counts once: what is printable, and the crosses
    volume = sum(row["qty"] for row in got if row["type"] in "ECPQ")
    assert volume == sum(row["qty"] for row in rows if row["printable"] == "Y") > 10_000
    assert trades(path, "--symbol", "BRAVO") == [row for row in plain(rows) if row["symbol"] == "BRAVO"]
    assert trades(path, "--start", "10:00", "--end", "12:00", "--limit", 5) == [row for row in plain(rows) if 36_000 <= row["time"] / 10 ** 9 < 43_200][:5]


def test_real_data(trades, real_data):
    path = real_data("itch/derived_20191230_book_slice.itch")
    rows = expected(ref.blocks(path.read_bytes()))
    assert trades(path) == rows and {row["type"] for row in rows} == {"E", "P"} and len(rows) == 16


def test_hidden_trade_gives_no_sign_whatever_its_side(trades, tmp_path):
    """P has side B since 2014-07-14, and order 0; before, S was there too: neither says who took. Q's shares have eight bytes. Sub-penny digits stay."""
    def message(code, **fields):
        return itch50.BY_CODE[code].encode(stock_locate=2, stock="X", **fields)

    path = tmp_path / "few.itch"
    path.write_bytes(ref.binaryfile([
        message(b"R", round_lot_size=100),
        message(b"P", order_ref=0, side="B", shares=7, price=500_199, match_number=1), message(b"P", order_ref=9, side="S", shares=8, price=1, match_number=2),
        message(b"Q", shares=5_000_000_000, cross_price=4_000_000_000, match_number=1 << 63 - 1, cross_type="O"),
        message(b"Q", shares=0, cross_price=0, match_number=4, cross_type="C")]))
    got = trades(path)
    assert [(row["price"], row["qty"], row["aggressor"], row["cross"]) for row in got] == [
        (500_199, 7, None, None), (1, 8, None, None), (4_000_000_000, 5_000_000_000, None, "O")]


def test_side_is_not_told_when_the_order_is_not_known(trades, tmp_path):
    def message(code, locate=2, **fields):
        return itch50.BY_CODE[code].encode(stock_locate=locate, **fields)

    path = tmp_path / "few.itch"
    path.write_bytes(ref.binaryfile([
        message(b"R", stock="X"), message(b"R", locate=3, stock="Y"),
        message(b"A", order_ref=1, side="S", shares=10, stock="X", price=100), message(b"A", locate=3, order_ref=2, side="B", shares=10, stock="Y", price=200),
        message(b"E", order_ref=1, executed_shares=4, match_number=1), message(b"E", order_ref=77, executed_shares=4, match_number=2),
        message(b"C", order_ref=78, executed_shares=4, match_number=3, printable="Y", execution_price=50),
        message(b"E", locate=3, order_ref=2, executed_shares=4, match_number=4)]))
    assert [(row["price"], row["aggressor"]) for row in trades(path)] == [(100, "B"), (None, None), (50, None), (200, "S")]
