"""The whole core as Verilog with a MAC, a host memory that stalls and an AXI4-Lite master: every record that arrives is the twin's, bit by bit."""
import random
from collections import deque
from dataclasses import replace
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles

from tickgate.spec import records
from tickgate.spec.clocks import cycles_between
from tickgate.spec.presets import PRESETS, TICK_SIZES
from tickgate.spec.registers import BLOCKS, MAGIC, RING
from tickgate.twin import Golden
from tickgate_hdl.board.core import Core
from tickgate_hdl.board.memory import verilog_sources
from tickgate_hdl.book.book import Book
from tickgate_hdl.book.publish import Publisher
from tickgate_hdl.feed.itch import ItchParser
from tickgate_sim.agents.host import HostMemory
from tickgate_sim.agents.mac import Mac
from tickgate_sim.agents.registers import Registers
from tickgate_sim.models.wire import packet
from tickgate_sim.rtl import simulate
from tickgate_sim.streams import Maker, frames, udp_frame, universe

PRESET = PRESETS["small"]
FILTERS = [(0xE9360C65, 26477), (0xE9360C66, 26478)]
BASE = 0x3_FFFF_F800                                # of the ring: it lies across 2^34
SEQUENCE, T_OUT = records.COMMON["sequence"], records.COMMON["t_out_ns"]
DUE = ItchParser.LATENCY + Publisher.DUE + Publisher.LATENCY
LATENCY = {code: ItchParser.LATENCY + cycles + Publisher.LATENCY
           for codes, cycles in ((b"AF", Book.LATENCY_ADD), (b"U", Book.LATENCY_REPLACE), (b"ECXD", Book.LATENCY_REMOVE)) for code in codes}


