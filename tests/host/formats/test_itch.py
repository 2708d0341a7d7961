"""ITCH messages as events and back, against the message tables; what their orders were, against the reference twin's books."""
import random

import numpy as np
import pytest

from tickgate.formats.itch import FIELDS, Encoder, Misfit
from tickgate.formats.orders import Orders
from tickgate.spec import itch50
from tickgate.spec.events import ACTIONS, EVENT
from tickgate.twin.book import Book, new_counters


def messages_of(raw):
    at, out = 0, []
    while size := raw[at] << 8 | raw[at + 1]:
        out.append(raw[at + 2:at + 2 + size])
        at += 2 + size
    return out


def number(value):
    return int.from_bytes(value, "big") if isinstance(value, bytes) else value


def random_messages(rng, count):
    """One of each event type in turn, every field at random over its whole range."""
    out = []
    for k in range(count):
        code = sorted(FIELDS)[k % len(FIELDS)]
        values = {f.name: rng.randrange(1 << 8 * f.size) if f.kind == "uint" else bytes(rng.choices(b"ABNQSTY", k=f.size))
                  for f in itch50.BY_CODE[code].fields[1:]}
        if "side" in values:
            values["side"] = rng.choice("BS")
        values["timestamp"] = 10 ** 12 + k      # a stream does not go back
        out.append(itch50.BY_CODE[code].encode(**values))
    return out


def test_every_field_of_every_type(tmp_path, read):
    seed = 21
    print(f"seed {seed}")
    messages = random_messages(random.Random(seed), 600)
    path = tmp_path / "x"
    path.write_bytes(b"".join(len(m).to_bytes(2, "big") + m for m in messages) + bytes(2))
    events, _ = read(path)
    assert len(events) == len(messages)
    for k, (message, event) in enumerate(zip(messages, events, strict=True)):
        action, fields = FIELDS[message[:1]]
        told = itch50.BY_CODE[message[:1]].decode(message)
        assert (chr(event["action"]), event["locate"], event["time_ns"], event["sequence"]) == (action, told["stock_locate"], told["timestamp"], k + 1)
        for theirs, ours in fields.items():
            value = told[theirs]
            assert event[ours] == (number(value) if ours in ("side", "detail") else value), (message[:1], theirs)
        said = {*fields.values(), "action", "locate", "time_ns", "sequence", "flags", "side"} | ({"trade_price"} if message[:1] in b"PQ" else set())
        assert not any(event[name] for name in set(EVENT.dtype.names) - said)
    assert {chr(a) for a in events["action"]} <= ACTIONS.keys()


def test_what_each_type_says(tmp_path, read):
    """One message of each type, and what its event must be, written out."""
    common = {"stock_locate": 9, "timestamp": 77}
    said = [
        (b"A", {"order_ref": 5, "side": "B", "shares": 6, "price": 7}, {"action": "A", "reference": 5, "side": "B", "quantity": 6, "price": 7}),
        (b"F", {"order_ref": 5, "side": "S", "shares": 6, "price": 7, "attribution": "MKRA"},
         {"action": "A", "reference": 5, "side": "S", "quantity": 6, "price": 7, "attribution": b"MKRA"}),
        (b"E", {"order_ref": 5, "executed_shares": 6, "match_number": 8}, {"action": "E", "reference": 5, "quantity": 6, "match": 8}),
        (b"C", {"order_ref": 5, "executed_shares": 6, "match_number": 8, "printable": "N", "execution_price": 9},
         {"action": "C", "reference": 5, "quantity": 6, "match": 8, "detail": "N", "trade_price": 9}),
        (b"X", {"order_ref": 5, "cancelled_shares": 6}, {"action": "X", "reference": 5, "quantity": 6}),
        (b"D", {"order_ref": 5}, {"action": "D", "reference": 5}),
        (b"U", {"original_order_ref": 5, "new_order_ref": 4, "shares": 6, "price": 7},
         {"action": "U", "reference": 5, "new_reference": 4, "quantity": 6, "price": 7}),
        (b"P", {"order_ref": 0, "side": "B", "shares": 6, "price": 7, "match_number": 8},
         {"action": "P", "side": "B", "quantity": 6, "price": 7, "trade_price": 7, "match": 8}),
        (b"Q", {"shares": 1 << 40, "cross_price": 7, "match_number": 8, "cross_type": "O"},
         {"action": "Q", "quantity": 1 << 40, "price": 7, "trade_price": 7, "match": 8, "detail": "O"}),
        (b"B", {"match_number": 8}, {"action": "B", "match": 8}),
        (b"H", {"trading_state": "P"}, {"action": "H", "detail": "P"}),
        (b"S", {"event_code": "Q"}, {"action": "S", "detail": "Q"}),
    ]
    raw = [itch50.BY_CODE[code].encode(**common, **values) for code, values, _ in said]
    (tmp_path / "x").write_bytes(b"".join(len(m).to_bytes(2, "big") + m for m in raw) + bytes(2))
    events, _ = read(tmp_path / "x")
    for k, (event, (_, _, wanted)) in enumerate(zip(events, said, strict=True)):
        wanted = {"time_ns": 77, "locate": 9, "sequence": k + 1, "flags": 128, "side": " ", **wanted}
        for name in EVENT.dtype.names:
            value = wanted.get(name, b"" if name == "attribution" else 0)
            assert event[name] == (ord(value) if isinstance(value, str) else value), (wanted["action"], name)


