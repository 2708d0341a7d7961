"""What a survey finds: on frames of every shape, on real data, and on what is no ITCH."""
import random
import time
from collections import Counter

import pytest

from tickgate.capture import (
    CaptureError,
    FrameBatch,
    Packing,
    datagrams,
    mold_frame,
    mold_frames,
    open_capture,
    scan,
    udp_frame,
    write_binaryfile,
    write_pcap,
)
from tickgate.spec import ethernet, itch50

GROUP = int.from_bytes(bytes([233, 54, 12, 111]), "big")
HEAD = {  # messages by type, from the description of the real data
    "nasdaq_head_251837.truncated.gz": {"S": 2, "R": 8906, "H": 8897, "Y": 8893, "L": 215036, "A": 5609, "F": 36, "D": 2658, "U": 331, "X": 1453,
                                        "E": 13, "P": 3},
    "derived_20191230_book_slice.itch": {"S": 2, "R": 664, "H": 664, "A": 5609, "F": 36, "D": 2658, "U": 331, "X": 1453, "E": 13, "P": 3},
    "nasdaq_head_1000.itch": {"S": 1, "R": 993, "H": 3, "Y": 3},
}


def survey(path, frames):
    write_pcap(path, frames, range(len(frames)))
    return scan(open_capture(path))


def with_header(frame, **changes):
    """The frame with other IPv4 fields and a right checksum."""
    at = ethernet.ETHERNET.size
    values = {**ethernet.IPV4.decode(frame, at), **changes, "checksum": 0}
    header = ethernet.IPV4.encode(**values)
    header = ethernet.IPV4.encode(**{**values, "checksum": 0xFFFF ^ ethernet.ones_complement(header)})
    return frame[:at] + header + frame[at + ethernet.IPV4.size:]


def with_options(frame, words):
    """The untagged frame with that many words of IPv4 options."""
    if not words:
        return frame
    at = ethernet.ETHERNET.size
    values = ethernet.IPV4.decode(frame, at)
    header = ethernet.IPV4.encode(**{**values, "version_ihl": 0x45 + words, "total_length": values["total_length"] + 4 * words, "checksum": 0})
    header += bytes([7]) * 4 * words
    sum_at = ethernet.IPV4["checksum"]
    header = header[:sum_at.offset] + (0xFFFF ^ ethernet.ones_complement(header)).to_bytes(2, "big") + header[sum_at.end:]
    return frame[:at] + header + frame[at + ethernet.IPV4.size:]


@pytest.mark.parametrize("behind", [b"", b"\xde\xad\xbe\xef", bytes(19), b"\xff" * 16], ids=["nothing", "fcs", "padding", "trailer"])
@pytest.mark.parametrize("vlans,options", [((), 0), ((5,), 0), ((5, 6), 0), ((), 1), ((), 10)])
def test_tags_options_and_bytes_behind_the_packet(tmp_path, messages, vlans, behind, options):
    batch = mold_frames(messages, [0] * len(messages), Packing(vlans=vlans, max_messages=5))
    result = survey(tmp_path / "x", [with_options(f, options) + behind for f in batch])
    assert result.messages == Counter(chr(m[0]) for m in messages) and result.total == len(messages) == 23
    assert result.destinations == {(GROUP, 26477): 5} and not result.skipped and not result.duplicates
    assert (result.session, result.first_sequence, result.frames) == (b"0000000001", 1, 5)
    assert result.symbols == {7: "ALFA"}
    assert result.book[7] == len(itch50.BOOK_TYPES) and result.book.sum() == result.book[7]


def test_every_cause_of_a_skipped_frame(tmp_path, frames):
    good = frames[0]
    three = good[:12] + bytes.fromhex("8100000181000002810000030800") + good[14:]
    udp = ethernet.ETHERNET.size + ethernet.IPV4.size + ethernet.UDP["length"].offset
    cases = [
        ("short_frame", good[:13]), ("short_frame", good[:41]), ("short_frame", good[:12] + bytes.fromhex("81000001")),
        ("not_ipv4", good[:12] + b"\x86\xdd" + good[14:]), ("not_ipv4", three),
        ("bad_header", good[:24] + b"\0\0" + good[26:]), ("bad_header", with_header(good, version_ihl=0x65)),
        ("bad_header", with_header(good, version_ihl=0x44)),
        ("fragment", with_header(good, flags_fragment=0x2000)), ("fragment", with_header(good, flags_fragment=1)),
        ("not_udp", with_header(good, protocol=6)),
        ("bad_length", good[:udp] + b"\0\7" + good[udp + 2:]), ("bad_length", good[:udp] + b"\1\0" + good[udp + 2:]),
        ("bad_length", with_header(good, total_length=30)),
        ("runt", udp_frame(bytes(19))), ("heartbeat", mold_frame(5)), ("end_of_session", mold_frame(5, count=0xFFFF)),
        ("not_itch", udp_frame(bytes(18) + b"\0\1" + bytes(30), Packing(port=99))), ("not_itch", mold_frame(1, [b"A" * 35], Packing(port=99))),
    ]
    for cause, frame in cases:
        with pytest.raises(CaptureError, match="no ITCH inside: frames: 1, "):
            survey(tmp_path / "x", [frame])
        assert survey(tmp_path / "x", [good, frame]).skipped == {cause: 1}, (cause, frame.hex(" "))
    result = survey(tmp_path / "x", [good, *(frame for _, frame in cases)])
    assert result.skipped == Counter(cause for cause, _ in cases) and result.total == 1


