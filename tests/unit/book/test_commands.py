"""Commands of the host between the messages: what they tell book and publisher, when, and that they never meet a message."""
import random

import pytest
from amaranth import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from tickgate.spec import commands, records
from tickgate.spec.commands import Command
from tickgate.spec.presets import PRESETS, TICK_SIZES
from tickgate_hdl.book.book import Book
from tickgate_hdl.book.commands import Commands
from tickgate_hdl.book.publish import Publisher
from tickgate_hdl.feed.events import Op
from tickgate_hdl.feed.itch import ItchParser
from tickgate_hdl.net.datagram import DatagramReceiver
from tickgate_hdl.net.moldudp64 import MoldUdp64
from tickgate_hdl.net.words import frame_word
from tickgate_hdl.stream.join import connect
from tickgate_sim.models.book import key_fields, key_layout
from tickgate_sim.models.hop import Isolated
from tickgate_sim.models.wire import on_wire
from tickgate_sim.stream import run
from tickgate_sim.streams import Maker, frames, universe

SMALL = PRESETS["small"]
FILTERS = [(0xE9360C6F, 26477), (0xE9360C70, 26478)]
OPS = {commands.ADD: Op.ADD, commands.TAKE: Op.TAKE, commands.DELETE: Op.DELETE}
#: Cycles from a context or gap that needs no top of book to its record's first stage, in the core.
DUE = Publisher(slot_bits=SMALL.slot_bits, quantity_bits=SMALL.quantity_bits, late=ItchParser.CONTEXT_LATENCY - ItchParser.LATENCY).due
STREAMS = ("keys", "updates", "contexts")
SPACING = 5          # cycles from a message's last needed byte to the next one's first key: the shortest message (tickgate_hdl.book.table)


def new_commands():
    return Commands(key_layout=key_layout(SMALL), index_bits=SMALL.index_bits, reference_bits=SMALL.reference_bits, tables=SMALL.tables)


def play(hop, inputs):
    """Outputs of ``hop`` for ``inputs`` (values by dotted name), both a dict a cycle; unnamed inputs are 0."""
    bench, outputs = Isolated(hop), []

    async def body(ctx):
        for values in inputs:
            word = 0
            for name, value in values.items():
                word = bench.inputs.write(word, name, value)
            ctx.set(bench.i.as_value(), word)
            *_, out = await ctx.tick().sample(bench.o.as_value())
            outputs.append(out)

    run(bench, body, max_cycles=len(inputs) + 1)
    return outputs, bench.outputs


def some(rng, kind=None):
    kind = kind or rng.choice(list(commands.LETTERS))
    qty = rng.randrange(len(TICK_SIZES)) if kind == commands.BASE else rng.getrandbits(32)
    return Command(kind, rng.randrange(SMALL.symbols), rng.getrandbits(64), rng.randrange(2), qty, rng.getrandbits(32))


def pushed(command):
    return {"push": 1, **{f"command.{name}": value for name, value in command._asdict().items()}}


def told(command, number, time):
    """Fields of update and context, by docs/path.md."""
    letter, is_book = ord(commands.LETTERS[command.kind]), command.kind in OPS
    price, qty = (command.price if command.kind in (commands.ADD, commands.BASE) else 0,
                  command.qty if command.kind in (commands.ADD, commands.TAKE, commands.BASE) else 0)
    context = {"kind": records.TOP_OF_BOOK if is_book else records.STATUS, "message": letter, "slot": command.slot, "market": 0, "side": 0, "detail": 0,
               "source": commands.HOST, "number": number, "time": time, "first": price << 32 | qty, "second": 0}
    update = {"op": OPS[command.kind].value, **{name: getattr(command, name) for name in ("slot", "side", "qty", "price")}} if is_book else {}
    return update, context


def test_a_line_at_rest():
    """One command each SPACING cycles: key, update and context as the parser gives them, and not a cycle of the feed's streams is delayed between them."""
    rng = random.Random("rest")
    wanted = [some(rng, kind) for kind in commands.LETTERS] + [some(rng) for _ in range(10)]
    inputs = [{"enable": 1, "time_ns": 1000 + cycle} for cycle in range(len(wanted) * Commands.SPACING + 40)]
    for k, command in enumerate(wanted):
        inputs[1 + k] |= pushed(command)
    outputs, fields = play(new_commands(), inputs)

    def at(name):
        return [cycle for cycle, word in enumerate(outputs) if fields.read(word, f"{name}.valid")]

    tells = at("contexts")
    assert len(tells) == len(wanted) and {b - a for a, b in zip(tells, tells[1:])} == {Commands.SPACING}
    assert tells[0] - Commands.LATENCY == 1 + 2 + 1      # pushed in cycle 1, at the head of the queue two later
    compared = 0
    for number, (command, cycle) in enumerate(zip(wanted, tells)):
        update, context = told(command, number, 1000 + cycle - 1)
        for name, value in context.items():
            assert fields.read(outputs[cycle], f"contexts.payload.{name}") == value, (command, name)
        assert (cycle in at("updates")) == bool(update)
        for name, value in update.items():
            for later in range(1 if name == "op" else SPACING + 1):
                assert fields.read(outputs[cycle + later], f"updates.payload.{name}") == value, (command, name, later)
        keys = [c for c in at("keys") if cycle - Commands.LATENCY <= c <= cycle + Commands.SPACING - Commands.LATENCY - 1]
        if update:
            assert keys == [cycle - (Commands.LATENCY if command.kind == commands.ADD else 0)]
            for name, value in key_fields(SMALL, command.reference, command.slot, insert=int(command.kind == commands.ADD),
                                          whole=int(command.kind == commands.DELETE)).items():
                assert fields.read(outputs[keys[0]], f"keys.payload.{name}") == value, (command, name)
                compared += 1
        else:
            assert not keys
    assert compared > 50
    assert fields.read(outputs[-1], "done") == fields.read(outputs[-1], "pushed") == len(wanted)


