"""``Book``: pieces, files, options, snapshots and what it says of a bad stream."""
import random

import numpy as np
import pytest

from tickgate.spec import itch50
from tickgate.spec.presets import PRESETS
from tickgate.twin import Book, StreamError
from tickgate.twin.fast.layout import LOCATES
from tickgate.twin.fast.orders import hash_of, shift_of
from tickgate_sim.streams import Maker, universe

from .reference import Pair, pieces, stream


def message(code, locate=7, **fields):
    return itch50.BY_CODE[code.encode()].encode(stock_locate=locate, tracking_number=1, timestamp=34_200_000_000_001, **fields)


def add(reference, side, shares, price, locate=7):
    return message("A", locate, order_ref=reference, side=side, shares=shares, stock="ABC", price=price)


def random_stream(seed, count, profile="faults"):
    print(f"profile {profile} seed {seed}")
    symbols = universe(PRESETS["small"], seed)
    return [m for m in Maker(seed, preset=PRESETS["small"], symbols=symbols, profile=profile).messages(count) if m]


def everything(book, data):
    """All that a piece of the stream gives, as bytes."""
    rows = book.feed(data)
    return rows.tobytes(), book.trades.tobytes(), book.events.tobytes()


def joined(parts):
    return [b"".join(part) for part in zip(*parts)]


