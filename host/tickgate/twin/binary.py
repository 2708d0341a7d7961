"""``struct`` readers and writers made from the layouts of ``tickgate.spec``: no offset is written twice, and each is one fast call."""
import struct

_NUMBER = {1: "B", 2: "H", 4: "I", 8: "Q"}


def _code(field):
    return _NUMBER[field.size] if field.kind == "uint" and field.size in _NUMBER else f"{field.size}s"


def reader(layout, *names):
    """``Struct`` that gives the named fields, in the layout's order, and ends with the last of them.

    Numbers come as integers, text and odd sizes as bytes. One-byte text can be asked for as a number with a ``#`` before the name.
    """
    asked = {name.lstrip("#"): name for name in names}
    unknown = asked.keys() - layout.field.keys()
    if unknown:
        raise ValueError(f"{layout.name} has no field {', '.join(sorted(unknown))}")
    if [f.name for f in layout.fields if f.name in asked] != list(asked):
        raise ValueError(f"{layout.name}: fields must be named in their order")
    form, at = "<" if layout.order == "little" else ">", 0
    for name, mark in asked.items():
        field = layout[name]
        form += "x" * (field.offset - at) + ("B" if mark != name else _code(field))
        at = field.end
    return struct.Struct(form)


def writer(layout):
    """``Struct`` of all fields of the layout, in order; ``pack`` raises when a value does not fit."""
    return struct.Struct(("<" if layout.order == "little" else ">") + "".join(_code(f) for f in layout.fields))


def counters(block):
    """The counters of a register block, by name, at zero."""
    return {register.name: 0 for register in block.registers if register.access == "count"}
