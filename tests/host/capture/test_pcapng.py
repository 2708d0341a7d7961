"""pcapng files: sections of both byte orders, interfaces with clocks of their own, old and simple packets, unknown blocks."""
import struct

import pytest

from tickgate.capture import CaptureError, open_capture

ENHANCED, SIMPLE, OLD = 6, 3, 2


def block(kind, body, order="<"):
    body += bytes(-len(body) % 4)
    size = struct.pack(order + "I", 12 + len(body))
    return struct.pack(order + "I", kind) + size + body + size


def section(order="<"):
    return block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1), order)


def interface(order="<", resolution=None, offset=None, link=1, snap=0):
    options = b""
    if resolution is not None:
        options += struct.pack(order + "HHB3x", 9, 1, resolution)
    if offset is not None:
        options += struct.pack(order + "HHq", 14, 8, offset)
    return block(1, struct.pack(order + "HHI", link, 0, snap) + struct.pack(order + "HH3s1x", 2, 3, b"eth") + options + bytes(4), order)


def packet(frame, ticks, number=0, order="<", kind=ENHANCED, original=None):
    original = len(frame) if original is None else original
    if kind == SIMPLE:
        return block(kind, struct.pack(order + "I", original) + frame, order)
    head = struct.pack(order + ("I" if kind == ENHANCED else "HH"), *((number,) if kind == ENHANCED else (number, 3)))
    return block(kind, head + struct.pack(order + "IIII", ticks >> 32, ticks & 0xFFFFFFFF, len(frame), original) + frame, order)


def read(path, raw):
    path.write_bytes(raw)
    capture = open_capture(path)
    batches = list(capture.frames())
    return [f for b in batches for f in b], [t for b in batches for t in b.time_ns.tolist()], capture.report


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("resolution,ticks,ns", [
    (None, 1_692_709_976_123_456, 1_692_709_976_123_456_000),
    (3, 1_692_709_976_123, 1_692_709_976_123_000_000),
    (9, 1_692_709_976_123_456_789, 1_692_709_976_123_456_789),
    (12, 1_692_709_976_123_456, 1_692_709_976_123),
    (0x80 | 10, (1_692_709_976 << 10) + 1, 1_692_709_976_000_976_562),
    (0x80 | 32, (1_692_709_976 << 32) + (1 << 31), 1_692_709_976_500_000_000),
])
def test_clock_of_an_interface(tmp_path, frames, order, resolution, ticks, ns):
    got, when, report = read(tmp_path / "x", section(order) + interface(order, resolution) + packet(frames[0], ticks, order=order))
    assert (got, when) == (frames[:1], [ns])
    assert report.kind == "pcapng"


def test_sections_interfaces_and_blocks(tmp_path, frames):
    unknown = block(0x40000BAD, b"no one knows")
    raw = (section("<") + unknown + interface(resolution=9) + interface(resolution=6, offset=100) + interface(snap=40) + packet(frames[0], 5) +
           packet(frames[1], 6, 1) + unknown + packet(frames[2], 7, 1, kind=OLD) + packet(frames[3], 0, kind=SIMPLE) +
           section(">") + interface(">", resolution=9, snap=64) + block(5, bytes(8), ">") + packet(frames[4], 1 << 40, order=">") +
           packet(frames[5].ljust(90, b"x")[:64], 0, order=">", kind=SIMPLE, original=90) + packet(frames[6], 9, kind=OLD, order=">"))
    got, when, report = read(tmp_path / "x", raw)
    assert got == [*frames[:5], frames[5].ljust(90, b"x")[:64], frames[6]]
    assert when == [5, 100_000_006_000, 100_000_007_000, 100_000_007_000, 1 << 40, 1 << 40, 9]
    assert (report.frames, report.snapped, report.tail_bytes) == (7, 1, 0)


def test_every_cut_is_an_error_in_the_header_or_a_reported_tail(tmp_path, frames):
    parts = [section(), interface(resolution=9), packet(frames[0], 1), packet(frames[1], 2), section(">"), interface(">"),
             packet(frames[2], 3, order=">")]
    whole, ends = b"".join(parts), [sum(map(len, parts[:k + 1])) for k in range(len(parts))]
    errors = 0
    for size in range(len(whole)):
        try:
            got, _, report = read(tmp_path / "x", whole[:size])
        except CaptureError as error:
            assert "\n" not in str(error) and size < ends[0]
            errors += 1
            continue
        used = max(e for e in ends if e <= size)
        assert (report.tail_offset, report.tail_bytes) == (used, size - used)
        assert got == frames[:sum(ends[k] <= size for k in (2, 3, 6))]
    assert errors == ends[0]


@pytest.mark.parametrize("raw,cause", [
    (section() + packet(b"frame", 1), "offset 28: interface: 0 is not described"),
    (section() + interface(link=113) + packet(b"frame", 1), "link type: 113"),
    (section() + interface() + block(6, bytes(8)), "too short"),
    (section() + interface() + block(6, struct.pack("<IIIII", 0, 0, 0, 99, 99) + bytes(60)), "captured length"),
    (section() + interface(resolution=0) + packet(b"frame", 1 << 62), "time"),
    (section() + interface() + struct.pack("<II", 6, 33), "offset 64: block length: 33"),
    (section() + interface() + struct.pack("<II", 6, 1 << 30), "block length"),
    (section() + block(1, bytes(8))[:-4] + b"\1\2\3\4", "block length"),
    (section()[:8] + b"abcd" + section()[12:], "byte order magic"),
    (section()[:12] + b"\2" + section()[13:], "offset 12: section version: 2"),
])
def test_wrong_blocks(tmp_path, raw, cause):
    with pytest.raises(CaptureError, match=cause):
        read(tmp_path / "x", raw)


def test_two_lines_of_a_real_capture(data):
    capture = open_capture(next((data / "cme").glob("*.pcapng")))
    batches = list(capture.frames())
    assert sum(map(len, batches)) == 10_000 == capture.report.frames
    assert not list(capture.report.warnings())
