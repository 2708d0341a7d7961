"""Joining two interfaces, with the check that plain ``connect`` leaves out."""
from amaranth.lib import wiring


class JoinError(TypeError):
    """Two interfaces that do not belong together."""


def connect(m, a, b):
    """Connect interface ``a`` to ``b`` in module ``m``; their signatures must be equal, apart from the direction.

    ``amaranth.lib.wiring.connect`` compares widths alone, so it would join two different structs of equal size; and a stream that may stall to
    one that says it never does. Use ``wiring.flipped`` for ports of the component itself. Raises ``JoinError``.
    """
    if a.signature != b.signature.flip():
        raise JoinError(f"interfaces differ: {a.signature!r} on one side, {b.signature.flip()!r} on the other")
    wiring.connect(m, a, b)
