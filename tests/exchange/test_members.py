"""Requests and replies of both protocols, each reply of each: what a member asks, and what it hears."""
from collections import Counter

import pytest

from tickgate.exchange import Exchange, conserved
from tickgate.exchange.orders import Order
from tickgate.spec import ouch42, ouch50

from .wire import Wire

BOTH = pytest.mark.parametrize("protocol", ["ouch50", "ouch42"])


def trading(protocol, **member):
    """An exchange in continuous trading and one member's wire, logged in and done with what came before."""
    exchange = Exchange(["ALFA", "BRAVO"])
    exchange.add_member("alice", "secret", protocol, **member)
    for code in "OSQ":
        exchange.phase(code)
    exchange.advance(34_200_000_000_123)
    wire = Wire(exchange, "alice", "secret", protocol)
    assert wire.connect() == "up"
    return exchange, wire


def crowd(exchange, sell, shares, price, **how):
    order = Order(owner=exchange.crowd, book=exchange.engine.books["ALFA"], sell=sell, shares=shares, price=price, **how)
    assert exchange.engine.enter(order) is None
    return order


def brief(replies):
    return [(r["kind"], r.get("ticket"), r.get("shares")) for r in replies]


@BOTH
def test_accepted_and_executed_say_what_was_asked(protocol):
    exchange, wire = trading(protocol)
    crowd(exchange, 1, 100, 10_000)
    ticket, (accepted, executed) = wire.enter(0, 150, "ALFA", 10_100)
    assert (accepted["kind"], accepted["ticket"], accepted["shares"], accepted["price"], accepted["symbol"]) == ("accepted", ticket, 150, 10_100, "ALFA")
    assert (accepted["side"], accepted["capacity"], accepted["cross_type"], accepted["order_state"]) == (b"B", b"P", b"N", b"L")
    assert accepted["timestamp"] == exchange.now == 34_200_000_000_123
    assert (executed["kind"], executed["shares"], executed["price"], executed["liquidity_flag"], executed["match_number"]) == (
        "executed", 100, 10_000, b"R", exchange.engine.match)
    assert wire.ledger.position == {"ALFA": 100} and wire.ledger.orders[ticket].shares == 50
    crowd(exchange, 1, 50, 10_100)
    assert brief(wire.pump()) == [("executed", ticket, 50)] and not wire.ledger.orders and not exchange.members["alice"].live
    assert conserved(exchange) == []


@BOTH
def test_replace_cancel_modify(protocol):
    exchange, wire = trading(protocol)
    one, _ = wire.enter(1, 500, "ALFA", 10_000)
    crowd(exchange, 0, 100, 10_000)
    two = wire.ticket()
    *_, replaced = wire.send(wire.ouch.replace(one, two, 600, 10_100))
    assert brief([replaced]) == [("replaced", two, 500)] and replaced["old"] == one and replaced["price"] == 10_100 and replaced["side"] == b"S"
    assert brief(wire.send(wire.ouch.modify(two, b"T", 400))) == [("modified", two, 400)]
    assert brief(wire.send(wire.ouch.modify(two, b"E", 400))) == [("modified", two, 400)]        # the side alone
    assert wire.send(wire.ouch.modify(two, b"B", 300)) == [] and wire.send(wire.ouch.modify(two, b"E", 401)) == []
    (canceled,) = wire.send(wire.ouch.cancel(two, 150))
    assert brief([canceled]) == [("canceled", two, 250)] and canceled["reason"] == b"U"
    assert wire.send(wire.ouch.cancel(two, 150)) == []
    assert wire.send(wire.ouch.cancel(one)) == []                                                # it is no more
    assert brief(wire.send(wire.ouch.cancel(two))) == [("canceled", two, 150)]
    fates = exchange.members["alice"].fates
    assert fates == {("enter", "accepted"): 1, ("replace", "accepted"): 1, ("modify", "accepted"): 2, ("modify", "ignored"): 2,
                     ("cancel", "accepted"): 2, ("cancel", "ignored"): 2}
    assert conserved(exchange) == [] and wire.ledger.surprises == []


