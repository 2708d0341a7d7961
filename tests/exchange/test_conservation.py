"""Random sessions under all faults at once: nothing is lost, nothing is booked twice; and an audit that sees what is wrong."""
import random
from collections import Counter
from types import SimpleNamespace

import pytest

from tickgate.exchange import Exchange, LineFaults, OrderFaults, conserved
from tickgate.exchange.audit import orders
from tickgate.exchange.flow import Generated

from .wire import Wire

FAULTS = OrderFaults(ignore=30_000, delay=3_000_000, cut=10_000, race=300_000, bust=100_000, renew=50_000, later=20_000_000)
LINES = LineFaults(loss=20_000, duplicate=20_000, reorder=20_000, delay=5000, skew=5000)
SYMBOLS = ("ALFA", "BRAVO")


def session(seed, steps=400):
    """Two members, one of each protocol, trade at random while everything goes wrong. Returns the exchange and the wires, after the end of the day."""
    rng, exchange = random.Random(seed), Exchange(SYMBOLS, seed=seed, faults=FAULTS, line_faults=LINES)
    wires = []
    for name, protocol in (("alice", "ouch50"), ("bob", "ouch42")):
        exchange.add_member(name, "secret", protocol, self_match=rng.choice(("trade", "oldest", "newest", "decrement")))
        wires.append(Wire(exchange, name, "secret", protocol, seed))
    flow = Generated(exchange, seed)
    plan = {0: "O", 5: "S", 40: "Q", steps - 40: "M"}
    for step in range(steps):
        exchange.advance(exchange.now + 1_000_000)
        if step in plan:
            exchange.phase(plan[step])
        if step == 6:
            flow.seed_books(8)
        if step > 6:
            flow.step()
        if step == 200:
            exchange.engine.halt(exchange.engine.books["ALFA"], "H")
        if step in (215, 230):
            book = exchange.engine.books["ALFA"]
            exchange.engine.halt(book, "Q") if step == 215 else exchange.engine.resume(book)
        for wire in wires:
            if wire.client is None or wire.client.state != "up":
                wire.connect()
            else:
                act(wire, rng, flow)
            wire.tick()
    exchange.finish()
    for wire in wires:
        wire.pump()
        for _ in range(1000):                       # cut again and again, until all is told
            if wire.client.state == "over":
                break
            assert wire.connect() != "rejected", wire.client.why
    return exchange, wires


def act(wire, rng, flow):
    symbol, sell, mine = rng.choice(SYMBOLS), rng.randrange(2), list(wire.ledger.orders)
    what = rng.random()
    price = flow._middle[symbol] + 100 * rng.randrange(-8, 9)
    if what < 0.5 or not mine:
        how = rng.choice(({}, {}, {"ioc": True}, {"hidden": True}, {"post_only": True}, {"cross": rng.choice("OCH")}))
        wire.enter(sell, rng.choice((0, 10, 100, 500)), rng.choice((symbol, symbol, symbol, "NONE")), price, **how)
    elif what < 0.75:
        wire.send(wire.ouch.cancel(rng.choice(mine), rng.choice((0, 0, 20))))
    elif what < 0.9:
        wire.send(wire.ouch.replace(rng.choice(mine), wire.ticket(), rng.choice((0, 50, 300)), price))
    elif what < 0.95:
        wire.send(wire.ouch.modify(rng.choice(mine), b"S", 5))
    else:
        wire.send(rng.randbytes(rng.randrange(60)))


@pytest.mark.parametrize("seed", range(10))
def test_everything_at_once(seed):
    print(f"seed {seed}")
    exchange, wires = session(seed)
    assert conserved(exchange) == []
    assert not exchange.waiting and exchange.engine.day == "C"
    counted = orders(exchange)
    assert counted["sent"] == counted["accepted"] + counted["rejected"] + counted["ignored"] > 100
    for wire in wires:
        member = exchange.members[wire.name]
        assert wire.ledger.surprises == [] and not wire.ledger.orders
        assert wire.next_sequence == len(member.sequenced) + 1                        # each once
        for symbol in SYMBOLS:
            assert wire.ledger.position[symbol] == member.position[symbol]
            assert (wire.ledger.bought[symbol], wire.ledger.sold[symbol]) == tuple(member.shares["executed", symbol, sell] for sell in (0, 1))


def test_the_faults_did_happen():
    counts, kinds = Counter(), Counter()
    for seed in range(20, 24):
        exchange, wires = session(seed)
        counts += exchange.counts
        for wire in wires:
            kinds += wire.ledger.counts
    print(counts, kinds)
    assert all(counts[name] > 3 for name in ("silenced", "closed: cut", "races", "busts", "renewals")), counts
    for kind in ("accepted", "replaced", "canceled", "executed", "rejected", "broken_trade", "modified", "order_priority_update", "system_event"):
        assert kinds[kind] > 3, kinds
    assert kinds["aiq_canceled"] > 0


def test_delayed_requests_stay_in_order():
    exchange = Exchange(["ALFA"], seed=1, faults=OrderFaults(delay=50_000_000))
    exchange.add_member("alice", "secret")
    for code in "OSQ":
        exchange.phase(code)
    wire = Wire(exchange, "alice", "secret")
    wire.connect()
    for _ in range(50):
        wire.enter(0, 1, "ALFA", 10_000)
        exchange.advance(exchange.now + 1_000_000)
    assert exchange.delayed["enter", exchange.members["alice"]] > 5 and conserved(exchange) == []      # those that wait are no loss
    times = []
    while exchange.waiting:
        exchange.advance(exchange.now + 1_000_000)
        times.append(len(wire.pump()))
    assert list(wire.ledger.orders) == list(range(1, 51)) and sum(n > 0 for n in times) > 5


def test_the_same_seed_is_the_same_session():
    def trace(seed):
        exchange, wires = session(seed, 120)
        return exchange.feed.messages, [exchange.members[wire.name].sequenced for wire in wires], list(exchange.feed.due())

    assert trace(1) == trace(1) != trace(2)


@pytest.mark.parametrize(("damage", "what"), [
    (lambda e: e.members["alice"].sent.update(enter=1), "requests to enter"),
    (lambda e: e.members["alice"].fates.update({("enter", "accepted"): 1}), "replies say so"),
    (lambda e: e.members["alice"].position.update(ALFA=1), "position"),
    (lambda e: e.members["alice"].shares.update({("executed", "ALFA", 0): 1}), "shares bought"),
    (lambda e: e.crowd.shares.update({("entered", "BRAVO", 1): 7}), "shares to sell BRAVO"),
    (lambda e: e.engine.volume.update(ALFA=1), "traded"),
    (lambda e: e.feed.messages.remove(next(m for m in e.feed.messages if m[:1] == b"E")), "published"),
    (lambda e: e.members["bob"].sequenced.remove(next(m for m in e.members["bob"].sequenced if m[:1] == b"E")), "bob: position"),
    (lambda e: e.members["bob"].sequenced.append(next(m for m in e.members["bob"].sequenced if m[:1] == b"E")), "bob: "),
    (lambda e: e.members["bob"].live.update({b"T": SimpleNamespace(shares=1)}), "open orders differ"),
])
def test_the_audit_sees_what_is_wrong(damage, what):
    exchange, _ = session(31, 150)
    assert conserved(exchange) == []
    damage(exchange)
    found = conserved(exchange)
    assert any(what in line for line in found), found
