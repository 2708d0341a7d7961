"""The register file behind AXI4-Lite, with cocotbext-axi as the master and stalls on every channel."""
import logging
import random
from itertools import repeat

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiResp

from tickgate.spec.registers import ADDRESS_BITS, BLOCKS
from tickgate_hdl.csr.axi import AxiLiteSlave
from tickgate_hdl.csr.file import RegisterFile
from tickgate_sim.rtl import simulate

REGISTERS = [(block, address, register) for block in BLOCKS for address, register in block.offsets()]
CHANNELS = ("aw", "w", "b", "ar", "r")


class TB:
    """Clock, reset, master, and a monitor that holds the slave to the handshake rules."""

    def __init__(self, dut):
        self.dut = dut
        self.rng = random.Random(cocotb.RANDOM_SEED)
        self.answers = 0

    async def start(self, *, master=True, stalls=0.0):
        dut = self.dut
        for block, _, register in REGISTERS:
            if register.access in ("ro", "count"):
                self.port(block, register).value = 0
        for name in ("awvalid", "wvalid", "bready", "arvalid", "rready", "awaddr", "wdata", "wstrb", "araddr"):
            getattr(dut, f"csr__{name}").value = 0
        Clock(dut.clk, 4, unit="ns").start()
        dut.rst.value = 1
        await self.cycles(3)
        if master:
            logging.getLogger(f"cocotb.{dut._name}.csr_").setLevel(logging.WARNING)  # it tells every access
            self.master = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "csr_"), dut.clk, dut.rst)
            for name in CHANNELS:
                interface = self.master.write_if if name in ("aw", "w", "b") else self.master.read_if
                rng = random.Random(self.rng.random())
                getattr(interface, f"{name}_channel").set_pause_generator(rng.random() < stalls for _ in repeat(None))
        await RisingEdge(dut.clk)
        dut.rst.value = 0
        await self.cycles(2)
        cocotb.start_soon(self._monitor())

    async def _monitor(self):
        """An answer that was offered stays as it is until it is taken."""
        dut, held = self.dut, {}
        while True:
            await ReadOnly()
            for channel, payload in (("b", ("bresp",)), ("r", ("rdata", "rresp"))):
                valid, ready = (int(getattr(dut, f"csr__{channel}{name}").value) for name in ("valid", "ready"))
                now = [int(getattr(dut, f"csr__{name}").value) for name in payload]
                if channel in held:
                    assert valid and now == held[channel], f"channel {channel} changed while it was stalled"
                held.pop(channel, None)
                if valid and not ready:
                    held[channel] = now
                self.answers += valid and ready
            await RisingEdge(dut.clk)

    async def cycles(self, n):
        for _ in range(n):
            await RisingEdge(self.dut.clk)

    def port(self, block, register, suffix=""):
        return getattr(self.dut, f"{block.name}__{register.name}{suffix}")

    async def write(self, address, value, words=1):
        for k in range(words):
            answer = await self.master.write(address + 4 * k, (value >> 32 * k & 0xFFFFFFFF).to_bytes(4, "little"))
            assert answer.resp == AxiResp.OKAY

    async def read(self, address, words=1):
        answers = [await self.master.read(address + 4 * k, 4) for k in range(words)]
        assert all(answer.resp == AxiResp.OKAY for answer in answers)
        return sum(int.from_bytes(answer.data, "little") << 32 * k for k, answer in enumerate(answers))


async def every_register(dut, stalls):
    tb = TB(dut)
    await tb.start(stalls=stalls)
    values = {}
    strobes = {(block.name, r.name): [] for block, _, r in REGISTERS if r.access == "wo"}

    async def watch():
        while True:
            await ReadOnly()
            for block, _, r in REGISTERS:
                if r.access == "wo" and tb.port(block, r, "_strobe").value:
                    strobes[block.name, r.name].append(int(tb.port(block, r).value))
            await RisingEdge(dut.clk)

    cocotb.start_soon(watch())
    for block, address, r in REGISTERS:
        if r.access == "rw":
            assert await tb.read(address, r.words) == r.reset == int(tb.port(block, r).value), f"{block.name}.{r.name} after reset"
    order = tb.rng.sample(REGISTERS, len(REGISTERS))
    for block, address, r in order:
        values[block.name, r.name] = value = tb.rng.getrandbits(r.width)
        if r.access == "ro":
            tb.port(block, r).value = value
            await tb.write(address, ~value & (1 << r.width) - 1, r.words)  # changes nothing
        elif r.access in ("rw", "wo"):
            await tb.write(address, value, r.words)
    compared = 0
    for block, address, r in order:
        value = values[block.name, r.name]
        if r.access in ("rw", "ro"):
            assert await tb.read(address, r.words) == value, f"{block.name}.{r.name}"
            compared += 1
        if r.access == "rw":
            assert int(tb.port(block, r).value) == value
        if r.access == "wo":
            assert await tb.read(address, r.words) == 0 and strobes[block.name, r.name] == [value]
    assert compared > 30 and tb.answers > 100


@cocotb.test(timeout_time=200, timeout_unit="us")
async def every_register_at_full_speed(dut):
    await every_register(dut, 0.0)


@cocotb.test(timeout_time=400, timeout_unit="us")
async def every_register_with_stalls(dut):
    await every_register(dut, 0.6)


