"""The clock of the core and how its cycles become nanoseconds."""

#: 10GBASE-R through a 32-bit transceiver interface: 10.3125 Gb/s / 32.
CORE_HZ = 322_265_625

#: One cycle is exactly NS_NUMERATOR / NS_DENOMINATOR ns (3.1030303…).
NS_NUMERATOR, NS_DENOMINATOR = 512, 165

#: 64b/66b: of 33 words of the receive clock 32 carry data.
GEARBOX_PERIOD = 33


def ns_of_cycle(cycle):
    """Time of a cycle in ns, rounded down. Works on integers and integer arrays; distinct cycles have distinct times."""
    return cycle * NS_NUMERATOR // NS_DENOMINATOR


def cycle_of_ns(ns):
    """First cycle at or after ``ns``; the inverse of ``ns_of_cycle`` on its values."""
    return -(-ns * NS_DENOMINATOR // NS_NUMERATOR)


def cycles_between(start_ns, end_ns):
    """Whole cycles between two times that were made by ``ns_of_cycle``.

    Each time is rounded down, so a difference can be short or long by almost 1 ns, a third of a cycle: rounding restores it.
    """
    return (2 * (end_ns - start_ns) * NS_DENOMINATOR + NS_NUMERATOR) // (2 * NS_NUMERATOR)
