"""What events are about: the place of orders in their queues, and where an event ends."""
import random

import numpy as np
import pytest

from tickgate.formats.itch import Encoder
from tickgate.formats.lobster import Pair
from tickgate.formats.orders import Orders
from tickgate.spec.events import EVENT, LAST
from tickgate.twin import Book

LOCATE = 7


def events(*rows):
    """Events of one symbol: action, reference, quantity, price, and for U the new reference."""
    out = np.zeros(len(rows), EVENT.dtype)
    for event, (action, reference, quantity, price, *new) in zip(out, rows):
        event["action"], event["side"], event["flags"], event["locate"] = ord(action), ord("B"), LAST, LOCATE
        event["reference"], event["quantity"], event["price"], event["new_reference"] = reference, quantity, price, new[0] if new else 0
    return out


QUEUE = [("A", one, 100, 50) for one in (1, 2, 3)]


@pytest.mark.parametrize("then, queue", [
    ([("M", 1, 60, 50)], [(1, 60), (2, 100), (3, 100)]),            # less: it keeps its place
    ([("M", 1, 100, 50)], [(1, 100), (2, 100), (3, 100)]),
    ([("M", 1, 101, 50)], [(2, 100), (3, 100), (1, 101)]),          # more: it loses it
    ([("M", 1, 60, 51), ("M", 1, 60, 50)], [(2, 100), (3, 100), (1, 60)]),
    ([("X", 1, 40, 0), ("E", 2, 99, 0), ("C", 3, 1, 0)], [(1, 60), (2, 1), (3, 99)]),
    ([("D", 3, 0, 0), ("D", 1, 0, 0)], [(2, 100)]),                 # those behind and ahead change nothing else
    ([("U", 1, 60, 50, 4)], [(2, 100), (3, 100), (4, 60)]),
    ([("M", 4, 5, 50), ("M", 1, 0, 50), ("M", 2, 7, 50)], [(2, 7), (3, 100), (4, 5)]),
])
def test_place_in_the_queue(then, queue):
    """The same in ``Orders`` and in the book of the messages that are made of the events, with a snapshot in the middle too."""
    for split in (False, True):
        orders, book, encoder = Orders(), Book(rows=None), Encoder({LOCATE: "ALFA"})
        for some in (QUEUE, then):
            blocks, index = encoder.encode(orders.complete(events(*some), split=split, as_messages=True)[0])
            assert len(index) or some == [("M", 1, 100, 50)]     # which changes nothing
            book.feed(blocks)
        assert encoder.left_out == 0 and not any(book.faults.values())
        assert [(one, has) for one, _, has in book[LOCATE].orders("B").tolist()] == queue
        live = [(reference, order[3]) for (_, reference), order in orders.live.items() if order[3]]
        assert live == queue
        snapshot, again = orders.snapshot(0, {LOCATE}), Orders()
        again.complete(snapshot)
        assert list(again.live.items()) == list(orders.live.items())


def test_an_event_ends_with_its_last_row():
    """Between its rows the book is not valid: LAST says so of each way an event becomes several."""
    before, changes = events(*QUEUE), [("U", 1, 5, 50, 4), ("U", 2, 5, 50, 3), ("M", 3, 500, 50), ("M", 3, 499, 50), ("M", 9, 1, 50), ("E", 3, 1, 0)]
    orders = Orders()
    orders.complete(before)
    out, _ = orders.complete(events(*changes), split=True, as_messages=True)
    assert [(chr(e["action"]), int(e["reference"]), bool(e["flags"] & LAST)) for e in out] == [
        ("D", 1, False), ("A", 4, True), ("D", 2, True), ("D", 3, False), ("A", 3, True), ("X", 3, True), ("A", 9, True), ("E", 3, True)]
    unsplit = Orders()
    unsplit.complete(before)
    assert (unsplit.complete(events(*changes))[0]["flags"] == LAST).all()


def test_modified_orders_in_a_lobster_pair(tmp_path):
    """Each row of the book is that of its message, whatever becomes of an M."""
    class About:
        levels, names = 1, {LOCATE: "ALFA"}

    rng, rows, have = random.Random(1), [], {}
    print("seed 1")
    for _ in range(400):
        reference = rng.randrange(1, 6)
        have[reference] = rng.randrange(1, 50), rng.randrange(40, 44)
        rows.append(("M", reference, *have[reference]))
    with open(tmp_path / "m", "wb") as messages, open(tmp_path / "b", "wb") as books:
        Pair(messages, books, About).write(*Orders().complete(events(*rows), split=True, as_messages=True))
    book, compared = {}, 0
    for line, told in zip((tmp_path / "m").read_text().splitlines(), (tmp_path / "b").read_text().splitlines(), strict=True):
        _, kind, reference, size, price, _ = line.split(",")
        if kind == "1":
            assert reference not in book
            book[reference] = [int(price), int(size)]
        else:
            assert kind in "23" and book[reference][0] == int(price)
            book[reference][1] -= int(size)
            if kind == "3":
                assert book.pop(reference)[1] == 0
        best = max((p for p, _ in book.values()), default=-9_999_999_999)
        assert told.split(",")[2:] == [str(best), str(sum(q for p, q in book.values() if p == best))]
        compared += 1
    assert compared > 400 and {r: tuple(o) for r, o in book.items()} == {str(r): (p, q) for r, (q, p) in have.items()}