def test_garbage_never_breaks_the_decoder(frames):
    seed = 20240517
    print("seed", seed)
    rng = random.Random(seed)
    wrong, right = [], 0
    for _ in range(3000):
        frame = bytearray(rng.choice(frames))
        for _ in range(rng.randrange(3)):
            frame[rng.randrange(len(frame))] = rng.getrandbits(8)
        wrong.append(bytes(frame[:rng.randrange(1, len(frame) + 1)] if rng.randrange(2) else frame))
    batch = FrameBatch.of(wrong, [0] * len(wrong))
    found = datagrams(batch)
    assert len(found.frame) + sum(found.skipped.values()) == len(wrong) and len(found.skipped) >= 4
    for k, start, end in zip(found.frame.tolist(), found.start.tolist(), found.end.tolist(), strict=True):
        assert batch.offset[k] < start <= batch.offset[k] + batch.length[k] and end <= batch.offset[k] + batch.length[k]
        right += end > start
    assert right > 1000


def test_lines_a_and_b_count_once_and_sessions_apart(tmp_path, messages):
    a = list(mold_frames(messages, [0] * 23, Packing(max_messages=4)))
    b = list(mold_frames(messages, [0] * 23, Packing(max_messages=7, group="233.54.12.112", port=26478)))
    other = list(mold_frames(messages, [0] * 23, Packing(max_messages=7, session="ANOTHERDAY")))
    result = survey(tmp_path / "x", [*a[:2], b[0], *a[2:], *b[1:], *other, a[0]])
    assert result.total == 46 and result.duplicates == 23 + 4
    assert result.messages == Counter({chr(m[0]): 2 for m in messages})
    assert result.destinations == {(GROUP, 26477): 6 + 4 + 1, (GROUP + 1, 26478): 4}


def test_partly_overlapping_packets_bring_what_is_new(tmp_path, messages):
    frames = [mold_frame(1, messages[:5]), mold_frame(4, messages[3:9]), mold_frame(2, messages[1:3]), mold_frame(20, messages[19:])]
    result = survey(tmp_path / "x", frames)
    assert result.messages == Counter(chr(m[0]) for m in messages[:9] + messages[19:]) and result.duplicates == 4


def test_empty_short_unknown_and_overlong_blocks(tmp_path, messages):
    unknown = b"!" + bytes(20)
    frame = mold_frame(1, [messages[0], b"", b"S12", unknown, messages[0] + b"more", messages[10][:-1]])
    result = survey(tmp_path / "x", [frame, mold_frame(7, [messages[1]], count=3), mold_frame(8, [messages[2]])])
    assert (result.total, result.empty, result.short) == (8, 1, 1)
    assert result.messages == Counter({"S": 2, "!": 1, chr(messages[10][0]): 1, chr(messages[1][0]): 1, chr(messages[2][0]): 1})
    assert not result.book.sum()   # messages[10] lost its last byte


def test_blocks_end_with_the_udp_payload(tmp_path, messages):
    behind = b"\0\x0c" + itch50.BY_CODE[b"S"].encode()   # a trailer that looks like one more message
    assert survey(tmp_path / "x", [mold_frame(1, [messages[1]], count=2) + behind]).messages == {"R": 1}


def order(locate, price, side="B", code=b"A"):
    return itch50.BY_CODE[code].encode(stock_locate=locate, stock="X", side=side, price=price, shares=1, order_ref=price)


def of_orders(path, *orders):
    write_binaryfile(path, [order(*o) for o in orders])
    return scan(open_capture(path))


def test_symbols_by_activity(tmp_path):
    result = of_orders(tmp_path / "x", (5, 100), (9, 100), (9, 100), (3, 100), (2, 100), (2, 200))
    assert result.top(3) == [2, 9, 3] and result.top(99) == [2, 9, 3, 5] and result.symbols == dict.fromkeys((2, 3, 5, 9), "X")
    assert result.locate("X") == 2 and result.locate("Y") is None


