"""Frames down to numbered ITCH messages, tolerant, for surveys; the same order of checks as the gateware's (``docs/path.md``)."""
from collections import Counter
from dataclasses import dataclass

import numpy as np

from ..spec import ethernet, moldudp64
from .binaryfile import SIZES
from .errors import CaptureError

_U64 = (1 << 64) - 1


def number(data, at, size):
    """Big-endian integers of ``size`` bytes at the places ``at``, int64; places beyond the data give what the last byte gives."""
    value = np.zeros(len(at), np.int64)
    for k in range(size):
        value = value << 8 | data.take(at + k, mode="clip")
    return value


def _field(data, base, field):
    return number(data, base + field.offset, field.size)


@dataclass(frozen=True)
class Datagrams:
    """UDP datagrams of a batch, int64[n]: number of their frame, first byte of the payload in the batch's data, end of what the frame has of it,
    destination address and port. ``skipped`` counts the other frames by cause, named like the counters of the gateware's net hop."""

    frame: np.ndarray
    start: np.ndarray
    end: np.ndarray
    group: np.ndarray
    port: np.ndarray
    skipped: Counter


def datagrams(batch):
    """The ``Datagrams`` of a ``FrameBatch``: VLAN tags, IPv4 options, padding, trailers and FCS are dealt with."""
    data, end = batch.data, batch.offset + batch.length
    cause = np.zeros(len(batch), np.int8)

    def drop(where, code):
        cause[(cause == 0) & where] = code

    ether, ip = ethernet.ETHERNET["ethertype"], batch.offset + ethernet.ETHERNET.size
    kind = _field(data, batch.offset, ether)
    drop(ip > end, _SHORT)
    for _ in range(ethernet.MAXIMUM_VLAN_TAGS):
        tagged = np.isin(kind, ethernet.ETHERTYPE_VLAN) & (cause == 0)
        kind = np.where(tagged, _field(data, ip, ethernet.VLAN["ethertype"]), kind)
        ip = np.where(tagged, ip + ethernet.VLAN.size, ip)
        drop(ip > end, _SHORT)
    drop(kind != ethernet.ETHERTYPE_IPV4, _NOT_IPV4)
    version = _field(data, ip, ethernet.IPV4["version_ihl"])
    header = (version & 15) * 4
    udp = ip + np.maximum(header, ethernet.IPV4.size)
    drop(udp + ethernet.UDP.size > end, _SHORT)
    total = np.zeros(len(batch), np.int64)
    for k in range(0, int(header.max(initial=0)), 2):
        total += np.where(k < header, number(data, ip + k, 2), 0)
    while (total > 0xFFFF).any():
        total = (total & 0xFFFF) + (total >> 16)
    drop((version >> 4 != 4) | (header < ethernet.IPV4.size) | (total != 0xFFFF), _BAD_HEADER)
    drop(_field(data, ip, ethernet.IPV4["flags_fragment"]) & 0x3FFF != 0, _FRAGMENT)
    drop(_field(data, ip, ethernet.IPV4["protocol"]) != ethernet.PROTOCOL_UDP, _NOT_UDP)
    length = _field(data, udp, ethernet.UDP["length"])
    drop((length < ethernet.UDP.size) | (length > _field(data, ip, ethernet.IPV4["total_length"]) - header), _BAD_LENGTH)

    frame = np.flatnonzero(cause == 0)
    udp, ip = udp[frame], ip[frame]
    return Datagrams(frame, udp + ethernet.UDP.size, np.minimum(udp + length[frame], end[frame]),
                     _field(data, ip, ethernet.IPV4["destination"]), _field(data, udp, ethernet.UDP["destination_port"]),
                     Counter({CAUSES[c]: n for c, n in enumerate(np.bincount(cause, minlength=len(CAUSES)).tolist()) if c and n}))


CAUSES = ("", "short_frame", "not_ipv4", "bad_header", "fragment", "not_udp", "bad_length")
_, _SHORT, _NOT_IPV4, _BAD_HEADER, _FRAGMENT, _NOT_UDP, _BAD_LENGTH = range(len(CAUSES))


