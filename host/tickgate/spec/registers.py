"""Register map: the one declaration behind the gateware bank, ``Card`` attributes, the C header and ``docs/registers.md``.

32-bit words, little-endian, byte addresses. A register wider than 32 bits takes two words, low word first: reading the low word keeps the high
word for the next read, writing the high word takes both at once.
"""
from dataclasses import dataclass

from .commands import COMMANDS, NUMBER_BITS, QUEUE
from .layout import LayoutError

ACCESS = {
    "rw": "host writes, gateware reads",
    "ro": "gateware writes, host reads",
    "wo": "a write is seen by the gateware for one cycle, with its value; reads as 0",
    "count": "gateware counts events, host reads; cleared by reset only",
}


@dataclass(frozen=True)
class Register:
    """One register. ``step``, for counters: bits of the increment that one cycle can bring. ``bits``, of one that holds flags: triples of name,
    bit and meaning."""

    name: str
    access: str
    width: int = 32
    reset: int = 0
    unit: str = ""
    doc: str = ""
    step: int = 1
    bits: tuple = ()

    @property
    def words(self):
        return -(-self.width // 32)

    def bit(self, name):
        """Number of the flag ``name``."""
        return next(bit for flag, bit, _ in self.bits if flag == name)

    def mask(self, name):
        """The flag ``name`` alone."""
        return 1 << self.bit(name)


@dataclass(frozen=True)
class Block:
    """Registers of one hop, from byte address ``base``."""

    name: str
    base: int
    size: int
    registers: tuple

    def offsets(self):
        """Pairs of byte address and register."""
        address = self.base
        for register in self.registers:
            yield address, register
            address += 4 * register.words

    def address(self, name):
        return next(a for a, r in self.offsets() if r.name == name)

    def __getitem__(self, name):
        """The register of a name."""
        return next(r for r in self.registers if r.name == name)


def _counter(name, doc, unit, step=1):
    return Register(name, "count", 48, unit=unit, doc=doc, step=step)


MAGIC = 0x4B434954   # "TICK", little-endian
VERSION = 1
LINK_DOWN = 0xFFFFFFFF

ID = Block("id", 0x000, 0x40, (
    Register("magic", "ro", 32, unit="code", doc="0x4B434954: TICK. All ones: the link to the card is down."),
    Register("version", "ro", 32, unit="number", doc="version of registers and records"),
    Register("symbols", "ro", 16, unit="slots"),
    Register("tick_bits", "ro", 8, unit="log2 ticks", doc="ladder ticks a side"),
    Register("index_bits", "ro", 8, unit="log2 buckets", doc="of a way of the order table"),
    Register("tables", "ro", 8, unit="number", doc="subtables of the order table"),
    Register("ways", "ro", 8, unit="number", doc="entries of a bucket"),
    Register("reference_bits", "ro", 8, unit="bits", doc="of an order reference that are kept"),
    Register("lanes", "ro", 8, unit="bytes", doc="bytes a cycle on the wire's side"),
    Register("filters", "ro", 8, unit="number", doc="net filters"),
    Register("burst_bits", "ro", 8, unit="log2 words", doc="with 8 lanes: words that wait before net at the most"),
))
CONTROL = Block("control", 0x040, 0x40, (
    Register("enable", "rw", 1, unit="flag", doc="frames are taken; while 0 each one is dropped and counted"),
    Register("clear", "wo", 1, unit="flag",
             doc="empty order table, books and symbol states, once no frame is under way; every symbol is stale "
                 "until it is loaded again; counters stay"),
    Register("ready", "ro", 1, unit="flag", doc="1 once memories are clear; frames before that are dropped and counted"),
    Register("now_ns", "ro", 64, unit="ns", doc="card time"),
))
SYMBOL = Block("symbol", 0x080, 0x40, (
    Register("locate", "rw", 16, unit="locate", doc="of the symbol to load"),
    Register("base", "rw", 32, unit="1e-4 USD", doc="price of the lowest tick of its ladder"),
    Register("tick", "rw", 2, unit="code", doc="tick size: 0 0.01 USD, 1 0.005 USD, 2 0.0001 USD"),
    Register("flags", "rw", 2, unit="bits", bits=(
        ("track", 0, "track it (0: forget the locate)"),
        ("stale", 1, "its book is stale from the start, as it is anyway when messages came, or a gap was declared, since the last clear"))),
    Register("load", "wo", 8, unit="slot",
             doc="writes the four above into this slot; the slot's book must be empty; nothing happens when there is no such slot or "
                 "tick; `stale` follows it by up to 8 cycles"),
    Register("stale", "ro", 64, unit="bits", doc="slots whose book may be wrong, also of slots that are not loaded"),
))
NET = Block("net", 0x100, 0x100, (
    *(r for k in range(4) for r in (
        Register(f"group{k}", "rw", 32, unit="IPv4 address", doc=f"filter {k}: destination, first byte in bits 31:24"),
        Register(f"port{k}", "rw", 17, unit="port", doc=f"filter {k}: UDP destination port in 15:0",
                 bits=(("in_use", 16, "filter in use"),)))),
    _counter("frames", "frames received", "frames"),
    _counter("datagrams", "handed on: UDP to one of the filters", "frames"),
    _counter("not_ready", "dropped: not enabled or not ready when the frame began", "frames"),
    _counter("not_ipv4", "dropped: not IPv4, or more than two VLAN tags", "frames"),
    _counter("bad_header", "dropped: IPv4 version, header length or checksum", "frames"),
    _counter("fragment", "dropped: IPv4 fragment", "frames"),
    _counter("not_udp", "dropped: not UDP", "frames"),
    _counter("filtered", "dropped: no filter for its destination", "frames"),
    _counter("bad_length", "dropped: UDP length below its header or beyond the IPv4 packet", "frames"),
    _counter("short_frame", "dropped: frame ended before its UDP payload began", "frames"),
    _counter("bad_fcs", "frames that the MAC marked bad, or that were cut for want of room, whatever became of them", "frames"),
    _counter("overflow", "with 8 lanes: frames that found no room in the queue before net; dropped before they count in `frames`, or cut", "frames"),
))
MOLD = Block("mold", 0x200, 0x100, (
    Register("start", "rw", 64, reset=1, unit="messages", doc="first message expected after a restart"),
    Register("restart", "wo", 1, unit="flag",
             doc="forget the session; expect `start` next, once no packet is under way; when messages came, or a "
                 "gap was declared, since the last clear, every symbol is stale"),
    Register("expected", "ro", 64, unit="messages", doc="next message expected"),
    Register("session_low", "ro", 64, unit="ASCII", doc="first 8 bytes of the session, first byte in bits 7:0"),
    Register("session_high", "ro", 16, unit="ASCII", doc="last 2 bytes of the session"),
    _counter("packets", "MoldUDP64 packets with messages", "packets"),
    _counter("heartbeats", "packets without messages", "packets"),
    _counter("ends", "end of session packets", "packets"),
    _counter("runts", "dropped: datagrams too short for the header", "packets"),
    _counter("messages", "message blocks handed on", "messages", step=2),
    _counter("duplicates", "message blocks seen before", "messages", step=2),
    _counter("gaps", "gaps declared", "gaps"),
    _counter("missing", "messages that never came", "messages", step=48),
    _counter("sessions", "new sessions after the first", "sessions"),
    _counter("overruns", "datagrams whose blocks did not fit: the rest was dropped", "packets"),
    _counter("suspect", "datagrams of frames with a bad FCS or an early end", "packets"),
))
FEED = Block("feed", 0x300, 0x100, (
    Register("type_select", "rw", 8, unit="ASCII", doc="message type that `type_count` shows"),
    Register("type_count", "ro", 48, unit="messages", doc="messages of that type (11 bytes and more) handed on by moldudp64"),
    _counter("empty", "messages of length 0", "messages", step=2),
    _counter("unknown", "messages of unknown type (11 bytes and more), skipped by length", "messages"),
    _counter("short", "messages of 1 to 10 bytes, or shorter than their type, skipped", "messages", step=2),
    _counter("longer", "messages longer than their type: known part used, rest skipped", "messages"),
    _counter("other", "book, trade and status messages of symbols that are not tracked", "messages"),
))
BOOK = Block("book", 0x400, 0x100, (
    _counter("updates", "book messages of tracked symbols", "messages"),
    _counter("outside", "orders that came to rest outside the ladder", "orders"),
    *(_counter(name, doc, "messages") for name, doc in (
        ("unknown_reference", "D E C X U of an order that the table does not hold"),
        ("duplicate_reference", "A F U with the reference of a live order"),
        ("overfill", "E C X of more shares than the order has"),
        ("table_full", "A F U that found no room in the order table"),
        ("wide_reference", "references wider than the order table keeps"))),
))
RING = Block("ring", 0x500, 0x100, (
    Register("base", "rw", 64, unit="bytes", doc="host address of the event ring, a multiple of 64"),
    Register("size_log2", "rw", 5, unit="log2 records", doc="records in the ring: 2^size_log2, at most 2^24"),
    Register("enable", "rw", 1, unit="flag", doc="records are written; while 0 each one is dropped and counted"),
    Register("credit", "rw", 32, unit="records", doc="records that the host has taken, modulo 2^32"),
    Register("written", "ro", 32, unit="records", doc="records given a place in the ring, modulo 2^32"),
    _counter("records", "records made, dropped ones too", "records"),
    _counter("dropped_full", "dropped: the host had given no credit", "records"),
    _counter("dropped_busy", "dropped: the host port was too slow", "records"),
    _counter("dropped_off", "dropped: ring not enabled", "records"),
))

COMMAND = Block("command", 0x600, 0x40, (
    Register("slot", "rw", 8, unit="slot", doc="of the symbol"),
    Register("side", "rw", 1, unit="flag", doc="of an order to add: 1 sell"),
    Register("reference", "rw", 64, unit="number", doc="of the order"),
    Register("qty", "rw", 32, unit="shares", doc="to add or to take; of a base: its tick, code as in symbol.tick"),
    Register("price", "rw", 32, unit="1e-4 USD", doc="of an order to add; of a base: price of the lowest tick"),
    Register("push", "wo", 3, unit="code",
             doc="queues a command of this kind with the five above: " + ", ".join(f"{kind} {name}" for name, (kind, _, _) in COMMANDS.items())),
    Register("pushed", "ro", NUMBER_BITS, unit="commands", doc="commands that were queued: number of the next one, modulo 2^31"),
    Register("done", "ro", NUMBER_BITS, unit="commands", doc=f"commands that took effect; up to {QUEUE} may wait"),
    _counter("refused", "commands that found the queue full, or were of no kind, slot or tick", "commands"),
))

DEPTH_LEVELS = 10
DEPTH = Block("depth", 0x680, 0x40, (
    Register("start", "wo", 8, unit="slot", doc="read the best levels of this slot's book; forgets what was asked before"),
    Register("busy", "ro", 1, unit="flag", doc="1 until the levels are there"),
    Register("tries", "ro", 16, unit="number", doc="walks it took: a message of the symbol begins it anew; stops at 65,535"),
    Register("tops", "ro", 32, unit="records", doc="the levels are those after so many top_of_book records since reset, modulo 2^32"),
    Register("bids", "ro", 4, unit="levels", doc=f"that exist, at most {DEPTH_LEVELS}"),
    Register("asks", "ro", 4, unit="levels", doc="the same of the other side"),
    Register("show", "rw", 5, unit="level", doc="which level the next three show: bits 3:0 its number, 0 the best; bit 4: of the asks"),
    Register("price", "ro", 32, unit="1e-4 USD"),
    Register("qty", "ro", 64, unit="shares"),
    Register("orders", "ro", 32, unit="orders"),
))

PUBLISH = Block("publish", 0x700, 0x40, (
    Register("stale_when", "rw", 2, unit="bits", doc="a book that comes to this in continuous trading makes its symbol stale; else it is only counted", bits=(
        ("crossed", 0, "best bid above best ask"),
        ("locked", 1, "best bid at best ask"))),
    _counter("crossed", "books that came to be crossed in continuous trading", "times"),
    _counter("locked", "books that came to be locked in continuous trading and were not crossed before", "times"),
))

BLOCKS = (ID, CONTROL, SYMBOL, NET, MOLD, FEED, BOOK, RING, COMMAND, DEPTH, PUBLISH)
ADDRESS_BITS = 12


def _check():
    end = 0
    for block in BLOCKS:
        if block.base < end:
            raise LayoutError(f"register block {block.name} overlaps the one before it")
        end, seen = block.base + block.size, set()
        for address, register in block.offsets():
            where = f"register {block.name}.{register.name}"
            if register.name in seen:
                raise LayoutError(f"{where} is declared twice")
            seen.add(register.name)
            if register.access not in ACCESS:
                raise LayoutError(f"{where}: unknown access {register.access!r}")
            if not 1 <= register.width <= 64 or register.reset >> register.width:
                raise LayoutError(f"{where}: width {register.width} or reset {register.reset} out of range")
            if not register.unit:
                raise LayoutError(f"{where} has no unit")
            for what, values in (("flag", [flag for flag, _, _ in register.bits]), ("bit", [bit for _, bit, _ in register.bits])):
                if len(set(values)) < len(values):
                    raise LayoutError(f"{where}: a {what} is declared twice")
            for _, bit, _ in register.bits:
                if not 0 <= bit < register.width:
                    raise LayoutError(f"{where} has no bit {bit}")
            if address + 4 * register.words > end:
                raise LayoutError(f"{where} does not fit its block")
    if end > 1 << ADDRESS_BITS:
        raise LayoutError(f"register map ends at {end:#x}, beyond {ADDRESS_BITS} address bits")


_check()
