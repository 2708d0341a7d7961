"""Frames made to go where one hop can be wrong, for its unit and its RTL test alike."""
import random
from itertools import product

from tickgate.spec import ethernet as eth
from tickgate.spec import itch50
from tickgate.spec import moldudp64 as mold

from ..streams import udp_frame
from .wire import LANES, packet

GROUP, OTHER = (0xE9360C65, 26477), (0x0A000001, 1)
FILTERS = (None, GROUP, OTHER)          # of the benches, as the twin takes them
LOCATE = 0x1234                         # of the symbol that the messages here are about


def cut_everywhere(frame, least=0):
    """The frame cut at every byte from ``least`` on, and whole."""
    return [frame[:size] for size in range(least, len(frame) + 1)]


def every_run(letters, size):
    """A sequence in which every run of ``size`` of the letters occurs once (de Bruijn's, made greedily)."""
    letters = list(letters)
    out, seen = [letters[0]] * (size - 1), set()
    while True:
        tail = tuple(out[len(out) - size + 1:])
        fresh = next((n for n in reversed(letters) if (*tail, n) not in seen), None)
        if fresh is None:
            return out
        seen.add((*tail, fresh))
        out.append(fresh)


def random_udp(rng, destination, **more):
    """Keywords of ``udp_frame`` for a right frame of a random shape."""
    return {"tags": tuple((rng.choice(eth.ETHERTYPE_VLAN), rng.getrandbits(16)) for _ in range(rng.randrange(3))),
            "options": rng.randbytes(4 * rng.choice((0, 0, 1, 2, 10, rng.randrange(11)))), "slack": rng.choice((0, 0, rng.randrange(8))),
            "trailer": rng.randbytes(rng.choice((0, 0, 1, 2, 3, 4, 19))), "destination": destination, **more}


# ---- datagrams

_TAG = (0x8100, 0xABCD)
_PAYLOAD = packet([b"S" * 12, b"D" * 19])

#: What can be wrong with a frame, by the counter that it must move: keywords of ``udp_frame``.
WRONG = {
    "not_ipv4": [{"ethertype": 0x0806}, {"ethertype": 0x86DD}, {"ethertype": 0x0801}, {"ethertype": 0x0008}, {"tags": (_TAG,) * 3},
                 {"tags": (_TAG,) * 2, "ethertype": 0x8100}],
    "bad_header": [{"version": 5}, {"version": 0}, *({"words": words} for words in range(5)), *({"checksum_error": 1 << bit} for bit in range(16)),
                   {"options": bytes(40), "checksum_error": 256}, {"checksum_error": 1, "flags_fragment": 1, "protocol": 6}],
    "fragment": [{"flags_fragment": 0x2000}, *({"flags_fragment": 1 << bit} for bit in range(13)), {"flags_fragment": 0x2000, "protocol": 6}],
    "not_udp": [{"protocol": 6}, {"protocol": 1}, *({"protocol": eth.PROTOCOL_UDP ^ 1 << bit} for bit in range(8)), {"protocol": 6, "udp_length": 0}],
    "bad_length": [*({"udp_length": size} for size in range(eth.UDP.size)), {"udp_length": len(_PAYLOAD) + 9}, {"udp_length": 0xFFFF},
                   {"udp_length": len(_PAYLOAD) + 9 + 5, "slack": 5}, {"udp_length": 0, "destination": (1, 1)}],
    "filtered": [*({"destination": (GROUP[0] ^ 1 << bit, GROUP[1])} for bit in range(32)),
                 *({"destination": (GROUP[0], GROUP[1] ^ 1 << bit)} for bit in range(16)), {"destination": (OTHER[0], GROUP[1])}],
}


def frame(payload=_PAYLOAD, destination=GROUP, **shape):
    """``udp_frame`` to one of ``FILTERS``; by default with a payload that ``WRONG`` fits."""
    return udp_frame(payload, destination, **shape)


def random_frames(rng, count):
    """Frames of all kinds (pairs with bad FCS): right, wrong in a random way, cut."""
    out = []
    for _ in range(count):
        shape = random_udp(rng, rng.choice((GROUP, OTHER)))
        if rng.random() < 0.4:
            shape.update(rng.choice(WRONG[rng.choice(list(WRONG))]))
        f = udp_frame(rng.randbytes(rng.randrange(50)), **shape)
        out.append((f[:rng.randrange(len(f) + 1)] if rng.random() < 0.2 else f, rng.random() < 0.1))
    return out


# ---- blocks

def blocks_of(lengths, seed):
    """Messages of the given lengths, of bytes that look like the length of a short block as often as not."""
    rng = random.Random(f"blocks {seed}")
    return [bytes(rng.choice((0, 0, 0, 1, 2, rng.randrange(256))) for _ in range(n)) for n in lengths]