def test_the_streams_of_the_feed_pass():
    rng = random.Random("pass")
    hop = new_commands()
    inputs = Isolated(hop).inputs
    names = [(f"feed_{name}.payload", f"{name}.payload") for name in STREAMS]
    sent = [{name: rng.getrandbits(inputs.mask([name]).bit_count()) for name, _ in names}
            | {f"feed_{name}.valid": rng.randrange(2) for name in STREAMS} for _ in range(40)]
    outputs, fields = play(hop, sent)
    for values, word in zip(sent, outputs):
        for name, value in values.items():
            assert fields.read(word, name.removeprefix("feed_")) == value


def test_a_full_queue_and_unknown_kinds_are_counted():
    rng = random.Random("full")
    inputs = [pushed(some(rng)) for _ in range(30)] + [pushed(Command(kind, 0)) for kind in (0, 7)] + [{}] * 5       # not enabled: nothing starts
    outputs, fields = play(new_commands(), inputs)
    taken = fields.read(outputs[-1], "pushed")
    assert commands.QUEUE <= taken < 30 and fields.read(outputs[-1], "done") == 0
    assert sum(fields.read(word, "events.refused") for word in outputs) == 32 - taken
    assert not any(fields.read(word, "contexts.valid") for word in outputs)


def test_clearing_forgets_those_that_wait():
    rng = random.Random("clear")
    inputs = [{"enable": 1, **pushed(some(rng))} for _ in range(8)] + [{}] * 12 + [{"clear": 1}] * 20 + [{"enable": 1} for _ in range(60)]
    inputs[-30] |= pushed(some(rng))
    outputs, fields = play(new_commands(), inputs)
    tells = [cycle for cycle, word in enumerate(outputs) if fields.read(word, "contexts.valid")]
    assert len(tells) == 2 and tells[0] < 20 and tells[1] > len(inputs) - 30        # the first was under way, the last came after
    assert fields.read(outputs[tells[1]], "contexts.payload.number") == 8
    assert fields.read(outputs[-1], "done") == fields.read(outputs[-1], "pushed") == 9


class Front(wiring.Component):
    """net, moldudp64, feed and commands as the core has them; all that goes on to book and publisher, and what of it is the feed's."""

    def __init__(self):
        self.net, self.mold = DatagramReceiver(filters=SMALL.filters), MoldUdp64()
        self.itch = ItchParser(symbols=SMALL.symbols, index_bits=SMALL.index_bits, reference_bits=SMALL.reference_bits, tables=SMALL.tables)
        self.commands = new_commands()
        members = {
            "frames": In(stream.Signature(frame_word(SMALL.lanes), always_ready=True)), "filters": In(self.net.filters.shape()), "time_ns": In(64),
            "load": In(1), "load_slot": In(self.itch.slot_bits), "load_symbol": In(self.itch.load_symbol.shape()),
            "push": In(1), "command": In(self.commands.command.shape()), "gap": Out(1), "abandoned": Out(1)}
        for name in STREAMS:
            members[name] = Out(self.commands.signature.members[name].signature)
            members[f"feed_{name}"] = Out(1)
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        m.submodules.net, m.submodules.mold, m.submodules.itch, m.submodules.commands = net, mold, itch, host = self.net, self.mold, self.itch, self.commands
        connect(m, wiring.flipped(self.frames), net.frames)
        connect(m, net.datagrams, mold.datagrams)
        connect(m, net.ends, mold.ends)
        connect(m, mold.messages, itch.messages)
        connect(m, mold.headers, itch.headers)
        for name in STREAMS:
            connect(m, getattr(itch, name), getattr(host, f"feed_{name}"))
            connect(m, getattr(host, name), wiring.flipped(getattr(self, name)))
            m.d.comb += getattr(self, f"feed_{name}").eq(getattr(itch, name).valid)
        m.d.comb += [
            net.enable.eq(1), net.filters.eq(self.filters), *[x.time_ns.eq(self.time_ns) for x in (mold, itch, host)],
            itch.load.eq(self.load), itch.load_slot.eq(self.load_slot), itch.load_symbol.eq(self.load_symbol), self.gap.eq(mold.gaps.valid),
            self.abandoned.eq(itch.abandoned), host.enable.eq(1), host.push.eq(self.push), host.command.eq(self.command),
            host.first.eq(self.frames.valid & self.frames.p.first), host.last.eq(self.frames.valid & self.frames.p.last)]
        return m


