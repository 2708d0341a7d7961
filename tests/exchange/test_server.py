"""Order entry and feed on real sockets of the loopback, with the client of ``tickgate.session``."""
import contextlib
import socket
import time

import pytest

from tickgate.exchange import Exchange, LineFaults, Multicast, OrderFaults, Rerequests, conserved
from tickgate.exchange.orders import Order
from tickgate.exchange.server import BACKLOG
from tickgate.session import LoginRejected, Trader
from tickgate.spec import moldudp64 as mold
from tickgate.spec import soupbintcp as soup

from .running import LIMIT, Running, finish


@pytest.fixture
def exchange():
    exchange = Exchange(["ALFA"])
    exchange.add_member("alice", "secret")
    exchange.add_member("bob", "hush", "ouch42")
    for code in "OSQ":
        exchange.phase(code)
    return exchange


@pytest.fixture
def running(exchange):
    with Running(exchange) as running:
        yield running


def trader(running, name="alice", password="secret", protocol="ouch50", **how):
    return Trader(*running.address, name, password, protocol, **how)


def test_two_members_trade_with_each_other(running, exchange):
    with trader(running) as alice, trader(running, "bob", "hush", "ouch42") as bob:
        sold = alice.enter(1, 300, "ALFA", 101_500)
        assert alice.until(lambda: sold in alice.ledger.orders)
        bought = bob.enter(0, 200, "ALFA", 101_600)
        assert bob.until(lambda: bob.ledger.position["ALFA"] == 200) and alice.until(lambda: alice.ledger.position["ALFA"] == -200)
        assert bob.ledger.fills == {(exchange.engine.match, 0): ("ALFA", 0, 200, 101_500)} and bought not in bob.ledger.orders
        newer = alice.replace(sold, 500, 101_700)
        assert alice.until(lambda: newer in alice.ledger.orders) and alice.ledger.orders[newer].shares == 300
        alice.cancel(newer)
        assert alice.until(lambda: not alice.ledger.orders)
        alice.logout()
        assert alice.client.why == "the connection was closed"
    running.call(exchange.finish)
    assert running.call(lambda: conserved(exchange)) == []
    assert exchange.counts["closed: logout"] == 1 and exchange.counts["logins"] == 2


def test_reconnect_replays_what_was_missed(running, exchange):
    with trader(running) as alice:
        alice.enter(0, 100, "ALFA", 10_000)
        assert alice.until(lambda: alice.ledger.orders)
        alice.connection.close()
        running.call(lambda: exchange.engine.enter(Order(owner=exchange.crowd, book=exchange.engine.books["ALFA"], sell=1, shares=60, price=10_000)))
        with pytest.raises(ConnectionError):
            alice.client.lost("closed")
            alice.enter(0, 1, "ALFA", 10_000)
        alice.connect()
        assert alice.until(lambda: alice.ledger.position["ALFA"] == 60)
        assert alice.ledger.counts == {"system_event": 1, "accepted": 1, "executed": 1} and alice.ledger.surprises == []
        alice.enter(0, 1, "ALFA", 10_000)                        # its number goes on
        assert alice.until(lambda: len(alice.ledger.orders) == 2)
    with trader(running) as again:                                # another program, from the start
        assert again.until(lambda: again.next_sequence == 5) and again.ledger.position == alice.ledger.position


def test_logins_that_fail(running, exchange):
    with pytest.raises(LoginRejected, match="login of alice: not authorised"):
        trader(running, password="wrong")
    with pytest.raises(LoginRejected, match="login of alice: session not available"):
        trader(running, session="YESTERDAY")
    with trader(running):
        with pytest.raises(LoginRejected, match="session not available"):
            trader(running)
    deaf = socket.create_server(("127.0.0.1", 0))
    nobody = deaf.getsockname()
    with deaf, pytest.raises(ConnectionError, match="no answer to the login within 0.1 s"):
        Trader(*deaf.getsockname(), "alice", "secret", connect=False).connect(0.1)
    with pytest.raises(ConnectionRefusedError):
        Trader(*nobody, "alice", "secret")


def raw(running):
    client = socket.create_connection(running.address, LIMIT)
    client.settimeout(LIMIT)
    return client


def everything(client):
    """What comes until the other side closes."""
    data = b""
    while chunk := client.recv(1 << 16):
        data += chunk
    return data


def test_rejected_clients_get_their_answer_whatever_they_sent_behind_it(running):
    with raw(running) as client:
        client.sendall(soup.packet(soup.LOGIN, soup.login_request("alice", "wrong")) + soup.packet(soup.UNSEQUENCED, bytes(40)) * 20_000)
        assert everything(client) == soup.packet(soup.REJECTED, soup.NOT_AUTHORISED)
    with raw(running) as client:
        client.sendall(b"GET / HTTP/1.1\r\n" + bytes(1000))
        assert everything(client) == b""


def test_a_client_that_does_not_read_stops_nobody(running, exchange):
    with raw(running) as lazy:
        lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        lazy.sendall(soup.packet(soup.LOGIN, soup.login_request("alice", "secret")))
        running.call(lambda: exchange.members["alice"].sequenced.extend([bytes(1000)] * 9000))
        with trader(running, "bob", "hush", "ouch42") as bob:
            bob.enter(0, 1, "ALFA", 10_000)
            assert bob.until(lambda: bob.ledger.orders)
        seen, end = [], time.monotonic() + LIMIT
        while len(seen) < 20 and time.monotonic() < end:          # the system's own buffers are full first
            seen += filter(None, [running.call(lambda: running.server.backlog)])
        assert len(seen) == 20 and max(seen) < 2 * BACKLOG        # the rest stays where it is