class Bench:
    """Agents, twin and comparison. ``compared`` counts records that were equal, ``missing`` those that never arrived."""

    def __init__(self, dut, *, pause=0.0, ready=1.0, size_log2=6):
        self.dut, self.rng = dut, random.Random(cocotb.RANDOM_SEED)
        self.mac = Mac(dut, self.rng, lanes=PRESET.lanes, pause=pause)
        self.registers = Registers(dut)
        self.ready, self.size_log2 = ready, size_log2
        self.compared, self.host_task = 0, None
        for name in ("rx__valid", "rx__payload", "time_ns"):
            getattr(dut, name).value = 0
        dut.rst.value = 1
        Clock(dut.clk, 4, unit="ns").start()
        cocotb.start_soon(self.mac.run())
        self.symbols = universe(PRESET, self.rng.random())
        self.symbols[0] = replace(self.symbols[0], stale=True)
        self.stale = 1 << self.symbols[0].slot      # from the start

    async def reset(self):
        """Resets the core, sets everything up and begins with a new twin."""
        dut, write = self.dut, self.registers.write
        if self.host_task:
            self.host_task.cancel()
        dut.rst.value = 1
        await ClockCycles(dut.clk, self.rng.randrange(3, 9))
        dut.rst.value = 0
        self.host = HostMemory(dut, self.rng, base=BASE, size_log2=self.size_log2, ready=self.ready)
        self.host_task = cocotb.start_soon(self.host.run())
        await ClockCycles(dut.clk, 2)
        for name, value in (("base", BASE), ("size_log2", self.size_log2), ("credit", 0), ("enable", 1)):
            await write("ring", name, value)
        for k, (group, port) in enumerate(FILTERS):
            await write("net", f"group{k}", group)
            await write("net", f"port{k}", port | 1 << 16)
        await self.wait_ready()
        await self.load()
        await write("control", "enable", 1)
        start = self.rng.choice((1, 7, (1 << 31) - 20, (1 << 64) - 2000))
        await write("mold", "start", start)
        await write("mold", "restart", 1)
        await self.begin(start=start, sequence=0)
        assert not any(value for counters in (self.types, *self.before.values()) for value in counters.values()), "a counter is not 0 after reset"

    async def load(self):
        for s in self.symbols:
            for name, value in (("locate", s.locate), ("base", s.base), ("tick", TICK_SIZES.index(s.tick)), ("flags", 1 | s.stale << 1), ("load", s.slot)):
                await self.registers.write("symbol", name, value)
        await self.registers.read("control", "ready")        # ``stale`` follows a load by some cycles

    async def type_count(self, code):
        await self.registers.write("feed", "type_select", code)
        return await self.registers.read("feed", "type_count")

    async def wait_ready(self):
        while not await self.registers.read("control", "ready"):
            pass

    async def begin(self, *, start, sequence):
        """A new twin, which expects message ``start`` and whose first record has this sequence number; counters are compared from here on."""
        self.golden = Golden(PRESET, self.symbols, FILTERS, start=start)
        self.expected, self.early = {}, deque()     # by sequence number; arrived before the twin was told
        self.next = self.last = sequence            # to compare next; to be made next
        self.missing = 0
        self.before = {block.name: await self.registers.counters(block) for block in BLOCKS if block.name in self.golden.counters}
        self.types = {code: await self.type_count(code) for code in self.rng.sample(b"AECXDU", 3)}

    async def send(self, frame, bad_fcs=False, *, dropped=False):
        """A frame through the core and the twin; ``dropped``: the card takes no frames now."""
        cycles = await self.mac.send(frame, bad_fcs)
        if not dropped:
            self.golden.frame(frame, bad_fcs, cycles=cycles)
        for row in self.golden.take():
            self.expected[self.last] = row.tobytes()
            self.last += 1
        self.collect()

    def collect(self):
        self.early.extend(self.host.take())
        while self.early and int.from_bytes(self.early[0][SEQUENCE.offset:SEQUENCE.end], "little") < self.last:
            self._compare(self.early.popleft())

    def _compare(self, raw):
        got = records.COMMON.decode(raw)
        sequence = got["sequence"]
        assert sequence >= self.next, f"record {sequence} after {self.next - 1}"
        self.missing += sequence - self.next
        self.next = sequence + 1
        want = bytearray(self.expected.pop(sequence))
        want[SEQUENCE.offset:SEQUENCE.end] = sequence.to_bytes(SEQUENCE.size, "little")
        want[T_OUT.offset:T_OUT.end] = raw[T_OUT.offset:T_OUT.end]      # the twin has none: checked below
        if raw != want:
            want = records.COMMON.decode(bytes(want))
            raise AssertionError(f"record {sequence}: " + ", ".join(f"{k} {got[k]}, not {want[k]}" for k in got if got[k] != want[k]))
        if got["kind"] != records.GAP:
            latency = cycles_between(got["t_wire_ns"], got["t_out_ns"])
            assert latency == (LATENCY[got["message"]] if got["kind"] == records.TOP_OF_BOOK else DUE), f"record {sequence}: {latency} cycles"
        self.compared += 1

    async def credit(self):
        await self.registers.write("ring", "credit", self.host.taken)

    async def stream(self, profile, count, *, faults=0.0, plain=False, credit=True):
        """Random frames from where the feed is; the host gives credit after each if it should. The twin's session goes on."""
        rng, golden = self.rng, self.golden
        messages = Maker(rng.random(), preset=PRESET, symbols=self.symbols, profile=profile).messages(count)
        for frame, bad_fcs in frames(messages, rng.random(), filters=FILTERS, start=golden.expected, session=golden.session or b"0000000001",
                                     faults=faults, plain=plain).frames:
            await self.send(frame, bad_fcs)
            if credit:
                await self.credit()

    async def settle(self):
        """Until nothing is under way."""
        for _ in range(20):
            await ClockCycles(self.dut.clk, 20)
            self.collect()
        assert not self.early, "records that the twin does not have"

    async def check(self):
        """At the end: counters, stale slots and what the feed is at; and every record is there or counted as dropped."""
        await self.settle()
        self.missing += self.last - self.next
        golden, read = self.golden, self.registers.read
        for block in BLOCKS:
            if block.name in golden.counters:
                now, before = await self.registers.counters(block), self.before[block.name]
                assert {name: now[name] - before[name] for name in now} == golden.counters[block.name], block.name
        assert {s.slot for s in self.symbols if await read("symbol", "stale") >> s.slot & 1} == golden.stale
        assert await read("mold", "expected") == golden.expected
        session = await read("mold", "session_low") | await read("mold", "session_high") << 64
        assert session.to_bytes(10, "little") == golden.session
        for code, before in self.types.items():
            assert await self.type_count(code) - before == golden.type_count.get(code, 0)
        ring = await self.registers.counters(RING)
        assert ring["records"] == self.last
        assert sum(value for name, value in ring.items() if name != "records") == self.missing == self.last - await read("ring", "written")
        assert self.compared, "nothing was compared"
        return ring


