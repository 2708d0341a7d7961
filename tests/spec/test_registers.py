"""The register table, and what its check refuses."""
import pytest

from tickgate.spec import registers
from tickgate.spec.layout import LayoutError
from tickgate.spec.registers import BLOCKS, Block, Register


def test_addresses_are_words_that_nobody_else_has():
    words = [(address + 4 * k, f"{block.name}.{r.name}") for block in BLOCKS for address, r in block.offsets() for k in range(r.words)]
    assert len({address for address, _ in words}) == len(words) > 80
    assert all(address % 4 == 0 for address, _ in words)
    for block in BLOCKS:
        for address, r in block.offsets():
            assert block.address(r.name) == address and block.base <= address < block.base + block.size


@pytest.mark.parametrize("blocks, message", [
    ((Block("a", 0, 0x40, ()), Block("b", 0x20, 0x40, ())), "register block b overlaps"),
    ((Block("a", 0, 8, (Register("x", "rw", 64, unit="u"), Register("y", "rw", unit="u"))),), "register a.y does not fit its block"),
    ((Block("a", 0, 8, (Register("x", "rw", unit="u"), Register("x", "rw", unit="u"))),), "register a.x is declared twice"),
    ((Block("a", 0, 8, (Register("x", "rx", unit="u"),)),), "a.x: unknown access 'rx'"),
    ((Block("a", 0, 8, (Register("x", "rw", 65, unit="u"),)),), "a.x: width 65"),
    ((Block("a", 0, 8, (Register("x", "rw", 4, reset=16, unit="u"),)),), "reset 16 out of range"),
    ((Block("a", 0, 8, (Register("x", "rw"),)),), "register a.x has no unit"),
    ((Block("a", 0, 0x2000, ()),), "beyond 12 address bits"),
    ((Block("a", 0, 8, (Register("x", "rw", 2, unit="bits", bits=(("f", 0, ""), ("f", 1, ""))),)),), "register a.x: a flag is declared twice"),
    ((Block("a", 0, 8, (Register("x", "rw", 2, unit="bits", bits=(("f", 1, ""), ("g", 1, ""))),)),), "register a.x: a bit is declared twice"),
    ((Block("a", 0, 8, (Register("x", "rw", 2, unit="bits", bits=(("f", 2, ""),)),)),), "register a.x has no bit 2"),
])
def test_a_map_that_contradicts_itself_is_refused(monkeypatch, blocks, message):
    monkeypatch.setattr(registers, "BLOCKS", blocks)
    with pytest.raises(LayoutError, match=message):
        registers._check()


def test_flags_by_name():
    flags = registers.SYMBOL["flags"]
    assert (flags.name, flags.bit("stale"), flags.mask("stale"), flags.mask("track")) == ("flags", 1, 2, 1)
    assert registers.NET["port3"].mask("in_use") == 1 << 16
