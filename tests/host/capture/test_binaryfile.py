"""BinaryFILE: packing into frames, the end of the session, cuts, and lengths that are not to be believed."""
import gzip

import pytest

from tickgate.capture import CaptureError, Decoder, Packing, mold_frames, open_capture, scan, write_binaryfile
from tickgate.spec import itch50

UNKNOWN = b"!" + bytes(4) + (10 ** 12).to_bytes(6, "big") + b"what"


def decoded(capture, limit=None):
    """Messages of a capture by way of its frames."""
    decoder, out = Decoder(), []
    for batch in capture.frames(limit):
        found = decoder.messages(batch)
        out += [batch.data[a:a + n].tobytes() for a, n in zip(found.offset.tolist(), found.length.tolist(), strict=True)]
    return out


def blocks(messages):
    return b"".join(len(m).to_bytes(2, "big") + m for m in messages)


def test_messages_come_back_in_the_frames_that_mold_frames_makes(tmp_path, messages):
    write_binaryfile(tmp_path / "x", messages)
    packing = Packing(max_gap_ns=3_000_000, vlans=(5,))
    capture = open_capture(tmp_path / "x", packing=packing)
    frames = [f for batch in capture.frames() for f in batch]
    stamp = itch50.BY_CODE[b"S"]["timestamp"]
    times = [int.from_bytes(m[stamp.offset:stamp.end], "big") for m in messages]
    assert frames == list(mold_frames(messages, times, packing)) and len(frames) == 6
    assert decoded(capture) == messages
    assert capture.report.end_of_session and capture.report.messages == len(messages) and not capture.report.tail_bytes
    batch = next(capture.frames())
    assert batch.time_ns.tolist() == [times[3], times[7], times[11], times[15], times[19], times[22]]


@pytest.mark.parametrize("compressed", [False, True])
def test_packets_do_not_depend_on_how_the_file_comes(tmp_path, monkeypatch, messages, compressed):
    many = messages * 40
    write_binaryfile(tmp_path / "x", many)
    packing = Packing(max_gap_ns=10 ** 9)
    whole = [f for b in open_capture(tmp_path / "x", packing=packing).frames() for f in b]
    if compressed:
        (tmp_path / "x").write_bytes(gzip.compress((tmp_path / "x").read_bytes()))
    monkeypatch.setattr("tickgate.capture.source.CHUNK", 1009)
    batches = list(open_capture(tmp_path / "x", packing=packing).frames())
    assert len(batches) > 10 and [f for b in batches for f in b] == whole


def test_limit_is_exact(tmp_path, messages):
    write_binaryfile(tmp_path / "x", messages)
    capture = open_capture(tmp_path / "x", packing=Packing(max_gap_ns=10 ** 9))
    for limit in (0, 1, 5, 22, 23, 24):
        assert decoded(capture, limit) == messages[:limit]
        assert capture.report.end_of_session == (limit > 23)


def test_every_cut_is_an_error_or_a_reported_tail(tmp_path, messages):
    whole, errors = blocks(messages), 0
    for size in range(len(whole)):
        (tmp_path / "x").write_bytes(whole[:size])
        try:
            capture = open_capture(tmp_path / "x")
        except CaptureError:
            errors += 1
            continue
        got = decoded(capture)
        used = len(blocks(got))
        assert got == messages[:len(got)] and used + 2 + len(messages[len(got)]) > size
        assert (capture.report.tail_offset, capture.report.tail_bytes) == (used, size - used)
        assert not capture.report.end_of_session
    assert errors == 3


def test_end_marker_may_be_padded_with_zeros_only(tmp_path, messages):
    (tmp_path / "x").write_bytes(blocks(messages) + bytes(1000))
    capture = open_capture(tmp_path / "x")
    assert decoded(capture) == messages and capture.report.end_of_session
    (tmp_path / "x").write_bytes(blocks(messages) + bytes(300_000) + blocks(messages[:1]))
    with pytest.raises(CaptureError, match="0 ends the session, but more follows") as error:
        decoded(capture)
    assert error.value.offset == len(blocks(messages))


def test_unknown_and_longer_messages_are_taken_when_a_known_one_follows(tmp_path, messages):
    odd = [messages[0], UNKNOWN, b"?", messages[1] + b"more", UNKNOWN, messages[2]]
    for some in (odd, [*odd, UNKNOWN]):   # the last one with the end of the session behind it
        write_binaryfile(tmp_path / "x", some)
        assert decoded(open_capture(tmp_path / "x")) == some