@BOTH
def test_a_ticket_is_used_once(protocol):
    exchange, wire = trading(protocol)
    message = wire.ouch.enter(wire.ouch.ticket(5), 0, 100, "ALFA", 10_000)
    assert len(wire.send(message)) == 1 and wire.send(message) == []
    assert wire.send(wire.ouch.replace(wire.ouch.ticket(5), wire.ouch.ticket(5), 100, 9900)) == []
    assert wire.send(wire.ouch.replace(wire.ouch.ticket(4), wire.ouch.ticket(6), 100, 9900)) == []
    (rejected,) = wire.send(wire.ouch.enter(wire.ouch.ticket(7), 0, 100, "NONE", 10_000))
    assert rejected["kind"] == "rejected"
    assert wire.send(wire.ouch.enter(wire.ouch.ticket(7), 0, 100, "ALFA", 10_000)) == []         # a rejected one is used as well
    lower = wire.send(wire.ouch.enter(wire.ouch.ticket(6), 0, 100, "ALFA", 10_000))
    assert len(lower) == (protocol == "ouch42")                                                  # 5.0: they must rise
    assert conserved(exchange) == []


def test_account_query():
    exchange, wire = trading("ouch50")
    wire.send(wire.ouch.enter(41, 0, 100, "ALFA", 10_000))
    (answer,) = wire.send(wire.ouch.query())
    assert answer["next_user_ref_num"] == 42 and exchange.members["alice"].fates["query", "accepted"] == 1


def changed(message, layout, tail=b"", **values):
    """A request with other fields than the client would send."""
    fields = {**layout.decode(message), **values}
    if tail and "appendage_length" not in values:
        fields["appendage_length"] = len(tail)
    return layout.encode(**fields) + tail


@pytest.mark.parametrize(("fields", "tags", "why"), [
    (dict(symbol=b"NONE"), {}, "invalid_symbol"), (dict(quantity=0), {}, "invalid_quantity"), (dict(quantity=1_000_000), {}, "invalid_quantity"),
    (dict(price=0), {}, "invalid_price"), (dict(price=10_050), {}, "invalid_price"), (dict(price=ouch50.MARKET), {}, "invalid_price"),
    (dict(side=b"X"), {}, "invalid_side"), (dict(display=b"Z"), {}, "invalid_display"), (dict(cross_type=b"O"), {}, "invalid_cross_order"),
    (dict(cross_type=b"E"), {}, "invalid_cross_order"), (dict(time_in_force=b"5"), {}, "other"), (dict(time_in_force=b"6"), {}, "other"),
    (dict(capacity=b"X"), {}, "other"), (dict(intermarket_sweep=b"y"), {}, "iso_not_allowed"),
    ({}, dict(firm=b"EVIL"), "firm_not_authorised"), ({}, dict(min_qty=5), "invalid_min_qty"), ({}, dict(max_floor=5), "invalid_max_floor"),
    ({}, dict(price_type=b"M"), "pegging_not_allowed"), ({}, dict(peg_offset=-1), "invalid_peg_type"), ({}, dict(route=b"SCAN"), "routing_not_allowed"),
    ({}, dict(discretion_price=1), "other"), ({}, dict(trade_now=b"Y"), "other"), ({}, dict(expire_time=50_000), "other"),
    (dict(appendage_length=9), {}, "other"), (dict(appendage_length=2), "\0\x02", "other"),
])
def test_reasons_of_ouch50(fields, tags, why):
    exchange, wire = trading("ouch50")
    tail = tags.encode() if isinstance(tags, str) else ouch50.appendage(**tags)
    (reply,) = wire.send(changed(wire.ouch.enter(1, 0, 100, "ALFA", 10_000), ouch50.IN[b"O"], tail, **fields))
    assert (reply["kind"], reply["ticket"], reply["reason"], reply["clordid"].rstrip()) == ("rejected", 1, ouch50.REJECT_REASONS[why], b"T1")
    assert exchange.members["alice"].fates == {("enter", "rejected"): 1} and not exchange.crowd.shares and conserved(exchange) == []


@pytest.mark.parametrize(("fields", "why"), [
    (dict(stock=b"NONE"), "invalid_symbol"), (dict(shares=0), "shares_exceed_threshold"), (dict(shares=1_000_000), "shares_exceed_threshold"),
    (dict(price=10_050), "invalid_price"), (dict(side=b"X"), "other"), (dict(display=b"M"), "invalid_display"), (dict(cross_type=b"H"), "invalid_cross_order"),
    (dict(time_in_force=99_999), "other"), (dict(firm=b"EVIL"), "firm_not_authorised"), (dict(minimum_quantity=1), "invalid_min_qty"),
    (dict(customer_type=b"X"), "other"), (dict(intermarket_sweep=b"y"), "other"),
])
def test_reasons_of_ouch42(fields, why):
    exchange, wire = trading("ouch42")
    (reply,) = wire.send(changed(wire.ouch.enter(wire.ouch.ticket(1), 0, 100, "ALFA", 10_000), ouch42.IN[b"O"], **fields))
    assert (reply["kind"], reply["reason"]) == ("rejected", ouch42.REJECT_REASONS[why])
    assert conserved(exchange) == []


