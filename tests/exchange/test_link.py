"""SoupBinTCP on both ends, without sockets: logins, replay, heartbeats, ends, nonsense, at any cut of the stream."""
import random

import pytest

from tickgate.exchange import Exchange, Link, OrderFaults
from tickgate.session import PacketError, Splitter
from tickgate.spec import soupbintcp as soup

from .wire import Wire

SECOND = 1_000_000_000


@pytest.fixture
def exchange():
    exchange = Exchange(["ALFA"])
    exchange.add_member("alice", "secret")
    for code in "OSQ":
        exchange.phase(code)
    return exchange


def packets(data):
    return list(Splitter().feed(data))


def login(exchange, *how):
    """The link and the answer to a login as bytes."""
    link = Link(exchange, 0)
    link.receive(soup.packet(soup.LOGIN, how[0] if len(how) == 1 else soup.login_request(*how)), 0)
    return link, packets(link.outgoing(0))


def test_splitter_at_every_cut():
    seed = 3
    rng = random.Random(seed)
    sent = [(bytes([rng.randrange(1, 256)]), rng.randbytes(rng.choice((0, 1, 5, 300)))) for _ in range(50)]
    stream = b"".join(soup.packet(*packet) for packet in sent)
    for size in (1, 2, 3, 64, len(stream)):
        splitter, got = Splitter(), []
        for at in range(0, len(stream), size):
            got += splitter.feed(stream[at:at + size])
        assert got == sent and not splitter.partial
    cut = Splitter(stream[:40])               # what was begun elsewhere
    assert [*cut.feed(stream[40:])] == sent
    bad, got = Splitter(), []
    with pytest.raises(PacketError):
        for packet in bad.feed(stream + b"\0\0"):
            got.append(packet)
    assert got == sent


def test_login(exchange):
    link, answer = login(exchange, "alice", "secret", "", 1)
    assert [kind for kind, _ in answer] == [soup.ACCEPTED, soup.SEQUENCED]
    assert answer[0][1] == b"0000000001" + b"1".rjust(20) and answer[1][1] == exchange.members["alice"].sequenced[0]
    link.receive(soup.packet(soup.LOGOUT), 0)
    assert (link.state, link.why) == ("closed", "logout")
    _, answer = login(exchange, b"alice\0secret    0000000001" + b"0".ljust(20))      # padded with what others pad with; 0: new ones only
    assert answer == [(soup.ACCEPTED, b"0000000001" + b"2".rjust(20))]


@pytest.mark.parametrize(("how", "reason"), [
    (("alice", "wrong"), b"A"), (("bob", "secret"), b"A"), (("", ""), b"A"), (("alice", "secret", "OTHER"), b"S"), (("alice", "secret", "", 3), b"S"),
    (("alice", "secret", "", "x"), b"S"), (("alice", "secret", "", ""), b"S"), (("alice", "secret", "", -1), b"S"),
])
def test_login_rejected(exchange, how, reason):
    link, answer = login(exchange, *how)
    assert answer == [(soup.REJECTED, reason)] and link.state == "closed" and exchange.counts["logins rejected"] == 1
    assert exchange.members["alice"].link is None


def test_second_login_waits_for_the_end_of_the_first(exchange):
    link, _ = login(exchange, "alice", "secret")
    assert login(exchange, "alice", "secret")[1] == [(soup.REJECTED, b"S")]
    link.receive(b"", 0)
    assert login(exchange, "alice", "secret")[1][0][0] == soup.ACCEPTED
    assert exchange.counts["logins"] == 2


def test_replay_from_any_number(exchange):
    wire = Wire(exchange, "alice", "secret")
    wire.connect()
    for _ in range(9):
        wire.enter(0, 1, "ALFA", 10_000)
    said = exchange.members["alice"].sequenced
    wire.link.receive(b"", 0)
    for first in range(1, 11):
        link, answer = login(exchange, "alice", "secret", exchange.session, first)
        assert [payload for _, payload in answer[1:]] == said[first - 1:]
        link.receive(b"", 0)
    assert len(said) == 10


@pytest.mark.parametrize("raw", [b"\0\0", soup.packet(b"U", b"O"), soup.packet(b"L", b"short"), soup.packet(b"O"), soup.packet(b"?"),
                                 b"GET / HTTP/1.1\r\n"])
def test_nonsense_before_the_login_ends_it(exchange, raw):
    link = Link(exchange, 0)
    link.receive(raw, 0)
    assert (link.state, link.why, link.outgoing(0)) == ("closed", "nonsense", b"") and exchange.counts["nonsense"] == 1