def meet(seed, *, idle, pause=0.0, faults=0.0, profile="mixed", messages=100, per_packet=None):
    """Frames with a command always waiting: cycles in which something of the feed and of the host is told, and the frames."""
    rng = random.Random(seed)
    symbols = universe(SMALL, seed)
    options = {"per_packet": per_packet} if per_packet else {}
    stream = frames(Maker(seed, preset=SMALL, symbols=symbols, profile=profile).messages(messages), seed, filters=FILTERS, faults=faults, **options)
    sent = on_wire(stream.frames, rng, pause=pause, idle=idle, start=20)
    inputs = [{"time_ns": cycle} for cycle in range(sent[-1].last + 80)]
    for k, (group, port) in enumerate(FILTERS):
        for values in inputs:
            values |= {f"filters.{k}.group": group, f"filters.{k}.port": port, f"filters.{k}.on": 1}
    for k, s in enumerate(symbols):
        inputs[k] |= {"load": 1, "load_slot": s.slot, "load_symbol.locate": s.locate, "load_symbol.tracked": 1}
    for frame in sent:
        for cycle, word in frame.words(rng):
            inputs[cycle] |= {"frames.valid": 1, **{f"frames.payload.{name}": value for name, value in word.items()}}
    for cycle in range(6, len(inputs), 3):
        inputs[cycle] |= pushed(some(rng))
    outputs, fields = play(Front(), inputs)

    def at(name):
        return [cycle for cycle, word in enumerate(outputs) if fields.read(word, name)]

    feed = {name: at(f"feed_{name}") for name in ("keys", "updates", "contexts")} | {"gaps": at("gap"), "abandoned": at("abandoned")}
    due = [c for c in feed["contexts"] if fields.read(outputs[c], "contexts.payload.kind") != records.TOP_OF_BOOK] + feed["gaps"]
    host = [(cycle, fields.read(outputs[cycle], "contexts.payload.message"))
            for cycle in at("contexts.valid") if fields.read(outputs[cycle], "contexts.payload.source") == commands.HOST]
    assert len(at("contexts.valid")) == len(host) + len(feed["contexts"]), "a command and a message at once"
    return sent, feed, due, host


@pytest.mark.parametrize("name, pace", [
    ("back to back", dict(idle=(0, 0))), ("line rate", dict(idle=(5, 6), per_packet=1, profile="sweep")),
    ("pauses", dict(idle=(0, 12), pause=0.2)), ("faults", dict(idle=(0, 8), faults=0.5)), ("calm", dict(idle=(0, 80), faults=0.2, pause=0.05))])
def test_commands_and_messages_keep_their_distance(name, pace):
    print(f"seed {name!r}")
    sent, feed, due, host = meet(name, **pace)
    assert len(host) > 10 and len(feed["updates"]) > 30
    busy = sorted({*feed["keys"], *feed["updates"], *feed["abandoned"]})
    for update, message in host:
        start = update - Commands.LATENCY
        before, after = [c for c in busy if c < update], [c for c in busy if c >= update]
        assert not before or before[-1] <= start - SPACING, f"a message in cycle {before[-1]}, a command from {start}"
        assert not after or after[0] >= update + SPACING, f"a command until {update}, a message in cycle {after[0]}"
        assert not [c for c in [*feed["gaps"], *feed["contexts"]] if start <= c <= update], "two contexts at once"
        # records keep the order of what was told: joined with a top of book, or DUE cycles later
        top = {ord("A"): Book.LATENCY_ADD, ord("X"): Book.LATENCY_REMOVE, ord("D"): Book.LATENCY_REMOVE}.get(message, DUE)
        assert all((c + DUE < update + top) == (c < update) for c in due), f"records change places around cycle {update}"
    assert due or name == "line rate"      # a storm of deletes has no trades
    # a frame lets one command pass before its messages; the feed is not asked to wait, so that is all there is
    for frame, following in zip(sent, sent[1:]):
        inside = [update - Commands.LATENCY for update, _ in host if frame.cycles[0] < update - Commands.LATENCY <= frame.last]
        assert len(inside) <= 1 or following.cycles[0] - frame.cycles[0] < Commands.FIRST_KEY
        if name in ("back to back", "line rate") and len(frame.cycles) >= Commands.FIRST_KEY and frame is not sent[0]:
            starts = [start - frame.cycles[0] for start in inside]
            assert starts == [Commands.SETTLED] if name == "back to back" else len(starts) == 1 and starts[0] <= Commands.LATEST, frame.cycles[0]