@BOTH
def test_neutral_and_special_terms_are_taken(protocol):
    exchange, wire = trading(protocol)
    spec = wire.ouch.spec
    ticket = wire.ticket()
    if protocol == "ouch50":
        tags = dict(firm=b"ALIC", min_qty=0, price_type=b"L", customer_type=b"R", shares_located=b"Y", group_id=7, post_only=b"N")
        shown = changed(wire.ouch.enter(ticket, 0, 100, "ALFA", 10_000, **tags), spec.IN[b"O"], ouch50.appendage(**tags), display=spec.ATTRIBUTED)
    else:
        shown = changed(wire.ouch.enter(ticket, 0, 100, "ALFA", 10_000), spec.IN[b"O"], display=spec.ATTRIBUTED, firm=b"ALIC")
    (accepted,) = wire.send(shown)
    assert accepted["kind"] == "accepted" and exchange.feed.messages[-1][:1] == b"F" and exchange.feed.messages[-1].endswith(b"ALIC")
    if protocol == "ouch50":
        reply = exchange.members["alice"].sequenced[-1]
        assert ouch50.tagged(reply[ouch50.OUT[b"A"].size:]) == tags
    wire.enter(0, 100, "ALFA", 10_000, hidden=True)
    assert exchange.feed.messages[-1][:1] == b"F"                                                # nothing was published
    crowd(exchange, 1, 150, 10_000, ioc=True)
    assert [r["liquidity_flag"] for r in wire.pump()] == [b"A", b"J"]
    _, (dead,) = wire.enter(1, 100, "ALFA", 10_000, post_only=True)
    assert dead["order_state"] == b"D" and not [o for o in wire.ledger.orders.values() if o.sell]
    _, (taken, gone) = wire.enter(1, 100, "BRAVO", 10_000, ioc=True)
    assert (taken["kind"], gone["kind"], gone["reason"]) == ("accepted", "canceled", b"I")
    assert conserved(exchange) == []


@BOTH
def test_orders_that_expire(protocol):
    exchange, wire = trading(protocol)
    second = 1_000_000_000
    how = {"expires": 34_203 * second} if protocol == "ouch50" else {"seconds": 2}
    ticket, _ = wire.enter(0, 100, "ALFA", 10_000, **how)
    exchange.advance(34_201 * second)
    assert wire.pump() == []
    exchange.advance(34_204 * second)
    (reply,) = wire.pump()
    assert brief([reply]) == [("canceled", ticket, 100)] and reply["reason"] == b"T" and 34_202 * second <= reply["timestamp"] <= 34_203 * second
    assert conserved(exchange) == []


@BOTH
def test_terms_that_cannot_be_cost_the_order(protocol):
    exchange, wire = trading(protocol)
    for number, (shares, price) in enumerate(((1_000_000, 10_000), (100, 10_001), (40, 10_000))):
        ticket, _ = wire.enter(0, 100, "ALFA", 10_000)
        if number == 2:
            crowd(exchange, 1, 40, 10_000)
            wire.pump()
        new = wire.ticket()
        assert brief(wire.send(wire.ouch.replace(ticket, new, shares, price))) == [("canceled", ticket, 60 if number == 2 else 100)]
        wire.number -= 1                                     # the new ticket was not used: the next order has it
    assert exchange.members["alice"].fates["replace", "rejected"] == 3
    ticket, replies = wire.enter(0, 100, "ALFA", 10_000)
    assert ticket == new and brief(replies) == [("accepted", ticket, 100)] and conserved(exchange) == []


