"""The classic capture file: one header, then records, each with its own."""
from . import formats
from .errors import CaptureError
from .frames import FrameBatch

KIND = "pcap"


def _order(data):
    """Byte order of a file that begins like this and ns per unit of its fractions, or None."""
    for order in formats.ORDERS:
        unit = formats.PCAP_MAGIC.get(int.from_bytes(data[:4], order))
        if unit and len(data) >= 4:
            return order, unit
    return None


def recognises(data):
    return _order(data) is not None


def check(window):
    """The file header: its byte order, its length, and ns per unit of the fractions. Raises ``CaptureError``."""
    order, unit = _order(window.data)
    header = formats.layout(formats.PCAP_FILE, order)
    if len(window.data) < header.size:
        raise window.error(len(window.data), "file header", f"cut off: {len(window.data)} of {header.size} bytes are there")
    values = header.decode(window.data)
    if values["major"] != 2:
        raise window.error(header["major"].offset, "version", f"{values['major']}.{values['minor']} is not known, 2.4 is")
    link = values["link_type"] & 0xFFFF
    if link != formats.ETHERNET:
        raise window.error(header["link_type"].offset, "link type", f"{link} is not Ethernet ({formats.ETHERNET})")
    return order, header.size, unit


def read(window, report):
    """Yield the frames of a window at the file's start."""
    order, at, unit = check(window)
    head = formats.struct_of(formats.PCAP_RECORD, order)
    captured_at = formats.layout(formats.PCAP_RECORD, order)["captured"].offset
    while True:
        data, starts, lengths, times, need, wrong = window.data, [], [], [], 0, None
        try:
            while len(data) - at >= head.size:
                seconds, fraction, captured, original = head.unpack_from(data, at)
                if captured > formats.PACKET_LIMIT:
                    raise window.error(at + captured_at, "captured length", f"{captured} bytes is more than any packet has")
                end = at + head.size + captured
                if end > len(data):
                    need = end - at
                    break
                report.snapped += captured < original
                if captured:
                    starts.append(at + head.size)
                    lengths.append(captured)
                    times.append(seconds * 1_000_000_000 + fraction * unit)
                else:
                    report.empty += 1
                at = end
        except CaptureError as error:   # after the frames before it
            wrong = error
        if starts:
            yield FrameBatch.within(data, starts, lengths, times)
        if wrong:
            raise wrong
        if window.eof:
            report.tail_bytes, report.tail_offset = len(data) - at, window.start + at
            return
        window.advance(at, need)
        at = 0


class PcapRecords:
    """A pcap file written to ``file`` record after record; times in ns, or in microseconds, which drop what is below."""

    def __init__(self, file, *, order="little", nanoseconds=True, link_type=formats.ETHERNET):
        self.file, self.unit = file, 1 if nanoseconds else 1000
        self.record = formats.struct_of(formats.PCAP_RECORD, order)
        magic = next(m for m, unit in formats.PCAP_MAGIC.items() if unit == self.unit)
        file.write(formats.layout(formats.PCAP_FILE, order).encode(magic=magic, major=2, minor=4, snap_length=formats.PACKET_LIMIT, link_type=link_type))

    def write(self, time_ns, frame):
        """One frame and its time in ns since 1970."""
        seconds, rest = divmod(int(time_ns), 1_000_000_000)
        self.file.write(self.record.pack(seconds, rest // self.unit, len(frame), len(frame)) + frame)


def write_pcap(path, frames, times_ns, **options):
    """Write frames (``bytes`` each) and their times (ns since 1970) as a pcap file; options as for ``PcapRecords``."""
    with open(path, "wb") as file:
        records = PcapRecords(file, **options)
        for frame, time in zip(frames, times_ns, strict=True):
            records.write(time, frame)