def no_drops(ring):
    return all(value == 0 for name, value in ring.items() if name != "records")


async def equal(dut, profile, count, *, faults=0.0, plain=False, **pace):
    bench = Bench(dut, **pace)
    await bench.reset()
    assert await bench.registers.read("id", "magic") == MAGIC and await bench.registers.read("id", "symbols") == PRESET.symbols
    await bench.stream(profile, count, faults=faults, plain=plain)
    assert no_drops(await bench.check()) and bench.compared > count // 2
    assert bench.compared > 2 << bench.size_log2, "too few laps"


@cocotb.test(timeout_time=200, timeout_unit="us")
async def everything_on_a_feed(dut):
    await equal(dut, "mixed", 400, ready=0.5)


@cocotb.test(timeout_time=200, timeout_unit="us")
async def every_message_at_the_best_and_frames_back_to_back(dut):
    await equal(dut, "storm", 400, plain=True)


@cocotb.test(timeout_time=400, timeout_unit="us")
async def everything_wrong_with_messages_and_frames(dut):
    await equal(dut, "faults", 500, faults=0.4, pause=0.05, ready=0.5)


@cocotb.test(timeout_time=400, timeout_unit="us")
async def slow_line_and_slow_host(dut):
    await equal(dut, "collide", 300, faults=0.1, pause=0.4, ready=0.3)


@cocotb.test(timeout_time=400, timeout_unit="us")
async def reset_in_the_middle(dut):
    """Whatever was under way is gone, and the core is as new."""
    bench = Bench(dut, ready=0.5)
    for count in (60, 40, 200):
        await bench.reset()
        await bench.stream("mixed", count)
        if count != 200:
            frame = cocotb.start_soon(bench.mac.send(bench.rng.randbytes(400)))
            messages = Maker(count, preset=PRESET, symbols=bench.symbols, profile="storm").messages(20)
            tail = cocotb.start_soon(bench.mac.send(frames(messages, count, filters=FILTERS, start=bench.golden.expected, per_packet=20).frames[-1][0]))
            await ClockCycles(dut.clk, bench.rng.randrange(100, 170))
            for task in (frame, tail):
                task.cancel()
            bench.mac.forget()
    assert no_drops(await bench.check()) and bench.compared > 200


@cocotb.test(timeout_time=400, timeout_unit="us")
async def disabled_in_the_middle(dut):
    """A frame that has begun goes through; what begins while the card is disabled is dropped and counted, and missed afterwards."""
    bench = Bench(dut, ready=0.7)
    await bench.reset()
    await bench.stream("mixed", 100)
    golden = bench.golden
    messages = Maker("disabled", preset=PRESET, symbols=bench.symbols, profile="storm").messages(100)
    long_frame = udp_frame(packet(messages[:30], golden.expected), FILTERS[1])
    sending = cocotb.start_soon(bench.send(long_frame))
    await ClockCycles(dut.clk, 10)
    await bench.registers.write("control", "enable", 0)
    assert not sending.done(), "the frame was too short for this"
    await sending
    lost = 5
    dropped = [udp_frame(packet([message], golden.expected + k), FILTERS[0]) for k, message in enumerate(messages[30:30 + lost])]
    for frame in dropped:
        await bench.send(frame, dropped=True)
    assert await bench.registers.read("net", "not_ready") == len(dropped)
    for name in ("frames", "not_ready"):
        bench.before["net"][name] += len(dropped)           # the twin is always enabled
    await bench.registers.write("control", "enable", 1)
    await bench.credit()
    for frame, bad_fcs in frames(messages[30 + lost:], 2, filters=FILTERS, start=golden.expected + lost, session=golden.session).frames:
        await bench.send(frame, bad_fcs)
        await bench.credit()
    assert golden.counters["mold"]["missing"] == lost
    assert no_drops(await bench.check()) and bench.compared > 120


