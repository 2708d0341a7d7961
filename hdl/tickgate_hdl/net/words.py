"""Payloads of the streams around net."""
from amaranth.lib import data


def frame_word(lanes):
    """A word of a frame after the MAC: no preamble, byte 0 in bits 7:0. FCS and padding may follow the packet inside the frame."""
    return data.StructLayout({
        "data": 8 * lanes,
        "first": 1,
        "last": 1,
        "count": range(lanes + 1),  # bytes of a last word that belong to the frame, from lane 0: 1 to lanes
        "error": 1,                 # with last: bad FCS, or the MAC gave up on the frame
    })


def datagram_word(lanes):
    """A word of a frame from the one with the first UDP payload byte on, the frame's word as it is."""
    return data.StructLayout({
        "data": 8 * lanes,
        "first": 1,     # payload begins in this word, at lane 2
        "last": 1,      # of the frame
        "left": 16,     # bytes from lane 0 of this word to the end of the payload, wherever the frame ends
        "count": range(lanes + 1),  # bytes of a last word that belong to the frame
        "good": 1,      # every check has passed so far; settled from the fourth word on
        "source": 3,    # number of the filter that took it
    })


class DatagramEnd(data.Struct):
    """A datagram's frame is over (5 cycles after its last word)."""
    suspect: 1  # bad FCS, or it ended before the payload was complete
    source: 3   # number of the filter that took it


#: Payload begins at this lane whatever VLAN tags and IPv4 options came before: 14 + 20 + 8 bytes and multiples of 4.
PAYLOAD_LANE = 2
