"""Commands of the host, merged into what the feed handler tells book and publisher: the rest of the path knows them as messages.

    a command, from its start s     s: key of an add     s+4: update and context, key of a take or delete     s+10: queue moves on
    a frame, from its first word T                                                                            T+21: its first key, at the earliest

A command starts when no message can meet it: SETTLED cycles or more after a frame's last word and first word, and, while a frame is under way, only in the
two cycles after that, so that what comes of the frame comes later (the headers alone take 20 words). Thus a command waits for the feed, the feed never for
a command; with frames back to back each one lets one command pass before its own messages.

    the frame before: last word L, update until L+1, gaps until L+7, due (Publisher.DUE) at L+15      s >= L+8: top of book s+7 or later, update s+4
    this frame: first gap T+17, key T+21                                                               s <= T+9: update until T+13, fields until T+18

Kinds: tickgate.spec.commands. What they do: docs/path.md.
"""
from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from tickgate.spec import commands, hashing, records
from tickgate.spec.presets import TICK_SIZES

from ..feed.events import Op, context, event
from ..stream.queue import Queue


def command(slot_bits):
    """What the host wants done: see block ``command`` of tickgate.spec.registers."""
    return data.StructLayout({"kind": 3, "slot": slot_bits, "side": 1, "reference": 64, "qty": 32, "price": 32})


class Commands(wiring.Component):
    """Streams of the feed in and out, undelayed; ``push`` queues a command, and one that finds the queue full is counted.

    LATENCY: cycles from a command's start to its update. SPACING: cycles between the starts of two. A command at the head of the queue of a line at rest
    starts in the next cycle.
    """
    LATENCY = 4
    SPACING = 11
    SETTLED = 8      # cycles from a frame's first or last word to the first start
    LATEST = 9       # from a frame's first word to the last start
    FIRST_KEY = 21   # from a frame's first word to its first key, at the earliest

    def __init__(self, *, key_layout, index_bits, reference_bits, tables):
        self.index_bits, self.reference_bits, self.tables = index_bits, reference_bits, tables
        self.key_layout = key_layout
        slot_bits = key_layout["slot"].width
        keys, updates, contexts = (stream.Signature(shape, always_ready=True) for shape in (key_layout, event(slot_bits), context(slot_bits)))
        super().__init__({
            "first": In(1), "last": In(1),         # a frame's first word, its last one
            "time_ns": In(64),
            "enable": In(1),                       # commands may start
            "clear": In(1),                        # those that wait are forgotten
            "push": In(1), "command": In(command(slot_bits)),
            "feed_keys": In(keys), "feed_updates": In(updates), "feed_contexts": In(contexts),
            "keys": Out(keys), "updates": Out(updates), "contexts": Out(contexts),
            "pushed": Out(commands.NUMBER_BITS), "done": Out(commands.NUMBER_BITS),
            "events": Out(data.StructLayout({"refused": 1}))})

    def elaborate(self, platform):
        m = Module()
        m.submodules.queue = queue = Queue(self.command.shape(), depth=commands.QUEUE)
        c = queue.o.p
        is_known = Signal()
        m.d.comb += [is_known.eq((self.command.kind != 0) & (self.command.kind <= max(commands.LETTERS))
                                 & ((self.command.kind != commands.BASE) | (self.command.qty < len(TICK_SIZES)))),
                     queue.i.valid.eq(self.push & is_known), queue.i.p.eq(self.command), self.events.refused.eq(self.push & ~(is_known & queue.i.ready))]
        with m.If(queue.i.valid & queue.i.ready):
            m.d.sync += self.pushed.eq(self.pushed + 1)

        # ---- when
        firsts, lasts = Signal(self.LATEST - 1), Signal(self.SETTLED - 2)  # bit k: k + 1 cycles ago
        under_way = Signal()
        m.d.sync += [firsts.eq(Cat(self.first, firsts)), lasts.eq(Cat(self.first | self.last, lasts)),
                     under_way.eq(~self.last & (self.first | under_way))]
        step = Signal(self.SPACING - 1)
        mine = Signal()                                                    # from a start until nobody needs the fields of its update any more
        start = Signal()
        m.d.comb += start.eq(queue.o.valid & self.enable & ~mine & ~lasts.any() & (~under_way | firsts[self.SETTLED - 2:].any()))
        m.d.sync += [step.eq(Cat(start, step)), mine.eq(start | mine & ~step[-1])]
        m.d.comb += queue.o.ready.eq(step[-1] | self.clear & ~mine)
        with m.If(queue.o.valid & queue.o.ready):
            m.d.sync += self.done.eq(self.done + 1)

        # ---- what: the command stays at the head of the queue meanwhile, so these follow it by a cycle
        is_add, is_take, is_delete = (c.kind == kind for kind in (commands.ADD, commands.TAKE, commands.DELETE))
        is_base, is_book = c.kind == commands.BASE, Signal()
        adds = Signal()
        key = Signal(self.key_layout, reset_less=True)
        message = Signal(8, reset_less=True)
        low, rest = c.reference[:self.index_bits], c.reference[self.index_bits:self.reference_bits]
        m.d.sync += [
            is_book.eq(is_add | is_take | is_delete), adds.eq(is_add),
            key.insert.eq(is_add), key.whole.eq(is_delete), key.replace.eq(0), key.slot.eq(c.slot), key.rest.eq(rest),
            key.wide.eq(c.reference[self.reference_bits:].any() if self.reference_bits < 64 else 0)]
        for k in range(self.tables):
            rows = hashing.rows(k, self.index_bits, self.reference_bits)
            m.d.sync += key.buckets[k].eq(Cat(*[low[bit] ^ Cat(*[rest[source] for source in row]).xor() for bit, row in enumerate(rows)]))
        with m.Switch(c.kind):
            for kind, letter in commands.LETTERS.items():
                with m.Case(kind):
                    m.d.sync += message.eq(ord(letter))
        told = step[self.LATENCY]
        time = Signal(64, reset_less=True)
        m.d.sync += time.eq(self.time_ns)

        # ---- merge: nobody else is there
        up, x = Signal(self.updates.p.shape()), Signal(self.contexts.p.shape())
        m.d.comb += [
            up.op.eq(Mux(is_add, Op.ADD, Mux(is_take, Op.TAKE, Op.DELETE))), up.slot.eq(c.slot), up.side.eq(c.side), up.qty.eq(c.qty), up.price.eq(c.price),
            x.kind.eq(Mux(is_book, records.TOP_OF_BOOK, records.STATUS)), x.message.eq(message), x.slot.eq(c.slot), x.source.eq(commands.HOST),
            x.number.eq(self.done), x.time.eq(time),
            x.first.eq(Cat(Mux(is_add | is_take | is_base, c.qty, 0), Mux(is_add | is_base, c.price, 0))),
            self.keys.valid.eq(self.feed_keys.valid | Mux(adds, step[0], told & is_book)),
            self.keys.p.eq(Mux(mine, key.as_value(), self.feed_keys.p.as_value())),
            self.updates.valid.eq(self.feed_updates.valid | told & is_book),
            self.updates.p.eq(Mux(mine, up.as_value(), self.feed_updates.p.as_value())),
            self.contexts.valid.eq(self.feed_contexts.valid | told), self.contexts.p.eq(Mux(told, x.as_value(), self.feed_contexts.p.as_value()))]
        return m