def test_nonsense_after_the_login(exchange):
    wire = Wire(exchange, "alice", "secret")
    wire.connect()
    for kind, payload in ((b"?", b""), (b"S", b"x"), (b"L", soup.login_request("alice", "secret")), (b"A", b""), (b"+", b"hello"), (b"R", b"")):
        wire.link.receive(soup.packet(kind, payload), 0)
    assert wire.link.state == "up" and exchange.counts["nonsense"] == 4
    assert len(wire.enter(0, 1, "ALFA", 10_000)[1]) == 1
    wire.link.receive(b"\0\0", 0)
    assert (wire.link.state, wire.link.why) == ("closed", "nonsense")


def test_random_bytes_never_hurt(exchange):
    seed = 11
    print(f"seed {seed}")
    rng, closed = random.Random(seed), 0
    for _ in range(300):
        link = Link(exchange, 0)
        if rng.random() < 0.5:
            link.receive(soup.packet(soup.LOGIN, soup.login_request("alice", "secret")), 0)
        for _ in range(rng.randrange(1, 5)):
            body = rng.randbytes(rng.randrange(60))
            link.receive(rng.choice((body or b"\0", soup.packet(b"U", rng.choice(b"OUXMQ").to_bytes(1, "big") + body))), 0)
            link.outgoing(0)
        closed += link.state == "closed"
        link.close("by us")
    assert 50 < closed < 300 and sum(exchange.members["alice"].fates.values()) > 50


def test_heartbeats_both_ways_and_silence(exchange):
    wire = Wire(exchange, "alice", "secret")
    wire.connect()
    wire.pump()
    for _ in range(20):
        wire.tick(SECOND)
    assert wire.client.state == wire.link.state == "up" and wire.client.counts["heartbeats"] == 20
    wire.tick(SECOND - 1)
    assert wire.client.counts["heartbeats"] == 20                # not before a second of silence
    link, client, start = wire.link, wire.client, wire.now
    link.tick(start + 14 * SECOND)                               # nobody carries the bytes any more; both heard the other a second before
    client.tick(start + 14 * SECOND)
    assert link.state == client.state == "up"
    link.tick(start + 14 * SECOND + 1)
    client.tick(start + 14 * SECOND + 1)
    assert (link.state, link.why) == ("closed", "silent client") and client.state == "lost" and "15 s" in client.why
    idle = Link(exchange, 0)
    idle.tick(30 * SECOND - 1)
    assert idle.state == "login"
    idle.tick(30 * SECOND)
    assert (idle.state, idle.why) == ("closed", "no login")


def test_end_of_session(exchange):
    wire = Wire(exchange, "alice", "secret")
    wire.connect()
    wire.enter(0, 1, "ALFA", 10_000)
    exchange.finish()
    wire.pump()
    assert (wire.client.state, wire.client.why) == ("over", "end of session") and wire.ledger.counts["system_event"] == 2
    with pytest.raises(ConnectionError, match="end of session"):
        wire.send(b"x")
    assert wire.connect() == "rejected" and wire.client.why == "session not available"


def test_cut_in_the_middle_of_a_packet_and_replay():
    seed = 5
    exchange = Exchange(["ALFA"], seed=seed, faults=OrderFaults(cut=200_000))
    exchange.add_member("alice", "secret")
    for code in "OSQ":
        exchange.phase(code)
    wire, sent = Wire(exchange, "alice", "secret", seed=seed), 0
    while sent < 60:
        if wire.client is None or wire.client.state != "up":
            wire.connect()
            continue
        wire.enter(sent % 2, 10, "ALFA", 10_000)
        sent += 1
    exchange.faults = OrderFaults()
    if wire.client.state != "up":
        wire.connect()
    cuts = exchange.counts["closed: cut"]
    assert cuts > 5 and exchange.counts["logins"] == cuts + 1 and wire.ended.count("cut") <= cuts
    member = exchange.members["alice"]
    assert wire.next_sequence == len(member.sequenced) + 1 and wire.ledger.surprises == []
    assert sum(wire.ledger.counts.values()) == len(member.sequenced)
    assert wire.ledger.position["ALFA"] == member.position["ALFA"] == 0 and wire.ledger.bought["ALFA"] == 300


@pytest.mark.parametrize(("raw", "why"), [(b"\0\0", "length 0"), (soup.packet(b"A", b"short"), "needs 30 bytes"),
                                          (soup.packet(b"A", bytes(10) + b"number".rjust(20)), "invalid literal")])
def test_client_gives_up_a_server_that_speaks_nonsense(exchange, raw, why):
    wire = Wire(exchange, "alice", "secret")
    wire.connect()
    wire.client.state = "login" if len(raw) > 2 else "up"
    wire.client.receive(raw, 0)
    assert wire.client.state == "lost" and why in wire.client.why
