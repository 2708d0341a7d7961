"""The whole core, without a vendor primitive: frame words in, records into host memory, registers beside them.

One clock domain. The boundary is the same for every card (docs/path.md): ``rx`` words after the MAC, a nanosecond clock, an AXI4-Lite slave for registers, and
``writes`` of 64 bytes to host memory, which may stall without touching the path.
"""
from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from tickgate.spec import registers
from tickgate.spec.presets import TICK_SIZES

from ..book.book import Book
from ..book.commands import Commands
from ..book.publish import Publisher
from ..csr.axi import AxiLite
from ..csr.file import RegisterFile
from ..dma.ring import EventRing, HostWrite
from ..feed.itch import ItchParser
from ..net.datagram import DatagramReceiver
from ..net.moldudp64 import MoldUdp64
from ..net.narrow import Narrow
from ..net.words import frame_word
from ..stream.join import connect
from ..stream.logic import delay

#: Cycles without a frame before memories are cleared: longer than the path.
QUIET = 32
#: Cycles from the word that asks for a message's locate to `used`.
LOAD_LATE = 3


class Core(wiring.Component):
    """``preset`` is a ``tickgate.spec.presets.Preset``."""

    def __init__(self, preset):
        self.preset = preset
        super().__init__({
            "rx": In(stream.Signature(frame_word(preset.lanes))),  # always ready
            "time_ns": In(64),
            "csr": In(AxiLite),
            "writes": Out(stream.Signature(HostWrite))})

    def elaborate(self, platform):
        m = Module()
        p = self.preset
        m.submodules.regs = regs = RegisterFile()
        m.submodules.net = net = DatagramReceiver(lanes=p.word, filters=p.filters)
        m.submodules.mold = mold = MoldUdp64(lanes=p.word)
        m.submodules.itch = itch = ItchParser(
            symbols=p.symbols, index_bits=p.index_bits, reference_bits=p.reference_bits, tables=p.tables, lanes=p.word)
        m.submodules.commands = commands = Commands(
            key_layout=itch.key_layout, index_bits=p.index_bits, reference_bits=p.reference_bits, tables=p.tables)
        m.submodules.book = book = Book(
            key_layout=itch.key_layout, symbols=p.symbols, tick_bits=p.tick_bits, index_bits=p.index_bits, reference_bits=p.reference_bits,
            tables=p.tables, ways=p.ways, count_bits=p.count_bits, crossing=p.crossing)
        m.submodules.publisher = publisher = Publisher(
            slot_bits=p.slot_bits, quantity_bits=p.quantity_bits, late=itch.CONTEXT_LATENCY - itch.LATENCY, far=2 * p.crossing)
        m.submodules.ring = ring = EventRing()

        ready, clearing, after_reset = Signal(), Signal(), Signal(init=1)

        # ---- the path
        m.d.comb += self.rx.ready.eq(1)
        if p.lanes == p.word:
            word_time = self.time_ns
            m.d.comb += [net.frames.valid.eq(self.rx.valid), net.frames.p.eq(self.rx.p)]
        else:
            m.submodules.narrow = narrow = Narrow(depth_bits=p.burst_bits)
            word_time = narrow.out_time_ns
            connect(m, narrow.out, net.frames)
            m.d.comb += [narrow.frames.valid.eq(self.rx.valid), narrow.frames.p.eq(self.rx.p), narrow.time_ns.eq(self.time_ns),
                         regs.net.overflow.eq(narrow.overflow)]
        connect(m, net.datagrams, mold.datagrams)
        connect(m, net.ends, mold.ends)
        connect(m, mold.messages, itch.messages)
        connect(m, mold.headers, itch.headers)
        connect(m, itch.keys, commands.feed_keys)
        connect(m, itch.updates, commands.feed_updates)
        connect(m, itch.contexts, commands.feed_contexts)
        connect(m, commands.keys, book.keys)
        connect(m, commands.updates, book.updates)
        connect(m, commands.contexts, publisher.contexts)
        connect(m, mold.gaps, publisher.gaps)
        connect(m, book.tops, publisher.tops)
        connect(m, publisher.records, ring.records)
        connect(m, ring.writes, wiring.flipped(self.writes))
        connect(m, regs.ring, ring.registers)
        connect(m, wiring.flipped(self.csr), regs.csr)
        m.d.comb += [publisher.order_price.eq(book.order_price), book.abandoned.eq(itch.abandoned), publisher.stale_when.eq(regs.publish.stale_when),
                     *[x.time_ns.eq(word_time) for x in (mold, itch)], *[x.time_ns.eq(self.time_ns) for x in (commands, publisher)]]

        # ---- registers
        m.d.comb += [
            regs.id.magic.eq(registers.MAGIC), regs.id.version.eq(registers.VERSION), regs.id.symbols.eq(p.symbols), regs.id.tick_bits.eq(p.tick_bits),
            regs.id.index_bits.eq(p.index_bits), regs.id.tables.eq(p.tables), regs.id.ways.eq(p.ways), regs.id.reference_bits.eq(p.reference_bits),
            regs.id.lanes.eq(p.lanes), regs.id.filters.eq(p.filters), regs.id.burst_bits.eq(p.burst_bits), regs.control.now_ns.eq(self.time_ns),
            *[x for k in range(p.filters) for group, port in [(getattr(regs.net, f"group{k}"), getattr(regs.net, f"port{k}"))]
              for x in (net.filters[k].group.eq(group), net.filters[k].port.eq(port[:16]), net.filters[k].on.eq(port[16]))],
            mold.start.eq(regs.mold.start), mold.restart.eq(regs.mold.restart_strobe), regs.mold.expected.eq(mold.expected),
            regs.mold.session_low.eq(mold.session[:64]), regs.mold.session_high.eq(mold.session[64:]),
            itch.type_select.eq(regs.feed.type_select), regs.feed.type_count.eq(itch.type_count), regs.symbol.stale.eq(publisher.stale)]
        for hop, part in ((regs.net, net), (regs.mold, mold), (regs.feed, itch), (regs.book, book), (regs.command, commands), (regs.publish, publisher)):
            m.d.comb += [getattr(hop, name).eq(part.events[name]) for name in part.events.shape().members]

        # ---- symbols
        loads = Signal()
        m.d.comb += loads.eq(regs.symbol.load_strobe & (regs.symbol.load < p.symbols) & (regs.symbol.tick < len(TICK_SIZES)))
        for part in (itch, book):
            s = part.load_symbol
            m.d.comb += [part.load.eq(loads), part.load_slot.eq(regs.symbol.load), s.locate.eq(regs.symbol.locate), s.base.eq(regs.symbol.base),
                         s.tick.eq(regs.symbol.tick), s.tracked.eq(regs.symbol.flags[0])]
        moving = Signal()                                      # a base that met a load: it goes a cycle later
        m.d.sync += moving.eq((publisher.rebase | moving) & loads)
        with m.If((publisher.rebase | moving) & ~loads):       # a command moves a ladder: the book's part of a load
            m.d.comb += [book.load.eq(1), book.load_slot.eq(publisher.rebase_slot), book.load_symbol.base.eq(publisher.rebase_base),
                         book.load_symbol.tick.eq(publisher.rebase_tick)]

        # once messages were handed on, a symbol that is loaded has missed some, and books are of another session after a restart: until memories are cleared
        used = Signal()
        # a load is told LOAD_LATE cycles later: by then `used` knows of the message whose locate was looked up before it
        late = Signal(LOAD_LATE)
        m.d.sync += late.eq(Cat(loads, late))
        slot, is_stale = (delay(m, value, LOAD_LATE, name)[-1] for value, name in ((regs.symbol.load, "load_slot"), (regs.symbol.flags[1], "load_stale")))
        m.d.comb += [publisher.load.eq(late[-1]), publisher.load_slot.eq(slot), publisher.load_stale.eq(is_stale | used),
                     publisher.distrust.eq((regs.mold.restart_strobe | mold.restarted) & used)]

        # ---- commands: when, is told by the words that net takes
        m.d.comb += [
            commands.first.eq(net.frames.valid & net.frames.p.first), commands.last.eq(net.frames.valid & net.frames.p.last),
            commands.enable.eq(ready), commands.clear.eq(clearing), commands.push.eq(regs.command.push_strobe),
            commands.command.kind.eq(Mux(regs.command.slot < p.symbols, regs.command.push, 0)),    # 0 is refused
            regs.command.pushed.eq(commands.pushed), regs.command.done.eq(commands.done),
            *[commands.command[name].eq(getattr(regs.command, name)) for name in ("slot", "side", "reference", "qty", "price")]]

        # ---- depth
        d, shown = book.depth, regs.depth
        m.d.comb += [d.start.eq(shown.start_strobe), d.slot.eq(shown.start), d.show.eq(shown.show),
                     *[getattr(shown, name).eq(getattr(d, name)) for name in ("busy", "tries", "tops", "bids", "asks", "price", "qty", "orders")]]

        # ---- clear: after reset and when the host asks, once the path is empty, a row of every memory a cycle
        row_bits = max(min(12, p.index_bits), p.tick_bits, min(12, p.slot_bits + 1 + p.tick_bits // 2), 8)   # of the longest memory, and of the type counts
        row, quiet = Signal(row_bits), Signal(range(QUIET + 1))
        m.d.comb += [regs.control.ready.eq(ready), net.enable.eq(regs.control.enable & ready), clearing.eq(~ready & (quiet == QUIET))]
        with m.If(clearing):
            m.d.sync += used.eq(0)
        with m.Elif((mold.events.messages != 0) | mold.gaps.valid):       # a gap tells of messages too: a heartbeat may bring it
            m.d.sync += used.eq(1)
        with m.If(regs.control.clear_strobe & regs.control.clear):
            m.d.sync += [ready.eq(0), quiet.eq(0), row.eq(0)]
        with m.Elif(clearing):
            m.d.sync += row.eq(row + 1)
            with m.If(row == (1 << row_bits) - 1):
                m.d.sync += [ready.eq(1), after_reset.eq(0)]
        with m.Elif(~ready):
            m.d.sync += quiet.eq(Mux(net.busy, 0, quiet + 1))
        for part, clear in ((book, clearing), (publisher, clearing), (itch, clearing & after_reset)):   # counts are cleared by reset only
            m.d.comb += [part.clear.eq(clear), part.clear_row.eq(row)]
        return m
