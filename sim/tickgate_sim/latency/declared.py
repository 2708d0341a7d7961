"""What the hops declare, summed along the path."""
from tickgate_hdl.book.book import Book
from tickgate_hdl.book.publish import Publisher
from tickgate_hdl.feed.itch import ItchParser
from tickgate_hdl.net.datagram import DatagramReceiver
from tickgate_hdl.net.moldudp64 import MoldUdp64

#: Message types by what the book has to do for them.
GROUPS = {"A F": Book.LATENCY_ADD, "D E C X": Book.LATENCY_REMOVE, "U": Book.LATENCY_REPLACE}


def hops(types, preset):
    """(hop, from what to what, cycles) of a group of ``GROUPS``, from the word with the last needed byte to the record. Each register on the way to far
    memories and back counts."""
    return [
        ("net", "frame word → datagram word", DatagramReceiver.LATENCY),
        ("net/moldudp64", "datagram word → message word", MoldUdp64.LATENCY),
        ("feed/itch", "last needed byte → key and event", ItchParser.LATENCY),
        ("book", "key or event → top of book", GROUPS[types] + 2 * preset.crossing),
        ("book/publish", "top of book → record", Publisher.LATENCY)]


def top_of_book(preset):
    """Cycles from the word with the last needed byte to the new top of book, by message type."""
    return {t: sum(cycles for _, _, cycles in hops(types, preset)[:-1]) for types in GROUPS for t in types.split()}
