"""What is synthesised: every hop, and the whole core."""
from amaranth import Const, Module, Signal
from amaranth.hdl import Elaboratable, Value
from amaranth.lib.wiring import In

from tickgate_hdl.board.core import Core
from tickgate_hdl.book.book import Book
from tickgate_hdl.book.commands import Commands
from tickgate_hdl.book.ladder import Ladder
from tickgate_hdl.book.publish import Publisher
from tickgate_hdl.book.table import OrderTable
from tickgate_hdl.csr.file import RegisterFile
from tickgate_hdl.dma.ring import EventRing
from tickgate_hdl.feed.events import key
from tickgate_hdl.feed.itch import ItchParser
from tickgate_hdl.net.datagram import DatagramReceiver
from tickgate_hdl.net.moldudp64 import MoldUdp64
from tickgate_hdl.net.narrow import Narrow


def _key(p):
    return key(slot_bits=p.slot_bits, index_bits=p.index_bits, reference_bits=p.reference_bits, tables=p.tables)


#: Hops by the name of their room, from a preset.
HOPS = {
    "net/narrow": lambda p: Narrow(depth_bits=p.burst_bits),    # of 25G
    "net": lambda p: DatagramReceiver(lanes=p.word, filters=p.filters),
    "net/moldudp64": lambda p: MoldUdp64(lanes=p.word),
    "feed/itch": lambda p: ItchParser(symbols=p.symbols, index_bits=p.index_bits, reference_bits=p.reference_bits, tables=p.tables, lanes=p.word),
    "book": lambda p: Book(key_layout=_key(p), symbols=p.symbols, tick_bits=p.tick_bits, index_bits=p.index_bits, reference_bits=p.reference_bits,
                           tables=p.tables, ways=p.ways, count_bits=p.count_bits, crossing=p.crossing),
    "book/table": lambda p: OrderTable(key_layout=_key(p), tick_bits=p.tick_bits, index_bits=p.index_bits, reference_bits=p.reference_bits,
                                       tables=p.tables, ways=p.ways, crossing=p.crossing),
    "book/ladder": lambda p: Ladder(symbols=p.symbols, tick_bits=p.tick_bits, count_bits=p.count_bits),
    "book/commands": lambda p: Commands(key_layout=_key(p), index_bits=p.index_bits, reference_bits=p.reference_bits, tables=p.tables),
    "book/publish": lambda p: Publisher(slot_bits=p.slot_bits, quantity_bits=p.quantity_bits),
    "dma": lambda p: EventRing(),
    "csr": lambda p: RegisterFile(),
    "core": Core,
}

#: What a message passes from the wire to its top of book.
FAST_PATH = ("net", "net/moldudp64", "feed/itch", "book")


class Registered(Elaboratable):
    """A part between registers, so that every path through it begins and ends at one. ``ports``: the inputs and outputs of the whole."""

    def __init__(self, part):
        self.part = part
        self.inner = []     # (name, is an input, signal of the part)
        for path, member, value in part.signature.flatten(part):
            value = Value.cast(value)
            if not isinstance(value, Const):                # a stream that is always ready
                self.inner.append(("__".join(map(str, path)), member.flow is In, value))
        self.outer = {name: Signal(len(value), name=f"port_{name}") for name, _, value in self.inner if len(value)}
        self.ports = list(self.outer.values())

    def elaborate(self, platform):
        m = Module()
        m.submodules.part = self.part
        for name, is_input, value in self.inner:
            if name in self.outer:
                register = Signal(len(value), name=f"edge_{name}", reset_less=True)
                source, sink = (self.outer[name], value) if is_input else (value, self.outer[name])
                m.d.sync += register.eq(source)
                m.d.comb += sink.eq(register)
        return m
