"""pcap files: both byte orders and time units, cuts at every byte, lengths beyond 4 GiB."""
import gzip
import os
import tracemalloc

import numpy as np
import pytest

from tickgate.capture import CaptureError, open_capture, scan, write_pcap
from tickgate.capture.formats import PACKET_LIMIT, PCAP_FILE, PCAP_RECORD, layout

HEADER, RECORD = layout(PCAP_FILE, "little"), layout(PCAP_RECORD, "little")


def read(path, **how):
    """Frames, times and the report of a capture."""
    capture = open_capture(path, **how)
    got, when = [], []
    for batch in capture.frames():
        got += list(batch)
        when += batch.time_ns.tolist()
    return got, when, capture.report


@pytest.mark.parametrize("order", ["little", "big"])
@pytest.mark.parametrize("nanoseconds", [True, False])
@pytest.mark.parametrize("compressed", [True, False])
def test_frames_and_times_come_back(tmp_path, frames, times, order, nanoseconds, compressed):
    path = tmp_path / "x"
    write_pcap(path, frames, times, order=order, nanoseconds=nanoseconds)
    if compressed:
        path.write_bytes(gzip.compress(path.read_bytes()))
    got, when, report = read(path)
    assert got == frames
    assert when == [t if nanoseconds else t // 1000 * 1000 for t in times]
    assert (report.kind, report.compressed, report.frames, report.snapped, report.tail_bytes) == ("pcap", compressed, len(frames), 0, 0)
    assert not list(report.warnings())


def test_frames_can_be_read_again_and_position_reaches_the_end(tmp_path, frames, times):
    write_pcap(tmp_path / "x", frames, times)
    capture = open_capture(tmp_path / "x")
    assert [list(b) for b in capture.frames()] == [list(b) for b in capture.frames()] == [frames]
    assert capture.position == capture.size == os.path.getsize(tmp_path / "x")


def test_every_cut_is_an_error_in_the_header_or_a_reported_tail(tmp_path, frames, times):
    write_pcap(tmp_path / "whole", frames[:4], times[:4])
    whole, path = (tmp_path / "whole").read_bytes(), tmp_path / "cut"
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        if size < HEADER.size:
            with pytest.raises(CaptureError) as error:
                open_capture(path)
            assert "\n" not in str(error.value) and str(error.value).startswith(f"{path}: offset ")
            continue
        got, _, report = read(path)
        assert got == frames[:len(got)]
        used = HEADER.size + sum(RECORD.size + len(f) for f in got)
        assert (report.tail_offset, report.tail_bytes) == (used, size - used)
        assert size - used < RECORD.size + len(frames[len(got)])
        assert len(list(report.warnings())) == (size > used)


def test_every_cut_of_a_compressed_capture(tmp_path, frames, times):
    write_pcap(tmp_path / "whole", frames[:6], times[:6])
    path, most = tmp_path / "cut", 0
    packed = gzip.compress((tmp_path / "whole").read_bytes())
    for size in range(len(packed)):
        path.write_bytes(packed[:size])
        try:
            got, _, report = read(path)
        except CaptureError as error:
            assert "\n" not in str(error)
            continue
        assert got == frames[:len(got)] and report.compressed_cut and list(report.warnings())
        most = max(most, len(got))
    assert most == 6   # only the checksum at the end of the stream is missing


def test_a_corrupt_compressed_stream_is_an_error(tmp_path, frames, times):
    write_pcap(tmp_path / "x", frames, times)
    packed = bytearray(gzip.compress((tmp_path / "x").read_bytes()))
    packed[-5] ^= 1   # length and checksum are the last eight bytes
    (tmp_path / "x").write_bytes(packed)
    with pytest.raises(CaptureError, match="compressed stream"):
        read(tmp_path / "x")


def patched(path, field, at, value):
    raw = bytearray(path.read_bytes())
    raw[at + field.offset:at + field.end] = value.to_bytes(field.size, "little")
    path.write_bytes(raw)


@pytest.mark.parametrize("name,value,offset,cause", [
    ("link_type", 113, 20, "link type: 113 is not Ethernet"),
    ("major", 3, 4, "version: 3.4"),
    ("magic", 0xA1B2C3D5, 0, "not a capture"),
])
def test_wrong_headers(tmp_path, frames, times, name, value, offset, cause):
    write_pcap(tmp_path / "x", frames, times)
    patched(tmp_path / "x", HEADER[name], 0, value)
    with pytest.raises(CaptureError, match=cause) as error:
        open_capture(tmp_path / "x")
    assert error.value.offset == offset


def test_length_of_the_fcs_beside_the_link_type_is_no_other_link(tmp_path, frames, times):
    write_pcap(tmp_path / "x", frames, times, link_type=1 | 4 << 28 | 1 << 26)
    assert read(tmp_path / "x")[0] == frames


def test_a_corrupt_length_is_found_where_it_is(tmp_path, frames, times):
    write_pcap(tmp_path / "x", frames, times)
    at = HEADER.size + RECORD.size + len(frames[0])
    patched(tmp_path / "x", RECORD["captured"], at, PACKET_LIMIT + 1)
    with pytest.raises(CaptureError, match="captured length") as error:
        read(tmp_path / "x")
    assert error.value.offset == at + RECORD["captured"].offset
    assert [f for b in open_capture(tmp_path / "x").frames(1) for f in b] == frames[:1]   # what comes before it can be had


def test_snapped_and_empty_frames_are_counted(tmp_path, frames, times):
    write_pcap(tmp_path / "x", [frames[0], b"", frames[1]], times[:3])
    patched(tmp_path / "x", RECORD["original"], HEADER.size, 2000)
    got, when, report = read(tmp_path / "x")
    assert (got, when) == (frames[:2], [times[0], times[2]])
    assert (report.snapped, report.empty, report.frames) == (1, 1, 2)


@pytest.mark.parametrize("what", ["missing", "folder", "empty", "empty.gz", "text", "nul\0", "pipe"])
def test_what_is_no_file_of_frames(tmp_path, what):
    path = tmp_path / what if "\0" not in what else f"{tmp_path}/{what}"
    if what == "folder":
        path.mkdir()
    elif what == "pipe":
        os.mkfifo(path)
    elif what != "missing" and "\0" not in what:
        path.write_bytes({"empty": b"", "empty.gz": gzip.compress(b""), "text": b"Time,Type,Order\n"}[what])
    with pytest.raises(CaptureError) as error:
        open_capture(path)
    assert "offset 0: file: " in str(error.value) and len(str(error.value).splitlines()) == 1


def test_unreadable_file(tmp_path):
    def refuse():
        raise PermissionError(13, "Permission denied")
    with pytest.raises(CaptureError, match="x: offset 0: file: Permission denied"):
        open_capture("x", opener=refuse)


class Endless:
    """A pcap of the same record over and over, as long as wanted, that is nowhere."""

    def __init__(self, record, records, end):
        self.head = HEADER.encode(magic=0xA1B23C4D, major=2, minor=4, link_type=1)
        self.block, self.end, self.at = record * 8, end, 0
        self.size = len(self.head) + len(record) * records + len(end)

    def tell(self):
        return self.at

    def seek(self, offset, whence=0):
        self.at = offset + (self.size if whence == 2 else 0)
        return self.at

    def close(self):
        pass

    def read(self, size):
        body, at = self.size - len(self.end), self.at
        if at < len(self.head):
            part = self.head[at:at + size]
        elif at < body:
            place = (at - len(self.head)) % len(self.block)
            part = self.block[place:place + min(size, body - at)]
        else:
            part = self.end[at - body:at - body + size]
        self.at += len(part)
        return part


def test_more_than_four_gib_in_constant_memory():
    size = 200_000
    record = RECORD.encode(seconds=1, fraction=2, captured=size, original=size) + bytes(size)
    records = (1 << 32) // len(record) + 10
    capture = open_capture("endless", opener=lambda: Endless(record, records, RECORD.encode(captured=1 << 30)))
    count = 0
    tracemalloc.start()
    with pytest.raises(CaptureError, match="captured length") as error:
        for batch in capture.frames():
            count += len(batch)
            assert (batch.length == size).all() and (batch.time_ns == 1_000_000_002).all()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == records
    assert error.value.offset == HEADER.size + records * len(record) + RECORD["captured"].offset > 1 << 32
    assert peak < 8 << 20


def test_limit_stops_after_the_frame_that_reaches_it(tmp_path, frames, times):
    twice = [f for f in frames for _ in range(2)]   # lines A and B
    write_pcap(tmp_path / "x", twice, np.repeat(times, 2))
    capture = open_capture(tmp_path / "x")
    for limit, count in ((0, 0), (1, 1), (2, 3), (23, 45), (24, 46)):
        got = [f for batch in capture.frames(limit) for f in batch]
        assert got == twice[:count]
        assert capture.report.frames == count
    assert scan(capture, 5).total == 5
    with pytest.raises(ValueError, match="limit"):
        next(capture.frames(-1))
