"""Two lines of MoldUDP64 packets and their faults."""
import random

import pytest

from tickgate.capture import Decoder, FrameBatch
from tickgate.exchange import Exchange, LineFaults
from tickgate.exchange.feed import Feed
from tickgate.exchange.flow import Generated
from tickgate.spec import moldudp64 as mold

FAULTS = LineFaults(loss=100_000, duplicate=50_000, reorder=100_000, delay=20_000, skew=50_000)
END = 1 << 62


def parts(payload):
    """Header and messages of a packet, which must be whole."""
    header, at, messages = mold.HEADER.decode(payload), mold.HEADER.size, []
    while at < len(payload):
        length = mold.BLOCK.decode(payload, at)["length"]
        at += mold.BLOCK.size
        messages.append(payload[at:at + length])
        at += length
    assert at == len(payload)
    return header, messages


def test_packets_are_full_numbered_and_the_same_on_both_lines():
    feed, rng = Feed(max_payload=200), random.Random(1)
    sent = [rng.randbytes(rng.randrange(12, 50)) for _ in range(100)]
    for k, message in enumerate(sent):
        feed.message(k // 10, message)
        if k % 10 == 9:
            feed.flush(k // 10)
    packets = list(feed.due())
    assert [p.time_ns for p in packets] == sorted(p.time_ns for p in packets)
    for line in "ab":
        got, expected = [], mold.FIRST_SEQUENCE
        for packet in packets:
            if packet.line == line:
                header, messages = parts(packet.payload)
                assert header["sequence"] == expected and header["count"] == len(messages) > 0 and len(packet.payload) <= 200
                got += messages
                expected += len(messages)
        assert got == sent == feed.messages
    assert 20 < len(packets) < 80


def test_heartbeat_and_end():
    feed = Feed(session="SESSION", names="a")
    feed.flush(0)
    feed.message(5, b"x" * 12)
    feed.flush(5)
    feed.flush(5 + 999_999_999)
    feed.flush(5 + 1_000_000_000)
    feed.end(5 + 1_000_000_001)
    headers = [parts(p.payload)[0] for p in feed.due()]
    assert [(h["sequence"], h["count"]) for h in headers] == [(1, 1), (2, 0), (2, 0xFFFF)] and headers[0]["session"] == b"SESSION   "


def busy(seed, faults, steps=400):
    exchange = Exchange(["ALFA", "BRAVO"], seed=seed, line_faults=faults)
    flow = Generated(exchange, seed)
    for code in "OSQ":
        exchange.phase(code)
    for _ in range(steps):
        exchange.advance(exchange.now + 10_000)
        flow.step()
    exchange.finish()
    return exchange


@pytest.mark.parametrize("seed", range(3))
def test_faults_of_each_line(seed):
    print(f"seed {seed}")
    exchange = busy(seed, FAULTS)
    packets = list(exchange.feed.due(END))
    assert packets == list(busy(seed, FAULTS).feed.due(END)) != list(busy(seed + 100, FAULTS).feed.due(END))      # by seed
    assert [p.time_ns for p in packets] == sorted(p.time_ns for p in packets)
    first = {}
    for name, line in exchange.feed.lines.items():
        mine = [p for p in packets if p.line == name]
        assert min(line.lost, line.doubled, line.late) > 3 and len(mine) == line.sent - line.lost + line.doubled + 1
        numbers = [mold.HEADER.decode(p.payload)["sequence"] for p in mine]
        assert numbers != sorted(numbers) and parts(mine[-1].payload)[0]["count"] == mold.END_OF_SESSION
        first[name] = {mold.HEADER.decode(p.payload)["sequence"]: p.time_ns for p in reversed(mine)}
    both = first["a"].keys() & first["b"].keys()
    later = [first["b"][n] - first["a"][n] for n in both]
    assert sum(later) / len(later) == pytest.approx(FAULTS.skew, abs=FAULTS.delay)
    lost = {line.lost for line in exchange.feed.lines.values()}
    assert len(both) < min(len(f) for f in first.values()) and lost


def test_frames_decode_to_the_messages():
    exchange = busy(1, LineFaults(), 100)
    packets = list(exchange.feed.due())
    for line in "ab":
        batch = FrameBatch.of([p.frame() for p in packets if p.line == line], [p.time_ns for p in packets if p.line == line])
        found, data = Decoder().messages(batch), batch.data.tobytes()
        got = [data[at:at + length] for at, length in zip(found.offset.tolist(), found.length.tolist())]
        assert got == exchange.feed.messages and len(got) > 100


def test_request_for_messages_again():
    feed = Feed(session="S1", max_payload=200)
    for k in range(50):
        feed.message(0, bytes([k]) * 20)

    def ask(sequence, count, session="S1"):
        return feed.again(mold.HEADER.encode(session=session, sequence=sequence, count=count))

    header, messages = parts(ask(11, 3))
    assert (header["sequence"], messages) == (11, [bytes([k]) * 20 for k in (10, 11, 12)])
    header, messages = parts(ask(41, 100))
    assert len(messages) == header["count"] == 8                  # as many as fit
    assert len(parts(ask(49, 100))[1]) == 2                       # as many as there are
    for wrong in (ask(0, 1), ask(51, 1), ask(1, 0), ask(1, 1, "S2"), feed.again(b"short"), feed.again(b"")):
        assert wrong is None