def random_packets(rng, count, number=1):
    """Frames (pairs with bad FCS) with short blocks, gaps, overlaps, new sessions, heartbeats, wrong counts and lengths; some cut, some of others."""
    session, out = b"0000000001", []
    for _ in range(count):
        lengths = [rng.choice((0, 0, 1, 1, 2, 3, 4, 5, 6, 9, 19, 36, rng.randrange(60))) for _ in range(rng.randrange(12))]
        if rng.random() < 0.1:
            session, number = b"%010d" % rng.randrange(10**10), rng.choice((0, 1, 1, 9))
        first = max(0, number + rng.choice((0, 0, 0, 0, 3, -1, -2, -rng.randrange(1, 12))))
        promised = rng.choice((len(lengths), len(lengths), len(lengths), 0, rng.randrange(15), mold.END_OF_SESSION))
        payload = bytearray(packet(blocks_of(lengths, rng.random()), first, session=session, count=promised))
        if rng.random() < 0.1 and len(payload) > mold.HEADER.size:
            payload[rng.randrange(mold.HEADER.size, len(payload))] = rng.randrange(256)
        if promised < mold.END_OF_SESSION:
            number = max(number, first + promised)
        f = udp_frame(bytes(payload), rng.choice((GROUP, OTHER, OTHER, GROUP, (2, 2))), trailer=rng.randbytes(rng.choice((0, 0, 1, 3, 20))))
        out.append((f[:rng.randrange(len(f) + 1)] if rng.random() < 0.2 else f, rng.random() < 0.1))
    return out


def fits_and_not(last):
    """Pairs of frame and whether all of it fits: a last block of ``last`` bytes at each lane, whole, and up to far beyond the payload, which the frame
    itself may reach. All are message 1 on."""
    for shift, beyond, trailer in product(range(LANES), (0, 1, 2, 3, 4, 0xFF00), (0, 1, 2, 3, 8)):
        payload = packet([bytes(4 + shift)], count=2) + mold.BLOCK.encode(length=last + beyond) + bytes(last)
        yield frame(payload, trailer=bytes(trailer)), beyond == 0


# ---- messages

def random_message(rng, code, locate=LOCATE, size=None):
    """A message of a type, random but for type and locate; ``size`` bytes of it."""
    size = itch50.BY_CODE[code].size if size is None else size
    return (code + locate.to_bytes(2, "big") + rng.randbytes(size))[:size]


class Packets:
    """Frames whose messages begin at the lane that is asked for; numbers go on from ``number``."""

    def __init__(self, seed, number=1):
        self.rng, self.number, self.frames = random.Random(f"packets {seed}"), number, []

    def add(self, messages, lane, come=None, **shape):
        """A frame with ``messages``, the first one's block at ``lane``; what lies before it is of no type. ``come``: bytes of the frame that come from
        that block on, the others are cut off."""
        filler = b"?" * (8 + (lane - FIRST_LANE - mold.BLOCK.size - 8) % LANES)
        whole = frame(packet([filler, *messages], self.number), **shape)
        begin = len(whole) - sum(mold.BLOCK.size + len(m) for m in messages)
        self.frames.append(whole if come is None else whole[:begin + come])
        self.number += 1 + len(messages)


#: Lane of the first block: the frame's headers and that of MoldUDP64 have 62 bytes, and multiples of 4.
FIRST_LANE = (eth.ETHERNET.size + eth.IPV4.size + eth.UDP.size + mold.HEADER.size) % LANES


def message_cuts(code, lane):
    """``Packets`` of a message of a type cut at every byte, now and then with whole messages behind it."""
    packets = Packets(f"cuts {code} {lane}")
    message = random_message(packets.rng, code)
    for come in range(mold.BLOCK.size + len(message)):
        packets.add([message], lane, come=come)
        if come % 6 == 5:
            packets.add([random_message(packets.rng, b"L")], lane)      # nothing of the cut message may be left for its end
            packets.add([random_message(packets.rng, b"A"), random_message(packets.rng, b"U")], lane)
    return packets


def message_lengths(codes, locate, lane):
    """``Packets`` of messages from no byte to well beyond their type, each with a good one behind it."""
    packets = Packets(f"lengths {locate} {lane}")
    for code in codes:
        size = itch50.BY_CODE[code].size if code in itch50.BY_CODE else 30
        for length in (*range(13), size - 2, size - 1, size, size + 1, size + 2, size + 20, 300):
            packets.add([random_message(packets.rng, code, locate, length), random_message(packets.rng, b"X")], lane)
    return packets


def message_bits(lane, step=1):
    """``Packets`` with every ``step``-th bit of every field that matters, alone in its message."""
    packets = Packets(f"bits {lane}")
    for code in itch50.NEEDED:
        layout, messages = itch50.BY_CODE[code], []
        for field in layout.fields[4:]:
            if field.name in ("stock", "match_number", "attribution", "reason", "reserved"):
                continue
            for bit in range(packets.rng.randrange(step), 8 * field.size, step):
                raw = bytearray(layout.encode(stock_locate=LOCATE))
                raw[field.offset:field.end] = (1 << bit).to_bytes(field.size, "big")
                messages.append(bytes(raw))
        packets.add(messages, lane)
    return packets