def test_directory_wins_over_names_in_other_messages(tmp_path):
    write_binaryfile(tmp_path / "x", [order(4, 100), itch50.BY_CODE[b"R"].encode(stock_locate=4, stock="REAL"), order(6, 100)])
    assert scan(open_capture(tmp_path / "x")).symbols == {4: "REAL", 6: "X"}


def test_window_holds_the_market_and_leaves_stubs_out(tmp_path):
    prices = [1_500_000 + 100 * k for k in range(-50, 51)]
    result = of_orders(tmp_path / "x", *((1, p) for p in prices), (1, 100), (1, 1_999_999_900), (2, 5_000), (1, 900_000))
    base, tick = result.window(1, 256)
    assert tick == 100 and base == 1_500_000 - 128 * 100
    assert result.window(1, 4096) == (1_500_000 - 2048 * 100, 100)
    assert result.window(1, 101) == (prices[0], 100)
    assert result.window(77, 256) == (0, 100)


def test_window_below_a_dollar_has_fine_ticks(tmp_path):
    result = of_orders(tmp_path / "x", *((1, 6001 + k) for k in range(40)), (1, 20_000_000), *((2, 6000 + 100 * k) for k in range(9)),
                       *((3, 500_000 + k) for k in range(9)))
    base, tick = result.window(1, 256)
    assert tick == 1 and base <= 6001 and base + 256 > 6040 and abs(base + 128 - 6021) <= 1
    assert result.window(2, 256) == (0, 100)
    assert result.window(3, 256)[1] == 100 and result.window(3, 256)[0] % 100 == 0


def test_window_stays_inside_32_bits(tmp_path):
    result = of_orders(tmp_path / "x", (1, 0xFFFFFFFF), (2, 0), (3, 100))
    for ticks in (256, 4096):
        base, tick = result.window(1, ticks)
        assert base % tick == 0 and base + ticks * tick <= 1 << 32
        assert result.window(2, ticks)[0] == 0 == result.window(3, ticks)[0]


def test_replaces_count_for_the_window(tmp_path):
    write_binaryfile(tmp_path / "x", [order(1, 100), *(itch50.BY_CODE[b"U"].encode(stock_locate=1, price=3_000_000, shares=1) for _ in range(3))])
    assert scan(open_capture(tmp_path / "x")).window(1, 256) == (3_000_000 - 12_800, 100)


@pytest.mark.parametrize("name", HEAD)
def test_counts_of_real_files(data, name):
    capture = open_capture(data / "itch" / name)
    start = time.process_time()
    result = scan(capture)
    spent = time.process_time() - start
    assert result.messages == HEAD[name] and result.total == sum(HEAD[name].values()) == capture.report.messages
    assert len(result.symbols) == HEAD[name]["R"]
    cut = name.endswith(".gz")
    assert (capture.report.compressed_cut, capture.report.tail_bytes) == (cut, 35 if cut else 0)
    print(f"{result.total / spent:.0f} messages/s")
    assert spent < 10   # 1 s on a quiet machine for the largest


def test_real_packets_scan_and_those_with_zeroed_headers_are_told(data):
    seen = 0
    for path in sorted((data / "mold").glob("*.pcap")):
        capture = open_capture(path)
        if ".20230822" in path.name or "Heartbeat" in path.name:
            with pytest.raises(CaptureError, match="no ITCH inside: frames: [15], "
                               + ("MoldUDP64 heartbeat: 1" if "Heartbeat" in path.name else "wrong IPv4 header checksum: [15]$")):
                scan(capture)
        else:
            result = scan(capture)
            seen += result.total
            assert result.session == b"000010059B" and set(result.destinations) == {(GROUP, 26477)}
            assert result.messages.keys() == set("ADF" if "Multiple" in path.name else _TYPE[path.name.rpartition("__")[2]])
    assert seen == 39 + 7


_TYPE = {"AddOrderNoMpidAttributionMessage.pcap": "A", "MarketParticipantPositionMessage.pcap": "L", "NetOrderImbalanceIndicatorMessage.pcap": "I",
         "OrderDeleteMessage.pcap": "D", "OrderExecutedMessage.pcap": "E", "OrderReplaceMessage.pcap": "U", "StockTradingActionMessage.pcap": "H"}


def test_other_protocols_are_not_taken_for_itch(data):
    for path in [*(data / "ouch").glob("*.pcap"), *(data / "cme").glob("*.pcap*")]:
        with pytest.raises(CaptureError, match="no ITCH inside"):
            scan(open_capture(path))