def test_a_replace_by_itself_does_not_rest():
    """The old order counts as live while the new one is judged (docs/path.md)."""
    rows = np.zeros(3, EVENT.dtype)
    rows["action"], rows["reference"], rows["new_reference"], rows["quantity"] = list(b"AUX"), 5, (0, 5, 0), (10, 20, 1)
    for split in (False, True):
        orders = Orders()
        orders.complete(rows, split=split)
        assert not orders.live and orders.faults == {"duplicate_reference": 1, "unknown_reference": 1}


def test_events_become_the_messages_they_came_from(tmp_path, read):
    seed = 22
    print(f"seed {seed}")
    messages = random_messages(random.Random(seed), 600)
    path = tmp_path / "x"
    path.write_bytes(b"".join(len(m).to_bytes(2, "big") + m for m in messages) + bytes(2))
    events, source = read(path)
    blocks, index = Encoder(source.names).encode(events)
    again = messages_of(blocks.tobytes() + bytes(2))
    assert index.tolist() == list(range(len(messages)))
    for before, after in zip(messages, again, strict=True):
        table = itch50.BY_CODE[before[:1]]
        lost = {"tracking_number", "stock", "reserved", "reason"}
        assert {k: v for k, v in table.decode(before).items() if k not in lost} == {k: v for k, v in table.decode(after).items() if k not in lost}


@pytest.mark.parametrize(("field", "value"), [("price", -1), ("price", 1 << 32), ("price_rest", 1), ("quantity", 1 << 32), ("time_ns", -1)])
def test_what_does_not_fit_itch_is_told(field, value):
    event = np.zeros(1, EVENT.dtype)
    event["action"], event["side"], event["locate"] = ord("A"), ord("B"), 1
    Encoder({}).encode(event)
    event[field] = value
    with pytest.raises(Misfit, match="does not fit ITCH"):
        Encoder({}).encode(event)


class Unlimited:
    """Room for every order."""

    def is_wide(self, reference):
        return False

    def take(self, reference):
        return self

    def give_back(self, room):
        pass


def books():
    capacity, count, found = Unlimited(), new_counters(), {}
    return count, lambda locate: found.setdefault(locate, Book(0, 1, 1 << 32, capacity, count))


@pytest.mark.parametrize("wrong", [False, True])
def test_orders_are_those_of_the_twin(itch, read, wrong):
    """Side, price and quantity of each event's order; ``wrong``: a part of the events is missing, so that orders are unknown."""
    events, _ = read(itch)
    seed = 23
    print(f"seed {seed}")
    if wrong:
        keep = np.random.default_rng(seed).random(len(events)) < 0.9
        keep[np.flatnonzero(events["action"] == ord("A"))[5:8]] = True
        events = np.concatenate([events[keep], events[keep][events[keep]["action"] == ord("A")][:50]])     # some live already
    orders, (count, book), compared = Orders(), books(), 0
    done, left = orders.complete(events)
    assert len(done) == len(events) == len(left)
    for event, after, rest in zip(events.tolist(), done.tolist(), left.tolist(), strict=True):
        event, after = dict(zip(EVENT.dtype.names, event)), dict(zip(EVENT.dtype.names, after))
        action, its, reference = chr(event["action"]), book(event["locate"]), event["reference"]
        if action == "A":
            outcome = its.add(reference, event["side"] == ord("S"), event["quantity"], event["price"])
        elif action in "ECX":
            outcome = its.reduce(reference, event["quantity"])
        elif action == "D":
            outcome = its.delete(reference)
        elif action == "U":
            outcome, reference = its.replace(reference, event["new_reference"], event["quantity"], event["price"]), event["new_reference"]
        else:
            assert event == after
            continue
        compared += 1
        live = its.orders.get(reference)
        assert rest == (live.quantity if live and not outcome.fault else 0)
        if outcome.fault == 0:
            assert (after["side"], after["price"], after["quantity"]) == (b"BS"[outcome.sell], outcome.price, outcome.quantity)
    assert compared > 3000
    assert len(orders.live) == sum(len(book(k).orders) for k in range(1, 4)) > 100
    assert orders.faults["unknown_reference"] == count["unknown_reference"] and orders.faults["duplicate_reference"] == count["duplicate_reference"]
    assert bool(count["unknown_reference"]) == wrong == bool(count["duplicate_reference"])


def test_splitting_changes_no_book(itch, read):
    events, _ = read(itch)
    whole, parts = Orders(), Orders()
    whole.complete(events)
    split, left = parts.complete(events, split=True)
    assert whole.live == parts.live and (events["action"] == ord("U")).sum() > 100
    assert not (split["action"] == ord("U")).any() and len(split) == len(events) + (events["action"] == ord("U")).sum()
    deletes = split[split["action"] == ord("D")]
    assert (deletes["quantity"] > 0).all() and (deletes["price"] > 0).all()
    again = Orders()
    again.complete(parts.snapshot(5, {1, 2, 3}))
    assert again.live == {key: order for key, order in sorted(parts.live.items(), key=lambda one: one[0][0])} and (left > 0).any()
