"""Registers as attributes, made from the table of ``tickgate.spec.registers``."""
from functools import lru_cache

from .errors import CardError


class Registers:
    """The registers of one block: reading an attribute reads the card, setting it writes.

    ``rw`` can do both, ``ro`` and ``count`` can be read, ``wo`` can be set. A register of two words is read as one, in the order that the card
    keeps together. Raises ``CardError`` for a value that does not fit, and for a read or write that the register does not have.
    """

    __slots__ = ("_device",)

    def __init__(self, device):
        self._device = device


@lru_cache
def registers_of(block):
    """The subclass of ``Registers`` for a block of the register table."""
    members = {register.name: _attribute(block, address, register) for address, register in block.offsets()}
    return type(block.name.title() + "Registers", (Registers,), {"__slots__": (), "__doc__": f"Registers of block {block.name}.", **members})


def _attribute(block, address, register):
    name = f"{block.name}.{register.name}"

    def read(self):
        if register.access == "wo":
            raise CardError(f"register {name} cannot be read")
        return sum(self._device.read32(address + 4 * k) << 32 * k for k in range(register.words))

    def write(self, value):
        if register.access not in ("rw", "wo"):
            raise CardError(f"register {name} cannot be written")
        if not 0 <= value < 1 << register.width:
            raise CardError(f"register {name}: {value} does not fit {register.width} bits")
        for k in range(register.words):
            self._device.write32(address + 4 * k, int(value) >> 32 * k & 0xFFFFFFFF)

    return property(read, write, doc=f"{register.doc or register.name} [{register.unit}]")