@dataclass(frozen=True)
class Messages:
    """Messages in order: number of their frame in the batch, first byte in its data, length in bytes (int64), number in the feed (uint64)."""

    frame: np.ndarray
    offset: np.ndarray
    length: np.ndarray
    number: np.ndarray


class Decoder:
    """Finds the messages of batch after batch, each number of a session once: what is below the next expected one is a duplicate, as in the gateware.

    A datagram is taken for ITCH when one of its messages has a known type and exactly its size, or when one to its destination had.
    ``only``: destinations to listen to, as (group, port); None: all. ``skipped``: frames without messages by cause; ``destinations``: datagrams by
    (group, port); ``sessions``: the set of those that came to each; ``session`` and ``first_sequence`` of the first datagram.
    """

    def __init__(self, only=None):
        self.only = only
        self.skipped, self.destinations, self.sessions, self.duplicates = Counter(), Counter(), {}, 0
        self.session, self.first_sequence, self._expected = None, None, {}

    def messages(self, batch):
        """The ``Messages`` of the next ``FrameBatch``."""
        found, data, sizes = datagrams(batch), batch.data.tobytes(), SIZES
        self.skipped += found.skipped
        header, prefix, session = moldudp64.HEADER, moldudp64.BLOCK.size, moldudp64.HEADER["session"]
        name_at, name_end = session.offset, session.end
        start = found.start
        sequences = _field(batch.data, start, header["sequence"]).view(np.uint64).tolist()
        counts = _field(batch.data, start, header["count"]).tolist()
        frames, offsets, lengths, numbers = [], [], [], []
        for frame, at, end, group, port, sequence, count in zip(found.frame.tolist(), start.tolist(), found.end.tolist(), found.group.tolist(),
                                                                found.port.tolist(), sequences, counts, strict=True):
            if self.only is not None and (group, port) not in self.only:
                self.skipped["filtered"] += 1
                continue
            if end - at < header.size:
                self.skipped["runt"] += 1
                continue
            if count in (moldudp64.HEARTBEAT, moldudp64.END_OF_SESSION):
                self.skipped["heartbeat" if count == moldudp64.HEARTBEAT else "end_of_session"] += 1
                continue
            name = data[at + name_at:at + name_end]
            at += header.size
            places, is_itch = [], (group, port) in self.destinations
            while len(places) < count and at + prefix <= end:
                length = data[at] << 8 | data[at + 1]
                at += prefix
                if at + length > end:
                    break
                places.append((at, length))
                if length and sizes[data[at]] == length:
                    is_itch = True
                at += length
            if not is_itch:
                self.skipped["not_itch"] += 1
                continue
            self.destinations[group, port] += 1
            self.sessions.setdefault((group, port), set()).add(name)
            if self.session is None:
                self.session, self.first_sequence = name, sequence
            expected = self._expected.get(name, 0)
            seen = min(max(expected - sequence, 0), len(places))
            self.duplicates += seen
            self._expected[name] = max(expected, sequence + len(places))
            for k in range(seen, len(places)):
                frames.append(frame)
                offsets.append(places[k][0])
                lengths.append(places[k][1])
                numbers.append((sequence + k) & _U64)
        return Messages(*(np.array(x, np.int64) for x in (frames, offsets, lengths)), np.array(numbers, np.uint64))


#: What the causes of ``Decoder.skipped`` are called in messages.
_CAUSES = {"short_frame": "cut short", "not_ipv4": "not IPv4", "bad_header": "wrong IPv4 header checksum", "fragment": "IPv4 fragment",
           "not_udp": "not UDP", "bad_length": "wrong UDP length", "runt": "too short for MoldUDP64", "heartbeat": "MoldUDP64 heartbeat",
           "end_of_session": "MoldUDP64 end of session", "not_itch": "UDP, not ITCH",
           "filtered": "not to the destinations asked for"}


def no_itch(path, frames, skipped):
    """The ``CaptureError`` of a capture without any ITCH message: what its frames are."""
    found = f"frames: {frames}" + "".join(f", {_CAUSES[cause]}: {n}" for cause, n in skipped.most_common())
    return CaptureError(path, 0, "content", f"no ITCH inside: {found}")
