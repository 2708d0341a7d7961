"""The newer capture file: sections of blocks, several interfaces each with its own clock."""
from . import formats
from .errors import CaptureError
from .frames import FrameBatch

KIND = "pcapng"
BLOCK_LIMIT = 1 << 24   # bytes: longer blocks are taken for garbage
_TRAILER = 4            # the length once more


class _Interface:
    """Link type, bytes kept of a packet (0: all) and clock of an interface: ``ns(ticks)``."""

    def __init__(self, link, snap, resolution, offset):
        self.link, self.snap = link, snap
        exponent = resolution & 0x7F
        self._rate = 1 << exponent if resolution & 0x80 else 10 ** exponent
        self._offset = offset * 1_000_000_000

    def ns(self, ticks):
        return ticks * 1_000_000_000 // self._rate + self._offset


def recognises(data):
    return data[:4] == formats.SECTION.to_bytes(4, "big")   # reads the same in both byte orders


def _section(window, at):
    """Byte order of the section that begins at ``at``; its head is in view."""
    data = window.data
    for order in formats.ORDERS:
        head = formats.layout(formats.SECTION_BODY, order)
        magic, major = head["byte_order"], head["major"]
        if int.from_bytes(data[at + magic.offset:at + magic.end], order) == formats.BYTE_ORDER_MAGIC:
            version = int.from_bytes(data[at + major.offset:at + major.end], order)
            if version != 1:
                raise window.error(at + major.offset, "section version", f"{version} is not known, 1 is")
            return order
    raise window.error(at + magic.offset, "byte order magic", data[at + magic.offset:at + magic.end].hex(" ") + " is none")


def check(window):
    """Raises ``CaptureError`` unless the file begins with a whole section header."""
    size = formats.layout(formats.SECTION_BODY, "big").size + _TRAILER
    if len(window.data) < size:
        raise window.error(len(window.data), "section header", f"cut off: {len(window.data)} of {size} bytes are there")
    _section(window, 0)


def _interface(window, at, end, order):
    """The interface that a block describes."""
    body = formats.layout(formats.INTERFACE_BODY, order)
    values, resolution, offset = body.decode(window.data, at), 6, 0
    option, at = formats.struct_of(formats.OPTION, order), at + body.size
    while at + option.size <= end:
        code, length = option.unpack_from(window.data, at)
        value = window.data[at + option.size:at + option.size + length]
        if code == formats.OPTION_END:
            break
        if at + option.size + length > end:
            raise window.error(at, "interface option", f"{length} bytes go beyond the block")
        if code == formats.OPTION_RESOLUTION and length == 1:
            resolution = value[0]
        elif code == formats.OPTION_OFFSET and length == 8:
            offset = int.from_bytes(value, order, signed=True)
        at += option.size + -(-length // 4) * 4
    return _Interface(values["link_type"], values["snap_length"], resolution, offset)


def read(window, report):
    """Yield the frames of a window at the file's start. A simple packet has no time: it gets that of the packet before it."""
    check(window)
    at, order, interfaces, time, first = 0, None, [], 0, True
    head_size = formats.layout(formats.BLOCK, "big").size
    section_size = formats.layout(formats.SECTION_BODY, "big").size
    while True:
        data, starts, lengths, times, need, wrong = window.data, [], [], [], 0, None
        try:
            while len(data) - at >= head_size:   # a block
                if recognises(data[at:at + 4]):
                    if len(data) - at < section_size:
                        need = section_size
                        break
                    order, interfaces = _section(window, at), []
                kind, length = formats.struct_of(formats.BLOCK, order).unpack_from(data, at)
                if length % 4 or not head_size + _TRAILER <= length <= BLOCK_LIMIT:
                    raise window.error(at + 4, "block length", f"{length} is none: {head_size + _TRAILER} to {BLOCK_LIMIT} bytes, a multiple of 4")
                if length > len(data) - at:
                    need = length
                    break
                end = at + length - _TRAILER
                if data[end:end + _TRAILER] != data[at + 4:at + 8]:
                    again = int.from_bytes(data[end:end + _TRAILER], order)
                    raise window.error(end, "block length", f"{again} at the block's end, {length} at its beginning")
                fields = _BODIES.get(kind)
                if fields and end - at < formats.struct_of(fields, order).size:
                    raise window.error(at, "block", f"type {kind} is too short with {length} bytes")
                if kind == formats.INTERFACE:
                    interfaces.append(_interface(window, at, end, order))
                elif fields and kind != formats.SECTION:
                    body = formats.struct_of(fields, order)
                    values = body.unpack_from(data, at)
                    number = 0 if kind == formats.SIMPLE_PACKET else values[2]
                    if number >= len(interfaces):
                        raise window.error(at, "interface", f"{number} is not described")
                    interface = interfaces[number]
                    if interface.link != formats.ETHERNET:
                        raise window.error(at, "link type", f"{interface.link} of interface {number} is not Ethernet ({formats.ETHERNET})")
                    original = values[-1]
                    if kind == formats.SIMPLE_PACKET:
                        captured = min(original, interface.snap or original)
                    else:
                        high, low, captured = values[-4:-1]
                        time = interface.ns(high << 32 | low)
                        if not -1 << 63 <= time < 1 << 63:
                            raise window.error(at, "time", f"{high << 32 | low} does not fit 64-bit ns")
                    if captured > min(end - at - body.size, formats.PACKET_LIMIT):
                        raise window.error(at, "captured length", f"{captured} bytes are not in the block" if captured <= formats.PACKET_LIMIT else
                                           f"{captured} bytes is more than any packet has")
                    report.snapped += captured < original
                    if captured:
                        starts.append(at + body.size)
                        lengths.append(captured)
                        times.append(time)
                    else:
                        report.empty += 1
                at += length
                first = False
        except CaptureError as error:   # after the frames before it
            wrong = error
        if starts:
            yield FrameBatch.within(data, starts, lengths, times)
        if wrong:
            raise wrong
        if window.eof:
            if first:
                raise window.error(at, "section header", f"cut off: {len(data) - at} bytes are there")
            report.tail_bytes, report.tail_offset = len(data) - at, window.start + at
            return
        window.advance(at, need)
        at = 0


_BODIES = {formats.SECTION: formats.SECTION_BODY, formats.INTERFACE: formats.INTERFACE_BODY, formats.OLD_PACKET: formats.OLD_BODY,
           formats.SIMPLE_PACKET: formats.SIMPLE_BODY, formats.ENHANCED_PACKET: formats.ENHANCED_BODY}