def status(book):
    return (book.types, book.faults, book.counters, book.live, book.phase, book.offset, book.messages,
            [(book[k].depth(side).tobytes(), book[k].orders(side).tobytes(), book[k].digest, book[k].state, book[k].stale)
             for k in np.flatnonzero(book._state.sides["count"]) // 2 for side in "BS"])


OPTIONS = dict(rows="every", depth=3, digest=True, trades=True, events=True, strict=False)


@pytest.mark.parametrize("seed", range(3))
def test_pieces_make_no_difference(seed):
    """One byte at a time, in random pieces, and whole; saved and restored on the way."""
    data = stream(random_stream(seed, 1500))
    whole = Book(**OPTIONS)
    want = everything(whole, data)
    assert len(want[0]) > 100_000 and want[1] and want[2]
    single = Book(**OPTIONS)
    assert joined(everything(single, data[k:k + 1]) for k in range(len(data))) == list(want)
    random_ones = Book(**OPTIONS)
    assert joined(everything(random_ones, piece) for piece in pieces(data, seed, 9000)) == list(want)
    assert status(whole) == status(single) == status(random_ones)


def test_saved_and_restored(tmp_path):
    data = stream(random_stream(5, 3000))
    whole, book, parts = Book(**OPTIONS), Book(**OPTIONS), []
    want, path = everything(whole, data), tmp_path / "book"
    for k, piece in enumerate(pieces(data, 5, 20_000)):
        parts.append(everything(book, piece))
        if k % 3 == 0:
            book.save(path)
            book = Book.restore(path)
    assert joined(parts) == list(want)
    assert status(book) == status(whole)
    assert [p.name for p in tmp_path.iterdir()] == ["book"]


@pytest.mark.parametrize("spoil", [lambda raw: raw[:-200], lambda raw: b"", lambda raw: b"x" * 50,
                                   lambda raw: raw[:3000] + bytes([raw[3000] ^ 1]) + raw[3001:]], ids=["cut", "empty", "other", "one bit"])
def test_a_file_that_is_no_saved_book(tmp_path, spoil):
    book = Book(strict=False)
    book.feed(stream(random_stream(6, 200, "mixed")))
    path = tmp_path / "book"
    book.save(path)
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(ValueError, match="not a saved book") as caught:
        Book.restore(path)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_three_lines(sample):
    book = Book()
    rows = book.feed(sample)
    assert book["ALFA"].bids["price"][0] > 0
    assert book.ended and book.phase == "C" and book.messages == 60_000 and book.offset == len(sample)
    assert len(book.symbols) == 16 and book.symbols["ALFA"] == book["ALFA"].locate
    last = rows[rows["locate"] == book["ALFA"].locate][-1]
    for side, px, qty, count in (("B", "bid_px", "bid_qty", "bid_count"), ("S", "ask_px", "ask_qty", "ask_count")):
        assert book["ALFA"].depth(side, 1).tolist() == [(last[px], last[count], last[qty])]
    assert (np.diff(rows["number"].astype(int)) > 0).all() and (np.diff(rows["time"].astype(int)) >= 0).all()


@pytest.mark.parametrize("symbols", [["BRAVO", "ECHO"], [2, 5], "GOLF"])
def test_some_symbols(sample, symbols):
    every, some = Book(rows="every"), Book(rows="every", symbols=symbols)
    rows, mine = every.feed(sample), some.feed(sample)
    names = [symbols] if isinstance(symbols, str) else symbols
    locates = [every.symbols[s] if isinstance(s, str) else s for s in names]
    assert mine.tobytes() == rows[np.isin(rows["locate"], locates)].tobytes() and len(mine) > 1000
    assert some.counters["other"] > 10_000
    with pytest.raises(KeyError, match="'ALFA' is not followed"):
        some["ALFA"]


def test_depth_of_every_row():
    """Each row's levels are those of the book at that moment."""
    messages = random_stream(8, 600, "wide")
    book, step = Book(rows="every", depth=4), Book(rows=None)
    rows, compared = book.feed(stream(messages)), 0
    for number, m in enumerate(messages, 1):
        assert not step.feed(stream([m])).size
        for row in rows[rows["number"] == number]:
            for side, name in (("B", "bids"), ("S", "asks")):
                want = step[int(row["locate"])].depth(side, 4).tolist()
                assert row[name].tolist() == want + [(0, 0, 0)] * (4 - len(want))
                compared += len(want)
    assert compared > 2000


def test_any_price_and_quantity():
    """Levels from one end of the prices to the other, shares beyond 32 bits, orders of no shares, and a level's best end and worst end."""
    top = (1 << 32) - 1
    prices = [0, 1, top, top - 1, 1 << 31, *random.Random(1).sample(range(top), 500)]
    messages = [add(k + 1, "BS"[k % 2], top, p) for k, p in enumerate(prices) for _ in range(1)] + [add(1000 + k, "B", top, top) for k in range(5)]
    messages += [add(2000, "S", 0, 5), message("E", order_ref=2000, executed_shares=0, match_number=1)]
    pair = Pair([7])
    pair.send(messages, seed=2)
    pair.compare_books()
    assert pair.book[7].bids[0].tolist() == (top, 6, 6 * top)
    order = list(range(1, len(prices) + 1))
    random.Random(2).shuffle(order)
    pair.send([message("D", order_ref=r) for r in order[:-1]], seed=3)
    pair.compare_books()


def crowded(buckets, count, index):
    """References of locate 7 that a table of ``index`` places keeps in these buckets."""
    shift, found, reference = shift_of(np.zeros(index, np.uint64)), [], 0
    while len(found) < count:
        reference += 1
        if int(hash_of(np.uint64(reference), np.uint64(7))) >> int(shift) in buckets:
            found.append(reference)
    return found


@pytest.mark.parametrize("first", [3, 510])
def test_references_that_crowd_one_place(first):
    """Orders that find their bucket of the index full, at its end too, and leave in any order."""
    index = Book()._state.index.size
    references = crowded({(first + k) % (index // 8) for k in range(3)}, 90, index)
    rng, live, messages = random.Random(first), [], []
    for _ in range(3000):
        if live and (len(live) > 60 or rng.random() < 0.45):
            messages.append(message("D", order_ref=live.pop(rng.randrange(len(live)))))
        else:
            reference = rng.choice(references)
            messages.append(add(reference, "B", 1, rng.randrange(1, 9)))
            live += [reference] if reference not in live else []
        if rng.random() < 0.1:
            messages.append(message("X", order_ref=rng.choice(references), cancelled_shares=0))
    pair = Pair([7])
    pair.send(messages, seed=first)
    pair.compare_books()
    assert pair.book.faults["duplicate_reference"] and pair.book.faults["unknown_reference"]


def test_one_reference_of_many_symbols():
    """A reference counts within its symbol, also where the index looks at those of other symbols first."""
    pair = Pair(range(1, 2000))
    pair.send([add(5, "B", 1, 10, locate=k) for k in range(1, 200)] + [message("D", k, order_ref=5) for k in range(200, 2000)], seed=1)
    pair.compare_books()
    assert pair.book.live == 199 and pair.book.faults["unknown_reference"] == 1800


@pytest.mark.parametrize("seed", range(3))
def test_levels_that_change_hands(seed):
    """Few prices, few orders, several symbols: what the engine saw ahead is another side's, another price's or gone when the message's turn comes."""
    print(f"seed {seed}")
    rng, live, messages = random.Random(seed), {}, []
    for reference in range(1, 4000):
        if live and rng.random() < len(live) / 12:
            gone = rng.choice(list(live))
            messages.append(message("D", live.pop(gone), order_ref=gone))
        else:
            live[reference] = rng.randrange(1, 5)
            messages.append(add(reference, rng.choice("BS"), rng.randrange(1, 9), rng.randrange(1, 4), locate=live[reference]))
    pair = Pair([1, 2, 3, 4])
    pair.send(messages)
    pair.compare_books()


def test_memory_follows_live_orders():
    """References come and go; what is kept is what is live at most at once."""
    book, start = Book(rows=None), None
    for k in range(40):
        batch = [add(1_000_000_007 * (k * 1000 + i), "B", 100, 100 + i % 50, locate=i % 20) for i in range(1000)]
        batch += [message("D", i % 20, order_ref=1_000_000_007 * (k * 1000 + i)) for i in range(1000)]
        book.feed(stream(batch))
        start = start or book.memory
    assert (book.live, book.memory, book.messages) == (0, start, 80_000)
    grows = Book(rows=None)
    grows.feed(stream([add(i, "S", 1, i) for i in range(50_000)]))
    assert grows.live == 50_000 and start < grows.memory < start + 50_000 * 200


@pytest.mark.parametrize("data, says", [
    (stream([message("S", 0, event_code="O"), b"A" + bytes(20)]), "offset 14: message length: 21 bytes is too short for type 'A', which has 36"),
    (stream([message("S", 0, event_code="O"), b"?" * 300]), "offset 14: message length: 300 bytes is more than any message has"),
    (stream([message("S", 0, event_code="O")]) + bytes(5) + b"x", "offset 19: message length: a length of 0 ended the session before"),
])
def test_a_stream_that_cannot_be_right(data, says):
    for size in (1, 5, len(data)):
        book = Book()
        with pytest.raises(StreamError) as caught:
            for k in range(0, len(data), size):
                book.feed(data[k:k + size])
        assert str(caught.value).startswith(says)
        assert book.types == {"S": 1}


def test_going_on_after_a_bad_message():
    good, bad = stream([add(1, "B", 5, 100)]), stream([b"D" + bytes(15)])
    book = Book()
    with pytest.raises(StreamError) as caught:
        book.feed(good + bad + stream([add(2, "B", 5, 101)]))
    assert caught.value.offset == book.offset == len(good) and len(caught.value.rows) == 1
    book.skip(len(bad))
    rows = book.feed(stream([add(2, "B", 5, 101)]))
    assert rows["bid_px"].tolist() == [101] and book[7].stale and book.offset == 2 * len(good) + len(bad)


@pytest.mark.parametrize("options, says", [
    (dict(rows="all"), "rows must be one of"), (dict(depth=-1), "depth must be 0 to 1000"), (dict(symbols=[LOCATES]), "a locate must be"),
    (dict(symbols=["TOOLONGNAME"]), "a symbol has 1 to 8"),
])
def test_options_that_are_none(options, says):
    with pytest.raises(ValueError, match=says):
        Book(**options)


def test_what_is_not_there():
    book = Book(queues=False)
    with pytest.raises(KeyError, match="no stock directory"):
        book["NOPE"]
    with pytest.raises(KeyError, match="locate must be"):
        book[-1]
    with pytest.raises(ValueError, match="no queues"):
        book[7].orders("B")
    with pytest.raises(ValueError, match="side must be"):
        book[7].depth("X")
    assert not book[7].bids.size and book[7].trading == "unknown" and book[7].reg_sho == "0" and not book[7].stale
