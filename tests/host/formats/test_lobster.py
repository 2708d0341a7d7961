"""LOBSTER pairs in and out."""
import numpy as np
import pytest

from tickgate.capture import CaptureError
from tickgate.formats import open_source
from tickgate.formats.orders import Orders
from tickgate.spec.events import BUY, LOBSTER_NO_PRICE

NAME = "ALFA_2026-03-02_34200000_57600000_message_1.csv"


def write(folder, text, name=NAME):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_every_row_of_the_amzn_book_follows_from_its_message(real_data, read):
    """Level 1, 57,515 rows: what a message may do to the best of its side, and that it leaves the other side alone."""
    path = real_data("lobster/AMZN_2012-06-21_34200000_57600000_message_1.csv")
    events, source = read(path)
    books = np.concatenate(list(source.books()))
    assert len(events) == len(books) == 57_515 and source.names == {1: "AMZN"} and str(source.date) == "2012-06-21"
    assert events["time_ns"][0] == 34_200_017_460_000 and (events["reference"][events["action"] == ord("P")] == 0).all()
    before, after, its = books[:-1], books[1:], events[1:]
    buys = its["side"] == BUY
    sign = np.where(buys, 1, -1)

    def of(rows, mine):
        column = np.where(buys == mine, 2, 0)
        return rows[np.arange(len(rows)), column] * np.where(mine, 1, 1), rows[np.arange(len(rows)), column + 1]

    price, size = of(before, True)
    new_price, new_size = of(after, True)
    other, other_size = of(before, False)
    action, amount = its["action"], its["quantity"].astype(np.int64)
    hidden, adds = action == ord("P"), action == ord("A")
    better, same = sign * its["price"] > sign * price, its["price"] == price
    goes = ~adds & ~hidden & same & (amount == size)
    wanted_price = np.where(adds & better, its["price"], price)
    wanted_size = np.where(hidden, size, np.where(adds, np.where(better, amount, size + amount), size - amount))
    assert (same | better | hidden)[adds | hidden].all() and same[~adds & ~hidden].all()      # level 1 tells of nothing else
    assert (new_price == wanted_price)[~goes].all() and (new_size == wanted_size)[~goes].all()
    assert (sign * new_price < sign * price)[goes].all() and goes.sum() > 1000
    assert (of(after, False)[0] == other).all() and (of(after, False)[1] == other_size).all()


@pytest.mark.parametrize("levels", [1, 4])
def test_rows_of_the_book_are_the_twins(itch, read, run, tmp_path, levels, small_pieces):
    from .test_itch import books as twin

    status, out, err = run(itch, f"{tmp_path}/", "--symbol", "bravo", "--levels", levels)
    assert (status, err) == (0, "")
    pair = tmp_path / f"BRAVO_2026-03-02_0_86400000_message_{levels}.csv"
    assert out.decode().startswith(str(pair))
    events, source = read(pair)
    rows = np.concatenate(list(source.books()))
    assert len(events) == len(rows) > 500 and rows.shape[1] == 4 * levels
    wanted, _ = read(itch)
    wanted, left = Orders().complete(wanted[wanted["locate"] == 2], split=True)
    wanted, left = wanted[wanted["action"] != ord("S")], left[wanted["action"] != ord("S")]
    assert len(wanted) == len(events)
    _, book = twin()
    its, compared = book(2), 0
    for event, after, row, rest in zip(wanted, events, rows, left.tolist(), strict=True):
        action, reference = chr(event["action"]), int(event["reference"])
        if action == "A":
            its.add(reference, int(event["side"] == ord("S")), int(event["quantity"]), int(event["price"]))
        elif action in "ECX":
            its.reduce(reference, int(event["quantity"]))
        elif action == "D":
            its.delete(reference)
        assert chr(after["action"]) == ("D" if action == "X" and not rest else {"C": "E"}.get(action, action))
        assert after["time_ns"] == event["time_ns"]
        if action in "AXDEC":
            assert (after["reference"], after["quantity"], after["price"], after["side"]) == (reference, *(event[n] for n in ("quantity", "price", "side")))
        snapshot = its.snapshot()
        for k in range(levels):
            for column, (side, none) in enumerate(((snapshot.asks, LOBSTER_NO_PRICE), (snapshot.bids, -LOBSTER_NO_PRICE))):
                level = (side[k].price, side[k].quantity) if k < len(side) else (none, 0)
                assert tuple(row[4 * k + 2 * column:4 * k + 2 * column + 2]) == level
                compared += 1
    assert compared == 2 * levels * len(rows)
    halts = events[events["action"] == ord("H")]
    assert "".join(map(chr, halts["detail"])) == "THQT" or "H" in map(chr, halts["detail"])


