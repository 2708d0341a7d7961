"""The declared proofs hold and refute their mutants (the quick ones; the others are slow), the page lists them, and the harness believes nothing easily."""
from dataclasses import replace

import pytest
from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from tickgate_sim.formal import FormalError, engine, proof
from tickgate_sim.formal.__main__ import ROOT, _Mutated, find, main, passes, run_apart
from tickgate_sim.formal.bench import Mutant

PROOFS = find()
QUICK_MUTANT = "stream/queue/stall"


@pytest.mark.parametrize("name", [pytest.param(name, marks=() if p.quick else pytest.mark.slow) for name, p in PROOFS.items()])
def test_proof_holds(name):
    result = run_apart(PROOFS[name])
    assert passes(result), result


@pytest.mark.parametrize("name, number", [pytest.param(name, k, marks=() if name == QUICK_MUTANT else pytest.mark.slow)
                                          for name, p in PROOFS.items() for k in range(len(p.mutants))])
def test_mutant_is_refuted(name, number):
    result = run_apart(PROOFS[name], number)
    assert passes(result), result


def test_mutants_are_texts_of_the_gateware():
    for name, p in PROOFS.items():
        for mutant in p.mutants:
            source = (ROOT / "hdl" / mutant.module.replace(".", "/")).with_suffix(".py").read_text()
            assert source.count(mutant.old) == 1 and mutant.old != mutant.new, f"{name}: {mutant}"


def test_page_lists_these_proofs():
    """All but seconds: those are of the machine that wrote it."""
    rows, hop = {}, None
    for line in (ROOT / "docs" / "proofs.md").read_text().splitlines():
        hop = line.removeprefix("## ") if line.startswith("## ") else hop
        cells = [cell.strip() for cell in line.split(" | ")]
        if line.startswith("| ") and cells[0] != "| proof":
            rows[f"{hop}/{cells[0].removeprefix('| ')}"] = (cells[1], cells[2], cells[-1].removesuffix(" |"))
    assert rows == {name: (p.says, f"abc {p.engine}", f"{len(p.mutants)} of {len(p.mutants)}") for name, p in PROOFS.items()}


class Saturating(wiring.Component):
    """Counts to 5."""
    up: In(1)
    count: Out(4)

    def elaborate(self, platform):
        m = Module()
        with m.If(self.up & (self.count != 5)):
            m.d.sync += self.count.eq(self.count + 1)
        return m


def declared(function, **options):
    options = {"mutants": [("none", "a", "b")], "within": 12} | options
    return replace(proof("", **options)(function), name=function.__name__)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch, request):
    if "name" not in request.fixturenames:
        monkeypatch.setattr(engine, "BUILD", tmp_path)


@pytest.mark.parametrize("options", [{}, {"engine": "ind", "depth": 2}], ids=["pdr", "ind"])
def test_what_is_true_is_proved(options):
    def true(b):
        part = b.part(Saturating())
        b.prove("at most 5", part.count <= 5)
        b.cover("5", part.count == 5)

    assert engine.run(declared(true, **options))["status"] == "proved"


def test_bound_is_said():
    def true(b):
        part = b.part(Saturating())
        b.prove("at most 5", part.count <= 5)
        b.cover("5", part.count == 5)

    result = engine.run(declared(true, engine="bmc3", depth=9))
    assert (result["status"], result["depth"]) == ("bounded", 9)


@pytest.mark.parametrize("options", [{}, {"engine": "ind", "depth": 2, "within": 12}, {"engine": "bmc3", "depth": 9}], ids=["pdr", "ind", "bmc3"])
def test_what_is_false_is_refuted_in_its_cycle(options):
    def false(b):
        part = b.part(Saturating())
        b.prove("at most 5", part.count <= 5)
        b.prove("at most 4", part.count <= 4)
        b.cover("1", part.count == 1)

    p = declared(false, **options)
    if p.engine == "ind":                                   # shorter than the way to 5
        with pytest.raises(FormalError, match="no induction"):
            engine.run(p)
        return
    result = engine.run(p)
    assert (result["status"], result["cycle"], result["false"]) == ("refuted", 5, ["at most 4"])
    assert not passes(result) and passes(result | {"mutant": 0})
    assert (engine.BUILD / "false" / "trace.vcd").stat().st_size


def test_assumptions_count_and_contradictions_are_found():
    def contradiction(b):
        part = b.part(Saturating())
        b.assume(part.up)
        b.assume(~part.up)
        b.prove("anything", part.count == 3)
        b.cover("1", part.count <= 1)

    def idle(b):
        part = b.part(Saturating())
        b.assume(~part.up)
        b.prove("0", part.count == 0)
        b.cover("1", part.count == 1)

    assert engine.run(declared(contradiction))["status"] == "not reached within 12 cycles: 1"
    assert engine.run(declared(idle))["status"] == "not reached within 12 cycles: 1"


def test_fixed_free_and_driven():
    def kinds(b):
        part = b.part(Saturating())
        b.drive(part.up, 1)
        fixed, free, cycles = b.fixed("fixed", 3), b.free("free", 3), Signal(4)
        b.m.d.sync += cycles.eq(cycles + (cycles != 15))
        b.prove("fixed stays", b.first | (fixed == b.before(fixed, "fixed_before")))
        b.prove("driven", (cycles > 5) | (part.count == cycles))
        b.cover("fixed is any", fixed == 5)
        b.cover("free changes", ~b.first & (free != b.before(free, "free_before")))

    assert engine.run(declared(kinds))["status"] == "proved"


@pytest.mark.parametrize("old, times", [("no such text", 0), ("return", None)])
def test_mutant_needs_its_text_once(old, times):
    with pytest.raises(FormalError, match="times, not once" if times is None else "occurs 0 times"):
        _Mutated(Mutant("tickgate_hdl.stream.logic", old, "")).find_spec("tickgate_hdl.stream.logic", [str(ROOT / "hdl" / "tickgate_hdl" / "stream")])


def test_conditions_have_one_bit():
    """``~count`` is true for nearly every count."""
    with pytest.raises(ValueError, match="one bit, not 4"):
        engine.run(declared(lambda b: b.prove("not the count", ~b.part(Saturating()).count)))


def test_proof_of_nothing_is_refused():
    with pytest.raises(ValueError, match="mutant"):
        proof("", mutants=[])
    with pytest.raises(FormalError, match="something to cover"):
        engine.run(declared(lambda b: b.prove("true", 1)))


@pytest.mark.parametrize("arguments, error", [(["nowhere"], "no proof is named nowhere"), (["book", "--page", "x"], "the page is of all proofs and mutants")])
def test_errors_are_one_line(arguments, error, capsys):
    assert main(arguments) == 2
    assert capsys.readouterr().err == f"formal: {error}\n"
