"""Payloads between moldudp64 and the feed handlers."""
from amaranth.lib import data

#: Words of a block that are told apart: block offset 44 is in the last one at every lane.
BLOCK_WORDS = 12


def message_word(lanes):
    """A word of a datagram with where it stands in the message block (2 bytes of length, then the message) under way."""
    return data.StructLayout({
        "data": 8 * lanes,
        "at": BLOCK_WORDS,  # bit k: this is word k of the block, counted from the one with its first byte; 0 is never set
        "lane": 2,          # of word 0, where the block begins
        "ok": 1,            # the block is handed on; settled when at[3] is set
        "number": 32,       # of the message, low bits; settled with ok
        "there": lanes,     # lanes that belong to the frame: all but in its last word
        "last": 1,          # of the frame
        "source": 3,
    })


class BlockHeader(data.Struct):
    """A block was judged (2 cycles after the word behind its first byte's) and is handed on. Two at a time: a block of two or three bytes
    that ends before its word does (``inner``) may come together with the one before it."""
    outer: 1
    outer_length: 16
    outer_type: 8    # first byte of the message, if it has one
    number: 64       # of the outer one
    inner: 1
    inner_length: 1  # 0 or 1 byte
    inner_type: 8
    inner_number: 64
    first: 1         # nothing was handed on before in this datagram
    time: 64         # of the word that ends the datagram's header


class Gap(data.Struct):
    """Messages may have been lost: see the gap record."""
    reason: 8
    source: 3
    first: 64
    count: 64
    time: 64
