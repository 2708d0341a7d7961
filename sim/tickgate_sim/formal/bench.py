"""What a proof is made of: its declaration, and the bench that its function fills."""
from dataclasses import dataclass

from amaranth import Cat, ClockDomain, Module, Mux, Signal, Value
from amaranth.lib import wiring

ENGINES = ("pdr", "ind", "bmc3")


class FormalError(Exception):
    """A proof that cannot be run; one line."""


@dataclass(frozen=True)
class Mutant:
    """``old``, which occurs once in the source of ``module``, becomes ``new``."""

    module: str
    old: str
    new: str


@dataclass(frozen=True, kw_only=True)
class Proof:
    """A declared proof. ``says``: in words, for docs/proofs.md. ``depth``: cycles of ``bmc3`` and ``ind``. ``within``: cycles in which covers are reached
    and mutants refuted. ``seconds``: limit of each question to the engine."""

    function: object
    says: str
    engine: str
    depth: int | None
    within: int
    mutants: tuple
    quick: bool
    seconds: int
    name: str = ""

    @property
    def mode(self):
        return "bmc" if self.engine == "bmc3" else "prove"


def proof(says, *, mutants, engine="pdr", depth=None, within=None, quick=False, seconds=600):
    """Declare a proof; see ``Proof``. ``mutants``: triples (module, old, new). ``quick``: belongs to the sample of the default tests."""
    if engine not in ENGINES:
        raise ValueError(f"engine must be one of {', '.join(ENGINES)}, not {engine}")
    if (engine == "pdr") != (depth is None):
        raise ValueError("pdr takes no depth, the others do")
    if not mutants:
        raise ValueError("a proof needs a mutant that it refutes")

    def declare(function):
        return Proof(function=function, says=says, engine=engine, depth=depth, within=within or depth or 20,
                     mutants=tuple(Mutant(*m) for m in mutants), quick=quick, seconds=seconds)
    return declare


class Bench:
    """Where a part is put for a proof; ``m`` is the module around it."""

    def __init__(self):
        self.m = Module()
        self.m.submodules.bench = self._plain = Module()    # statements of these methods hold wherever they are called, inside an If of ``m`` too
        self.m.domains.sync = self.clock = ClockDomain("sync", reset_less=True)
        self.first = Signal(init=1)         # the first cycle
        self._plain.d.sync += self.first.eq(0)
        self._inputs, self._driven, self._given, self.properties, self.covers = [], [], [], {}, {}

    def part(self, part, name="part", inside=None):
        """Add ``part``; its inputs are free. ``inside``: what it elaborates to, when that was done before."""
        self.m.submodules[name] = part if inside is None else inside
        for path, member, value in part.signature.flatten(part):
            signal = Value.cast(value)
            if member.flow == wiring.In and isinstance(signal, Signal):   # the ready of a stream that never waits is a constant
                signal.name = "__".join((name, *map(str, path)))
                self._inputs.append(signal)
        return part

    def drive(self, signal, value):
        """An input of a part that is not free."""
        self._driven.append(Value.cast(signal))
        self._plain.d.comb += Value.cast(signal).eq(value)

    def free(self, name, shape=1):
        """Any value in any cycle."""
        signal = Signal(shape, name=name)
        self._inputs.append(Value.cast(signal))
        return signal

    def fixed(self, name, shape=1):
        """Any value, the same for ever."""
        chosen = Value.cast(self.free(f"{name}_chosen", shape))
        kept, signal = Signal(len(chosen), name=f"{name}_kept"), Signal(shape, name=name)
        self._plain.d.sync += kept.eq(Value.cast(signal))
        self._plain.d.comb += Value.cast(signal).eq(Mux(self.first, chosen, kept))
        return signal

    def before(self, value, name, cycles=1):
        """``value`` some cycles ago; 0 before the start."""
        for k in range(cycles):
            register = Signal(value.shape(), name=f"{name}_{k + 1}")
            self._plain.d.sync += register.eq(value)
            value = register
        return value

    def assume(self, condition):
        """What the part may rely on. Nothing is claimed from the cycle on in which it is false."""
        self._given.append(_bool(condition, "assumed", len(self._given), self._plain))

    def prove(self, name, condition):
        """``name`` in words: ``condition`` holds in every cycle."""
        if name in self.properties:
            raise ValueError(f"two properties are named {name}")
        self.properties[name] = _bool(condition, "property", len(self.properties), self._plain)

    def cover(self, name, condition):
        """``name`` in words: there is a run in which ``condition`` comes true."""
        self.covers[name] = _bool(condition, "cover", len(self.covers), self._plain)

    def finish(self):
        """The ports of the top: inputs, then ``bad`` and one output a cover."""
        if not self.properties or not self.covers:
            raise FormalError("a proof needs something to prove and something to cover")
        held, holds, bad = Signal(init=1, name="assumptions_held"), Signal(name="assumptions_hold"), Signal(name="bad")
        self._plain.d.comb += [holds.eq(held & Cat(self._given, 1).all()), bad.eq(holds & ~Cat(self.properties.values()).all())]
        self._plain.d.sync += held.eq(holds)
        self.outputs = [bad]
        for k, condition in enumerate(self.covers.values()):
            output = Signal(name=f"reached_{k}")
            self._plain.d.comb += output.eq(holds & condition)
            self.outputs.append(output)
        driven = {id(signal) for signal in self._driven}
        self.inputs = [signal for signal in self._inputs if id(signal) not in driven]
        names = [signal.name for signal in self._inputs]
        if len(set(names)) != len(names):
            raise FormalError(f"two inputs are named {max(names, key=names.count)}")


def _bool(condition, kind, k, m):
    condition, signal = Value.cast(condition), Signal(name=f"{kind}_{k}")
    if len(condition) != 1:                                 # ~ of a wider one would nearly always be true
        raise ValueError(f"{kind} {k}: a condition has one bit, not {len(condition)}")
    m.d.comb += signal.eq(condition)
    return signal