@BOTH
def test_self_match_bust_renewal(protocol):
    exchange, wire = trading(protocol, self_match="decrement")
    one, _ = wire.enter(1, 100, "ALFA", 10_000)
    two, replies = wire.enter(0, 300, "ALFA", 10_000)
    assert brief(replies) == [("accepted", two, 300), ("aiq_canceled", one, 100), ("aiq_canceled", two, 100)]
    assert all((r["quantity_prevented"], r["price"], r["reason"]) == (100, 10_000, b"Q") for r in replies[1:])
    crowd(exchange, 1, 50, 10_000)
    wire.pump()
    assert wire.ledger.position == {"ALFA": 50} and wire.ledger.orders[two].done == 150
    exchange.engine.bust(exchange.engine.match)
    (broken,) = wire.pump()
    assert (broken["kind"], broken["ticket"], broken["match_number"], broken["reason"]) == ("broken_trade", two, exchange.engine.match, b"E")
    assert wire.ledger.position["ALFA"] == 0 and exchange.members["alice"].position["ALFA"] == 0
    order = exchange.members["alice"].live[two]
    exchange.engine.renew(order)
    (renewed,) = wire.pump()
    assert (renewed["kind"], renewed["ticket"], renewed["order_ref"], renewed["price"]) == ("order_priority_update", two, order.reference, 10_000)
    assert conserved(exchange) == [] and wire.ledger.surprises == []


@BOTH
def test_a_cross_and_what_it_refuses(protocol):
    exchange = Exchange(["ALFA"])
    exchange.add_member("alice", "secret", protocol)
    for code in "OS":
        exchange.phase(code)
    wire = Wire(exchange, "alice", "secret", protocol)
    wire.connect()
    ticket, (accepted,) = wire.enter(0, 100, "ALFA", 0, cross="O", market=True)
    assert accepted["price"] == wire.ouch.spec.MARKET and accepted["cross_type"] == b"O"
    exchange.engine.freeze(exchange.engine.books["ALFA"], "O")
    (rejected,) = wire.send(wire.ouch.replace(ticket, wire.ticket(), 50, 10_000))
    assert rejected["kind"] == "rejected"
    if protocol == "ouch50":
        assert rejected["reason"] == ouch50.REJECT_REASONS["cancel_not_allowed"]
    assert brief(wire.send(wire.ouch.cancel(ticket))) == [("cancel_pending", ticket, None)]
    assert brief(wire.send(wire.ouch.cancel(ticket))) == [("cancel_reject", ticket, None)]
    crowd(exchange, 1, 60, 10_000)
    exchange.phase("Q")
    executed, canceled = wire.pump()
    assert brief([executed, canceled]) == [("executed", ticket, 60), ("canceled", ticket, 40)]
    assert (executed["price"], executed["liquidity_flag"], canceled["reason"]) == (10_000, b"O", b"U")
    for code in "MEC":
        exchange.phase(code)
    (end,) = wire.pump()
    assert (end["kind"], end["event_code"]) == ("system_event", b"E") and conserved(exchange) == []


@BOTH
def test_nonsense_is_counted_and_nothing_else(protocol):
    exchange, wire = trading(protocol)
    size = wire.ouch.spec.IN[b"O"].size
    whole = wire.ouch.enter(wire.ticket(), 0, 100, "ALFA", 10_000)
    for raw in (b"", b"?", b"O", whole[:size - 1], b"X" + bytes(40), b"\xff" * 300, *(() if protocol == "ouch50" else (whole + b"\0",))):
        assert wire.send(raw) == []
    member = exchange.members["alice"]
    assert member.unreadable == 6 + (protocol == "ouch42") and set(Counter(fate for _, fate in member.fates)) == {"ignored"}
    assert len(wire.send(whole)) == 1 and conserved(exchange) == []


def test_members_that_cannot_be():
    exchange = Exchange(["ALFA"])
    exchange.add_member("alice", "secret")
    for name, how, why in (("alice", {}, "is there already"), ("toolong", {}, "name must have 1 to 6"), ("", {}, "name must have"),
                           ("bob", dict(password="x" * 11), "password must have 1 to 10"), ("bob", dict(protocol="fix"), "protocol must be one of"),
                           ("bob", dict(firm="FIRMS"), "firm must have"), ("bob", dict(self_match="x"), "self match must be one of")):
        with pytest.raises(ValueError, match=why):
            exchange.add_member(name, **{"password": "secret", **how})
    for symbols in ([], ["ALFA", "ALFA"], ["alfa"], ["NINELETTE"], [""]):
        with pytest.raises(ValueError, match="symbols must be"):
            Exchange(symbols)