def test_a_part_of_the_day_knows_what_was_before(itch, run, tmp_path, read):
    """Rows of an interval are those of the whole day."""
    assert run(itch, f"{tmp_path}/", "--symbol", "BRAVO", "--levels", 2)[0] == 0
    assert run(itch, f"{tmp_path}/", "--symbol", "BRAVO", "--levels", 2, "--start", "10:00", "--end", "11:00:00.5")[0] == 0
    whole, source = read(tmp_path / "BRAVO_2026-03-02_0_86400000_message_2.csv")
    rows = np.concatenate(list(source.books()))
    part, source = read(tmp_path / "BRAVO_2026-03-02_36000000_39600500_message_2.csv")
    inside = (whole["time_ns"] >= 36_000 * 10 ** 9) & (whole["time_ns"] < 39_600_500_000_000)
    assert 10 < len(part) < len(whole) and part["reference"].tolist() == whole["reference"][inside].tolist()
    assert (np.concatenate(list(source.books())) == rows[inside]).all()


@pytest.mark.parametrize("head", [b"", b"\xef\xbb\xbf", b"Time,Type,OrderId,Size,Price,Direction\r\n", b"\xef\xbb\xbfTime,Type,ID,Size,Price,Dir\n"])
def test_all_types_halts_and_heads(tmp_path, read, head):
    text = (b"34200.000000001,1,7,100,2238200,1\r\n34200.1,2,7,10,2238200,1\n34201,3,7,90,2238200,1\n34201.5,4,8,1,2238300,-1\n"
            b"34202.0,5,0,1,2238250,-1\n34203,6,-0,5,2238200,-1\n34204,7,0,0,-1,-1\n34205,7,0,0,0,-1\n34206,7,0,0,1,-1")
    events, _ = read(write(tmp_path, head + text))
    assert "".join(map(chr, events["action"])) == "AXDEPQHHH" and "".join(map(chr, events["detail"][-3:])) == "HQT"
    assert events["time_ns"][:4].tolist() == [34_200_000_000_001, 34_200_100_000_000, 34_201 * 10 ** 9, 34_201_500_000_000]
    assert "".join(map(chr, events["side"])) == "BBBSSS   " and events["trade_price"].tolist() == [0, 0, 0, 2238300, 2238250, 2238200, 0, 0, 0]


@pytest.mark.parametrize(("line", "cause"), [
    ("34200.5,8,1,1,1,1", "type 8"), ("34200.5,1,1,1,1,2", "direction 2"), ("34200.5,1,1,1,1", "5 columns, not 6"), ("34200.5,1,x,1,1,1", "no whole number"),
    ("34200.5,7,0,0,5,-1", "halt 5"), ("34200.0000000001,1,1,1,1,1", "finer than a ns"), ("34200,1,1,-1,1,1", "negative")])
def test_bad_lines_are_told_with_their_offset(tmp_path, read, line, cause):
    good = "34200.1,1,7,100,2238200,1\n"
    with pytest.raises(CaptureError) as caught:
        read(write(tmp_path, good * 3 + line + "\n" + good))
    assert cause in str(caught.value) and f"offset {3 * len(good)}: line: " in str(caught.value) and "\n" not in str(caught.value)


def test_what_is_no_message_file(tmp_path):
    for text, name, cause in (("hello,world\n1,2\n", NAME, "has not its six columns"),
                              ("1,2,3,4\n", NAME.replace("message", "orderbook"), "give its message file")):
        with pytest.raises(CaptureError, match=cause):
            open_source(write(tmp_path, text, name))
    (tmp_path / NAME.replace("message", "orderbook")).unlink()
    with pytest.raises(CaptureError, match="orderbook_1.csv: .*No such file"):
        list(open_source(write(tmp_path, "34200.1,1,7,100,2238200,1\n")).books())


def test_lobster_becomes_itch_and_comes_back(tmp_path, run, read):
    text = "34200.000000001,1,7,100,2238200,1\n34200.1,2,7,10,2238200,1\n34201.5,4,7,1,2238200,1\n34201,3,7,89,2238200,1\n34204,7,0,0,-1,-1\n"
    path = write(tmp_path, text)
    assert run(path, tmp_path / "x.itch")[0] == 0 and run(path, tmp_path / "x.pcap", "--date", "2026-03-02")[0] == 0
    events, _ = read(path)
    for name in ("x.itch", "x.pcap"):
        again, source = read(tmp_path / name)
        assert source.names == {1: "ALFA"}
        again, _ = Orders().complete(again)
        for field in ("time_ns", "action", "reference", "quantity", "price", "side", "detail"):
            assert again[field].tolist() == events[field].tolist()