@cocotb.test(timeout_time=200, timeout_unit="us")
async def counters_count_while_they_are_read(dut):
    tb = TB(dut)
    await tb.start(stalls=0.3)
    counters = [(block, address, r) for block, address, r in REGISTERS if r.access == "count"]
    totals = dict.fromkeys(((block.name, r.name) for block, _, r in counters), 0)

    async def drive():
        for _ in range(600):
            for block, _, r in counters:
                step = tb.rng.getrandbits(min(r.step, 34))  # 600 of them do not fill 48 bits
                tb.port(block, r).value = step
                totals[block.name, r.name] += step
            await RisingEdge(dut.clk)
        for block, _, r in counters:
            tb.port(block, r).value = 0

    driver, last = cocotb.start_soon(drive()), 0
    block, address, r = max(counters, key=lambda c: c[2].step)  # its high word changes all the time
    assert r.step > 32
    while not driver.done():
        before = totals[block.name, r.name]
        value = await tb.read(address, r.words)
        assert last <= value <= totals[block.name, r.name] and value >= before - 4 * 2**34
        last = value
    await driver
    await tb.cycles(3)
    for block, address, r in counters:
        assert await tb.read(address, r.words) == totals[block.name, r.name] > 100, f"{block.name}.{r.name}"


@cocotb.test(timeout_time=100, timeout_unit="us")
async def part_of_a_word_is_refused_and_holes_are_harmless(dut):
    tb = TB(dut)
    await tb.start(stalls=0.2)
    block, address, r = next(c for c in REGISTERS if c[2].access == "rw" and c[2].width == 32)
    await tb.write(address, 0x11223344)
    for offset, size in ((0, 1), (0, 2), (1, 2), (3, 1), (0, 3), (1, 3)):
        answer = await tb.master.write(address + offset, b"\xFF" * size)
        assert answer.resp == AxiResp.SLVERR
        assert await tb.read(address) == 0x11223344 == int(tb.port(block, r).value)
    owned = {a + 4 * k for _, a, register in REGISTERS for k in range(register.words)}
    holes = [a for a in range(0, 1 << ADDRESS_BITS, 4) if a not in owned]
    for hole in tb.rng.sample(holes, 40):
        await tb.write(hole, 0xFFFFFFFF)
        assert await tb.read(hole) == 0
    assert await tb.read(address) == 0x11223344


@cocotb.test(timeout_time=20, timeout_unit="us")
async def channels_do_not_wait_for_each_other(dut):
    """Data before address, address before data, an answer nobody takes while the other kind goes on; and the documented latencies."""
    tb = TB(dut)
    await tb.start(master=False)
    block, address, r = next(c for c in REGISTERS if c[2].access == "rw" and c[2].width == 32)
    other = next(a for _, a, register in REGISTERS if register.access == "ro")

    async def offer(channel, **payload):
        for name, value in payload.items():
            getattr(dut, f"csr__{name}").value = value
        getattr(dut, f"csr__{channel}valid").value = 1
        await RisingEdge(dut.clk)
        while not getattr(dut, f"csr__{channel}ready").value:
            await RisingEdge(dut.clk)
        getattr(dut, f"csr__{channel}valid").value = 0

    async def wait(name):
        cycles = 0
        await ReadOnly()
        while not getattr(dut, f"csr__{name}").value:
            await RisingEdge(dut.clk)
            await ReadOnly()
            cycles += 1
        await RisingEdge(dut.clk)
        return cycles

    for first, second in (("w", "aw"), ("aw", "w")):
        value = tb.rng.getrandbits(32)
        for channel in (first, second):
            assert not dut.csr__bvalid.value
            await offer(channel, **(dict(awaddr=address) if channel == "aw" else dict(wdata=value, wstrb=15)))
            last = channel == second
            if not last:
                await tb.cycles(5)
        assert await wait("bvalid") == AxiLiteSlave.WRITE_LATENCY - 1
        # nobody takes the answer: a read goes through all the same, twice
        for _ in range(2):
            await offer("ar", araddr=address)
            assert await wait("rvalid") == AxiLiteSlave.READ_LATENCY - 1
            assert int(dut.csr__rdata.value) == value and dut.csr__bvalid.value
            dut.csr__rready.value = 1
            await tb.cycles(1)
            dut.csr__rready.value = 0
        dut.csr__bready.value = 1
        await tb.cycles(2)
        dut.csr__bready.value = 0

    await offer("ar", araddr=other)  # nobody takes this one: writes go on
    await wait("rvalid")
    for value in (1, 2, 3):
        await offer("aw", awaddr=address)
        await offer("w", wdata=value, wstrb=15)
        await wait("bvalid")
        dut.csr__bready.value = 1
        await tb.cycles(1)
        dut.csr__bready.value = 0
    await tb.cycles(2)
    assert int(tb.port(block, r).value) == 3 and dut.csr__rvalid.value

    # a second read and a second write are taken, but do not disturb the answers that still wait
    await offer("ar", araddr=address)
    for strobes in (15, 7):
        await offer("aw", awaddr=address)
        await offer("w", wdata=4, wstrb=strobes)
    await tb.cycles(10)
    for channel, answers in (("r", (("rdata", 0), ("rdata", 4))), ("b", (("bresp", AxiResp.OKAY), ("bresp", AxiResp.SLVERR)))):
        for name, value in answers:
            await wait(f"{channel}valid")
            assert int(getattr(dut, f"csr__{name}").value) == value
            getattr(dut, f"csr__{channel}ready").value = 1
            await tb.cycles(1)
            getattr(dut, f"csr__{channel}ready").value = 0
            await tb.cycles(1)


def test_registers_rtl():
    simulate(RegisterFile(), __file__)