@pytest.mark.parametrize("wrong", [0xFFFF, 0x0124, 65, 11, 1])
def test_a_corrupt_length_is_told_with_place_type_and_bytes(tmp_path, messages, wrong):
    at = len(blocks(messages[:10]))
    raw = bytearray(blocks(messages))
    raw[at:at + 2] = wrong.to_bytes(2, "big")
    (tmp_path / "x").write_bytes(raw)
    with pytest.raises(CaptureError, match="message length") as error:
        decoded(open_capture(tmp_path / "x"))
    assert error.value.offset == at
    assert f"type {chr(messages[10][0])!r}" in str(error.value) and raw[at:at + 32].hex(" ") in str(error.value)
    assert decoded(open_capture(tmp_path / "x"), 10) == messages[:10]   # what comes before it can be had


def test_no_length_of_a_known_message_can_be_wrong_unseen(tmp_path, messages):
    """A longer length that lands on a message again would be one in 65,536 of its successors: none of these."""
    at, raw = len(blocks(messages[:10])), blocks(messages)
    right = int.from_bytes(raw[at:at + 2], "big")
    for wrong in range(1, 70):
        (tmp_path / "x").write_bytes(raw[:at] + wrong.to_bytes(2, "big") + raw[at + 2:])
        if wrong == right:
            assert decoded(open_capture(tmp_path / "x")) == messages
        elif wrong != right + 2 + len(messages[11]):   # swallows exactly the next one
            with pytest.raises(CaptureError) as error:
                decoded(open_capture(tmp_path / "x"))
            assert error.value.offset == at


@pytest.mark.parametrize("raw,cause", [
    (bytes(2), "the session ends before its first message"),
    (bytes(2) + itch50.BY_CODE[b"S"].encode(), "the length prefixes are zero: message type 'S'"),
    (bytes(2) + UNKNOWN, "not a capture"),
    (b"\0\x0b" + itch50.BY_CODE[b"S"].encode(), "not a capture"),
    (bytes(100), "not a capture"),
    (b"\0", "not a capture"),
])
def test_what_is_no_binaryfile(tmp_path, raw, cause):
    (tmp_path / "x").write_bytes(raw)
    with pytest.raises(CaptureError, match=cause):
        open_capture(tmp_path / "x")


def test_zero_filled_prefixes_of_a_real_file(data):
    with pytest.raises(CaptureError, match="length prefixes are zero"):
        open_capture(data / "itch" / "ritch_ex20101224.TEST_ITCH_50.gz")


def test_first_message_alone_and_cut_holds_no_itch(tmp_path, messages):
    (tmp_path / "x").write_bytes(blocks(messages)[:9])
    capture = open_capture(tmp_path / "x")
    with pytest.raises(CaptureError, match="no ITCH inside"):
        scan(capture)
    assert capture.report.tail_bytes == 9


@pytest.mark.parametrize("damage", [b"\x7f\xff", b"\0\0", b"\0\x05"])
def test_resync_goes_on_at_the_next_good_messages(tmp_path, monkeypatch, messages, damage):
    """A length in the middle is wrong: its message, and it alone, is lost and counted, wherever the window's edge is."""
    many = messages * 20
    raw = bytearray(blocks(many))
    at = len(blocks(many[:230]))
    raw[at:at + 2] = damage
    (tmp_path / "x").write_bytes(raw + bytes(2))
    with pytest.raises(CaptureError, match=f"offset {at}: message length"):
        decoded(open_capture(tmp_path / "x"))
    for chunk in (1 << 18, 1009, 700):
        monkeypatch.setattr("tickgate.capture.source.CHUNK", chunk)
        capture = open_capture(tmp_path / "x", resync=True)
        assert decoded(capture) == many[:230] + many[231:]
        assert (capture.report.resyncs, capture.report.skipped_bytes) == (1, len(many[230]) + 2) and capture.report.end_of_session
        assert list(capture.report.warnings()) == [f"{len(many[230]) + 2} bytes in 1 places are no messages: passed over"]


def test_resync_to_the_end(tmp_path, messages):
    (tmp_path / "x").write_bytes(blocks(messages * 5) + b"\xff" * 5000)
    capture = open_capture(tmp_path / "x", resync=True)
    assert decoded(capture) == messages * 5 and capture.report.skipped_bytes == 5000
