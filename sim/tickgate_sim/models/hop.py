"""A hop alone: a script of what goes in and what must come out, cycle by cycle, played in the Amaranth simulator or against Verilog."""
import random
from collections import defaultdict

from amaranth import Module, Shape
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from tickgate.spec.clocks import ns_of_cycle

from ..stream import run


class Fields:
    """Fields of a layout by dotted name, and the structs they lie in, as bits of one integer."""

    def __init__(self, layout):
        self.width, self._place = layout.size, {}
        self._walk("", layout, 0)

    def _walk(self, prefix, layout, base):
        for key, field in layout:
            name, offset = f"{prefix}{key}", base + field.offset
            self._place[name] = offset, (1 << Shape.cast(field.shape).width) - 1
            try:
                inner = data.Layout.cast(field.shape)
            except TypeError:
                continue
            self._walk(f"{name}.", inner, offset)

    def read(self, word, name):
        """The value of field ``name`` in ``word``."""
        offset, ones = self._place[name]
        return word >> offset & ones

    def write(self, word, name, value):
        """``word`` with field ``name`` set to ``value``; ``ValueError`` when it does not fit."""
        offset, ones = self._place[name]
        if value & ~ones:
            raise ValueError(f"{name} holds up to {ones:#x}, not {value:#x}")
        return word & ~(ones << offset) | int(value) << offset

    def mask(self, names):
        """All bits of the named fields."""
        bits = 0
        for name in names:
            offset, ones = self._place[name]
            bits |= ones << offset
        return bits


class Isolated(wiring.Component):
    """``hop`` between one struct of all that goes in, ``i``, and one of all that comes out, ``o``; a stream is a struct of valid and payload in it.

    One vector each way makes a cycle one write and one read, and the Verilog back end takes it as a top, which always-ready streams are not.
    """

    def __init__(self, hop):
        self.hop = hop
        shapes = {In: {}, Out: {}}
        for name, member in hop.signature.members.items():
            if member.is_port:
                shapes[member.flow][name] = member.shape
            elif "payload" not in member.signature.members:     # ports of both directions: a struct of each
                for flow in (In, Out):
                    shapes[flow][name] = data.StructLayout({n: x.shape for n, x in member.signature.members.items() if x.flow == flow})
            else:
                shapes[member.flow][name] = data.StructLayout({"valid": 1, "payload": member.signature.members["payload"].shape})
        super().__init__({"i": In(data.StructLayout(shapes[In])), "o": Out(data.StructLayout(shapes[Out]))})
        self.inputs, self.outputs = Fields(self.i.shape()), Fields(self.o.shape())

    def elaborate(self, platform):
        m = Module()
        m.submodules.hop = hop = self.hop
        for name, member in hop.signature.members.items():
            if not member.is_port and "payload" not in member.signature.members:
                for n, x in member.signature.members.items():
                    inside = getattr(getattr(hop, name), n)
                    m.d.comb += inside.eq(self.i[name][n]) if x.flow == In else self.o[name][n].eq(inside)
                continue
            outer, inner = (self.i if member.flow == In else self.o)[name], getattr(hop, name)
            pairs = [(outer, inner)] if member.is_port else [(outer.valid, inner.valid), (outer.payload, inner.payload)]
            m.d.comb += [b.eq(a) if member.flow == In else a.eq(b) for a, b in pairs]
        return m


class Script:
    """Stimulus and expectation of a hop, by cycle and dotted name (``datagrams.payload.left``).

    What is not driven is random: payloads beside a valid too. ``resting``: inputs that have a value when nothing else is said. ``quiet``: outputs that are 0
    in every cycle that does not say otherwise; all other outputs are compared where something is expected only.
    """

    resting = {}
    quiet = ()

    def __init__(self, seed, cycles):
        self.rng = random.Random(f"script {seed}")
        self.cycles = cycles
        self._driven, self.expected = defaultdict(dict), defaultdict(dict)
        self._counted = []
        self.compared = 0

    def drive(self, cycle, values):
        self._driven[cycle].update(values)

    def expect(self, cycle, values):
        """Outputs of a cycle; ``None``: anything goes, where otherwise 0 would be expected. Saying two things of one output is an error."""
        if not 0 <= cycle < self.cycles:
            raise ValueError(f"cycle {cycle} is outside the script's {self.cycles}")
        for name, value in values.items():
            if self.expected[cycle].setdefault(name, value) != value:
                raise ValueError(f"cycle {cycle}: {name} is expected to be {value} and {self.expected[cycle][name]}")

    def expect_counts(self, start, end, counts):
        """What the counters of ``events`` add up to in cycles ``start`` to ``end - 1``."""
        self._counted.append((start, end, counts))

    def time_ns(self, cycle):
        """Card time of a cycle: any that is different in each."""
        return (1 << 60) + ns_of_cycle(cycle)

    def words(self, fields):
        """Generator of the input of each cycle."""
        for cycle in range(self.cycles):
            word = self.rng.getrandbits(fields.width)
            for name, value in {**self.resting, **self._driven[cycle]}.items():
                word = fields.write(word, name, value)
            yield word

    def check(self, fields, outputs):
        """Compare the outputs of all cycles; an assertion error names the first that differs."""
        if len(outputs) != self.cycles:
            raise AssertionError(f"{len(outputs)} cycles of output for a script of {self.cycles}")
        quiet = fields.mask(self.quiet)
        for cycle, word in enumerate(outputs):
            wanted = self.expected.get(cycle, {})
            for name in self.quiet if wanted or word & quiet else ():
                if name not in wanted:
                    assert not fields.read(word, name), f"cycle {cycle}: {name} is {fields.read(word, name):#x} where nothing was expected"
            for name, value in wanted.items():
                if value is not None:
                    got = fields.read(word, name)
                    assert got == value, f"cycle {cycle}: {name} is {got:#x}, expected {value:#x}"
                    self.compared += 1
        for start, end, counts in self._counted:
            got = {name: sum(fields.read(word, f"events.{name}") for word in outputs[start:end]) for name in counts}
            assert got == counts, f"cycles {start} to {end - 1}: {({n: (got[n], counts[n]) for n in counts if got[n] != counts[n]})} (got, expected)"
            self.compared += 1
        assert self.compared, "nothing was compared"


def play(hop, script):
    """Play ``script`` on ``hop`` in the Amaranth simulator and check what comes out; returns the output words and their ``Fields``."""
    bench, outputs = Isolated(hop), []

    async def body(ctx):
        for word in script.words(bench.inputs):
            ctx.set(bench.i.as_value(), word)
            *_, out = await ctx.tick().sample(bench.o.as_value())
            outputs.append(out)

    run(bench, body, max_cycles=script.cycles + 1)
    script.check(bench.outputs, outputs)
    return outputs, bench.outputs


async def play_rtl(dut, hop, script):
    """The same in cocotb, on a ``dut`` made of ``Isolated(hop)``; it is reset first."""
    from cocotb.clock import Clock
    from cocotb.triggers import ReadOnly, RisingEdge
    bench, outputs = Isolated(hop), []
    dut.i.value = 0
    dut.rst.value = 1
    Clock(dut.clk, 4, unit="ns").start()
    await RisingEdge(dut.clk)
    await RisingEdge(dut.clk)
    dut.rst.value = 0
    for word in script.words(bench.inputs):
        dut.i.value = word
        await ReadOnly()
        outputs.append(int(dut.o.value))
        await RisingEdge(dut.clk)
    script.check(bench.outputs, outputs)
