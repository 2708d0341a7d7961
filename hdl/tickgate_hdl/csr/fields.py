"""Registers of a block as the gateware sees them."""
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


def fields(block):
    """Signature with a member for each register of a ``tickgate.spec.registers.Block``, seen from the bank.

    | access | members | meaning |
    |---|---|---|
    | rw | ``name: Out(width)`` | what the host wrote last, at first the reset value |
    | wo | ``name: Out(width)``, ``name_strobe: Out(1)`` | the strobe is 1 for the one cycle in which a new value has come; the value stays |
    | ro | ``name: In(width)`` | what the host reads |
    | count | ``name: In(step)`` | added to the counter in every cycle; the counter itself is the bank's |
    """
    members = {}
    for register in block.registers:
        if register.access == "count":
            members[register.name] = In(register.step)
        elif register.access == "ro":
            members[register.name] = In(register.width)
        else:
            members[register.name] = Out(register.width, init=register.reset)
            if register.access == "wo":
                members[f"{register.name}_strobe"] = Out(1)
    if len(members) != len(block.registers) + sum(r.access == "wo" for r in block.registers):
        raise ValueError(f"register block {block.name}: the strobe of a register has the name of another register")
    return wiring.Signature(members)