def test_cut_in_the_middle_of_a_packet(exchange):
    exchange.faults = OrderFaults(cut=300_000)
    with Running(exchange) as running:
        alice, cuts = trader(running, connect=False), 0
        for number in range(40):
            with contextlib.suppress(ConnectionError):           # it may be cut at any time, even while we log in
                if not alice.up:
                    cuts += 1
                    alice.connect()
                alice.enter(number % 2, 1, "ALFA", 10_000)
                alice.poll(0.01)
        running.call(lambda: setattr(exchange, "faults", OrderFaults()))
        member = exchange.members["alice"]
        running.call(exchange.finish)
        finish(alice)
        assert alice.client.why == "end of session"
        assert cuts > 5 and exchange.counts["closed: cut"] >= cuts - 1
        assert alice.next_sequence == len(member.sequenced) + 1 and alice.ledger.surprises == []
        assert alice.ledger.position["ALFA"] == member.position["ALFA"] and conserved(exchange) == []
        alice.close()


def receive(sock, wanted):
    """Packets of a line, until one that ``wanted`` takes for the last."""
    sock.settimeout(LIMIT)
    packets = []
    while not packets or not wanted(packets[-1]):
        packets.append(sock.recv(1 << 16))
    return packets


def is_end(payload):
    return mold.HEADER.decode(payload)["count"] == mold.END_OF_SESSION


def test_feed_on_two_lines_and_requests_for_what_was_lost():
    exchange = Exchange(["ALFA"], seed=2, line_faults=LineFaults(loss=400_000))
    lines = {name: socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for name in "ab"}
    for line in lines.values():
        line.bind(("127.0.0.1", 0))
    sender = Multicast({name: line.getsockname() for name, line in lines.items()})
    rerequests = Rerequests(exchange.feed)
    asker = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    asker.settimeout(LIMIT)
    try:
        with Running(exchange, also=[rerequests], each=lambda: [sender.send(p) for p in exchange.feed.due(exchange.now)]) as running:
            def trade():
                for code in "OSQ":
                    exchange.phase(code)
                for k in range(50):
                    exchange.engine.enter(Order(owner=exchange.crowd, book=exchange.engine.books["ALFA"], sell=k % 2, shares=1, price=10_000))
                    exchange.settle()
                exchange.finish()

            running.call(trade)
            found = {}
            for line in lines.values():
                for payload in receive(line, is_end):
                    header, at = mold.HEADER.decode(payload), mold.HEADER.size
                    for number in range(header["sequence"], header["sequence"] + (0 if is_end(payload) else header["count"])):
                        length = mold.BLOCK.decode(payload, at)["length"]
                        found[number] = payload[at + mold.BLOCK.size:at + mold.BLOCK.size + length]
                        at += mold.BLOCK.size + length
            wanted = dict(enumerate(exchange.feed.messages, 1))
            missing = wanted.keys() - found.keys()
            assert missing and found.items() <= wanted.items()
            for number in missing:
                asker.sendto(mold.HEADER.encode(session=exchange.session, sequence=number, count=1), rerequests.address)
                answer = asker.recv(1 << 16)
                assert answer[mold.HEADER.size + mold.BLOCK.size:] == wanted[number]
            assert running.call(lambda: rerequests.answered) == len(missing) and sender.unsent == 0
    finally:
        for each in (*lines.values(), sender, rerequests, asker):
            each.close()


def test_multicast_on_the_loopback():
    group = "239.255.77.1"
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with receiver:
        receiver.bind(("", 0))
        try:
            receiver.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(group) + socket.inet_aton("127.0.0.1"))
        except OSError as error:
            pytest.skip(f"no multicast on this machine's loopback: {error}")
        sender = Multicast({"a": (group, receiver.getsockname()[1])})
        exchange = Exchange(["ALFA"], lines="a")
        exchange.phase("O")
        for packet in exchange.feed.due():
            sender.send(packet)
        sender.close()
        assert sender.sent > 0
        receiver.settimeout(0.5 if sender.unsent else LIMIT)
        try:
            payload = receiver.recv(1 << 16)
        except TimeoutError:
            pytest.skip("multicast does not come back on this machine's loopback")
        assert mold.HEADER.decode(payload)["sequence"] == 1


def test_delay_and_silence_over_tcp(exchange):
    exchange.faults = OrderFaults(delay=80_000_000, ignore=300_000)
    with Running(exchange) as running, trader(running) as alice:
        began = time.monotonic()
        for _ in range(30):
            alice.enter(0, 1, "ALFA", 10_000)
        alice.until(lambda: running.call(lambda: exchange.members["alice"].sent["enter"] == 30 and not exchange.waiting))
        assert time.monotonic() - began < LIMIT
        alice.until(lambda: alice.next_sequence == len(exchange.members["alice"].sequenced) + 1)
        silenced = exchange.counts["silenced"]
        assert 2 < silenced < 25 and alice.ledger.counts["accepted"] == 30 - silenced
        assert running.call(lambda: conserved(exchange)) == []
