"""Frames of messages against an independent decoder, and packet limits."""
import dpkt
import pytest

from tickgate.capture import Packing, mold_frame, mold_frames, udp_frame

ADD = b"A" * 36


def unpacked(frame):
    """Ethernet frame, IPv4 and UDP of a frame as dpkt sees them, and its messages."""
    eth = dpkt.ethernet.Ethernet(frame)
    udp = eth.data.data
    payload, messages = bytes(udp.data), []
    session, sequence, count = payload[:10], int.from_bytes(payload[10:18], "big"), int.from_bytes(payload[18:20], "big")
    at = 20
    for _ in range(count):
        size = int.from_bytes(payload[at:at + 2], "big")
        messages.append(payload[at + 2:at + 2 + size])
        at += 2 + size
    assert at == len(payload)
    return eth, eth.data, udp, session, sequence, messages


def test_a_frame_as_another_decoder_sees_it():
    packing = Packing(session="000010059B", group="233.182.12.111", port=26477, source="192.0.2.9", source_port=5, source_mac="02:00:00:00:00:07")
    (frame,) = mold_frames([ADD, b"", b"x"], [0, 0, 0], packing, sequence=1 << 40)
    eth, ip, udp, session, sequence, messages = unpacked(frame)
    assert eth.dst == bytes.fromhex("01005e360c6f") and eth.src == bytes.fromhex("020000000007")
    assert ip.dst == bytes([233, 182, 12, 111]) and ip.src == bytes([192, 0, 2, 9]) and ip.len == len(frame) - 14
    assert dpkt.in_cksum(frame[14:34]) == 0
    assert (udp.sport, udp.dport, udp.ulen, udp.sum) == (5, 26477, len(frame) - 34, 0)
    assert (session, sequence, messages) == (b"000010059B", 1 << 40, [ADD, b"", b"x"])


@pytest.mark.parametrize("vlans", [(), (0x2064,), (100, 0xE005)])
def test_vlan_tags(vlans):
    (frame,) = mold_frames([ADD], [0], Packing(vlans=vlans))
    bare = next(iter(mold_frames([ADD], [0])))
    tags = b"".join(bytes.fromhex(t) + v.to_bytes(2, "big") for t, v in zip(["88a8", "8100"][2 - len(vlans):], vlans, strict=True))
    assert frame == bare[:12] + tags + bare[12:]
    assert unpacked(frame)[5] == [ADD]


def test_nothing_and_the_last_numbers():
    assert len(mold_frames([], [])) == 0
    last = [unpacked(f)[4] for f in mold_frames([ADD] * 2, [0, 0], Packing(max_messages=1), sequence=(1 << 64) - 2)]
    assert last == [(1 << 64) - 2, (1 << 64) - 1]


def test_small_frames_are_padded():
    assert len(mold_frame(1)) == 14 + 20 + 8 + 20 and len(udp_frame(b"")) == 60 == len(udp_frame(bytes(18))) == len(udp_frame(bytes(19))) - 1
    assert udp_frame(b"")[-18:] == bytes(18)


def test_heartbeat_and_end_of_session():
    assert mold_frame(7)[42:] == b"0000000001" + (7).to_bytes(8, "big") + bytes(2)
    assert mold_frame(8, count=0xFFFF, session="ABCDEFGHIJ")[42:] == b"ABCDEFGHIJ" + (8).to_bytes(8, "big") + b"\xff\xff"


def counts(messages, times, **limits):
    batch = mold_frames(messages, times, Packing(**limits))
    parts = [unpacked(f) for f in batch]
    assert [m for p in parts for m in p[5]] == messages
    assert [p[4] for p in parts] == [1 + sum(len(q[5]) for q in parts[:k]) for k in range(len(parts))]
    return [len(p[5]) for p in parts], batch


def test_a_packet_is_full_at_the_mtu():
    got, batch = counts([ADD] * 100, [0] * 100)
    assert got == [38, 38, 24]   # as in a real packet of 38 Add Orders
    assert max(map(len, batch)) == 14 + 20 + 8 + 20 + 38 * 38 <= 1514
    fits = [b"x" * (1472 - 20 - 2 * 38 - 2), ADD, ADD]
    assert counts(fits, [0] * 3)[0] == [3] and len(mold_frames(fits, [0] * 3)[0]) == 1514
    assert counts([fits[0] + b"x", ADD, ADD], [0] * 3)[0] == [2, 1]


def test_count_and_gap_limits():
    assert counts([ADD] * 10, [0] * 10, max_messages=4)[0] == [4, 4, 2]
    got, batch = counts([ADD] * 6, [0, 5, 10, 11, 21, 22], max_gap_ns=10)
    assert got == [3, 2, 1] and batch.time_ns.tolist() == [10, 21, 22]
    assert counts([ADD] * 3, [0, 0, 1], max_gap_ns=0)[0] == [2, 1]


def test_wrong_parameters_are_told():
    with pytest.raises(ValueError, match="does not fit"):
        mold_frames([bytes(1451)], [0])
    with pytest.raises(ValueError, match="2 messages, but 1 times"):
        mold_frames([ADD, ADD], [0])
    for bad in ({"session": "short"}, {"max_messages": 0}, {"max_payload": 85}, {"group": "10.0.0.1"}, {"port": 0}, {"vlans": (1, 2, 3)},
                {"max_gap_ns": -1}):
        with pytest.raises(ValueError, match=next(iter(bad)).split("_")[0]):
            Packing(**bad)