@cocotb.test(timeout_time=400, timeout_unit="us")
async def cleared_in_the_middle(dut):
    """Books and states are as after reset, every symbol is stale until it is loaded again; the feed and the sequence of records go on."""
    bench = Bench(dut)
    await bench.reset()
    await bench.stream("faults", 150)
    await bench.settle()
    assert bench.golden.live and bench.golden.stale and bench.missing == 0
    await bench.registers.write("control", "clear", 1)
    assert not await bench.registers.read("control", "ready")
    await bench.wait_ready()
    assert await bench.registers.read("symbol", "stale") == (1 << PRESET.symbols) - 1
    await bench.load()
    assert await bench.registers.read("symbol", "stale") == bench.stale
    await bench.begin(start=bench.golden.expected, sequence=bench.last)
    await bench.stream("mixed", 150)
    assert no_drops(await bench.check()) and bench.compared > 200


@cocotb.test(timeout_time=400, timeout_unit="us")
async def nothing_is_trusted_too_early(dut):
    """After messages, a symbol that is loaded is stale, and a restart makes all of them stale: until memories are cleared and symbols loaded."""
    bench = Bench(dut)
    await bench.reset()
    every = (1 << PRESET.symbols) - 1
    await bench.registers.write("mold", "restart", 1)
    assert await bench.registers.read("symbol", "stale") == bench.stale, "nothing was missed before the first message"
    await bench.stream("mixed", 60)
    await bench.settle()
    assert await bench.registers.read("symbol", "stale") == bench.stale
    await bench.load()
    assert await bench.registers.read("symbol", "stale") == every
    await bench.registers.write("control", "clear", 1)
    await bench.wait_ready()
    await bench.load()
    assert await bench.registers.read("symbol", "stale") == bench.stale
    await bench.begin(start=bench.golden.expected, sequence=bench.last)
    await bench.stream("mixed", 60)
    await bench.registers.write("mold", "restart", 1)
    assert await bench.registers.read("symbol", "stale") == every


@cocotb.test(timeout_time=400, timeout_unit="us")
async def full_ring(dut):
    """Without credit the ring fills and drops, the path goes on; with credit it takes records again, and the numbers show the hole."""
    bench = Bench(dut, size_log2=4)
    await bench.reset()
    await bench.stream("storm", 60, credit=False)
    await bench.settle()
    assert bench.compared == 1 << 4 and bench.missing == 0
    await bench.credit()
    await bench.stream("storm", 100)
    ring = await bench.check()
    assert ring["dropped_full"] == bench.missing > 30 and bench.compared > 60


@cocotb.test(timeout_time=400, timeout_unit="us")
async def host_port_stands_still(dut):
    """32 records wait for the port, more are dropped; and none is taken while the ring is off."""
    bench = Bench(dut, size_log2=7)
    await bench.reset()
    bench.host.ready = 0.0
    await bench.stream("storm", 60)
    bench.host.ready = 1.0
    await bench.settle()
    assert bench.compared == 32
    await bench.registers.write("ring", "enable", 0)
    await bench.stream("storm", 30)
    await bench.settle()
    await bench.registers.write("ring", "enable", 1)
    await bench.stream("storm", 40)
    ring = await bench.check()
    assert ring["dropped_busy"] > 15 and ring["dropped_off"] > 15 and bench.compared > 60


def test_core_rtl():
    simulate(Core(PRESET), __file__, platform="verilator", sources=[*verilog_sources(), Path(__file__).with_name("core.vlt")])
