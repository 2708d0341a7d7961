"""Which symbols the card tracks, and which destinations it listens to."""
import difflib
import ipaddress

from tickgate.twin import Symbol

from .errors import InputError

NEAR_MATCHES = 5   # shown for a name that is not there
DIGITS = 9         # of a number that is worth reading
SHOWN = 40         # characters of what the user gave, in an error
NAMED = 4          # destinations in a note


def choose(wanted, scan, preset, where):
    """``Symbol`` for each slot that is used.

    ``wanted``: names separated by commas, ``top:N`` for the N with most book messages, or None for as many as ``preset`` holds.
    ``scan``: of the capture ``where``. A capture that begins after its session's first message (``scan.late``) may miss orders that nobody here can
    know: its symbols are stale from the start. Raises ``InputError`` for unknown names, for more symbols than the preset holds, and for what is no number.
    """
    wanted = wanted or f"top:{preset.symbols}"
    if wanted.startswith("top:"):
        count = wanted.removeprefix("top:")
        if not count.isdecimal() or len(count) > DIGITS or not int(count):
            raise InputError(f"--symbols {_short(wanted)}: N must be a number from 1 to {preset.symbols}")
        _fits(int(count), preset)
        # those without book messages have their state at least
        locates = [*scan.top(int(count)), *(k for k in sorted(scan.symbols) if not scan.book[k])][:int(count)]
    else:
        names = list(dict.fromkeys(name.strip().upper() for name in wanted.split(",") if name.strip()))
        if not names:
            raise InputError(f"--symbols {wanted!r}: no symbol named")
        by_name = {name: locate for locate, name in scan.symbols.items()}
        for name in names:
            if name not in by_name:
                raise InputError(f"unknown symbol {_short(name)}: {_near(name, by_name)}", where)
        _fits(len(names), preset)
        locates = [by_name[name] for name in names]
    return [Symbol(slot, locate, *scan.window(locate, preset.ticks), name=scan.symbols.get(locate, ""), stale=scan.late is not None)
            for slot, locate in enumerate(locates)]


def _short(text):
    return text if len(text) <= SHOWN else text[:SHOWN] + "..."


def _fits(count, preset):
    if count > preset.symbols:
        raise InputError(f"{count} symbols asked for: preset {preset.name} holds {preset.symbols}")


def _near(name, names):
    if not names:
        return "the capture has no stock directory; use top:N"
    near = [n for n in sorted(names) if n.startswith(name)][:NEAR_MATCHES] or difflib.get_close_matches(name, names, NEAR_MATCHES, 0.5)
    return f"near it are {', '.join(near)}" if near else f"none of the {len(names)} symbols of the capture is like it"


def filters(groups, scan, preset):
    """Pairs of IPv4 address and UDP port for the card's filters, and the destinations of the capture that have none, busiest first.

    ``groups``: ``IP:PORT`` texts; none: the destinations that carry a session of the one with most datagrams, as many as ``preset`` has filters for.
    Other sessions are other feeds: their numbers have nothing to do with each other, and the card follows one.
    """
    if groups:
        if len(groups) > preset.filters:
            raise InputError(f"{len(groups)} groups asked for: preset {preset.name} has {preset.filters} filters")
        chosen = [parse_group(group) for group in dict.fromkeys(groups)]
        if not scan.destinations.keys() & set(chosen):
            there = ", ".join(f"{ipaddress.IPv4Address(group)}:{port}" for (group, port), _ in scan.destinations.most_common(NAMED))
            raise InputError(f"--group: no datagram of the capture goes to {', '.join(groups)}; there are {there}")
    else:
        busiest = [destination for destination, _ in scan.destinations.most_common()]
        chosen = [destination for destination in busiest if scan.sessions[destination] & scan.sessions[busiest[0]]][:preset.filters]
    return chosen, [destination for destination, _ in scan.destinations.most_common() if destination not in chosen]


def ignored_note(ignored, scan):
    """One line about the destinations that the card does not listen to."""
    named = []
    for group, port in ignored[:NAMED]:
        sessions = ", ".join(_printable(session) for session in sorted(scan.sessions[group, port])[:NAMED])
        named.append(f"{ipaddress.IPv4Address(group)}:{port} (session {sessions}; {scan.destinations[group, port]} datagrams)")
    more = f" and {len(ignored) - NAMED} more" if len(ignored) > NAMED else ""
    return f"not listened to: {', '.join(named)}{more}; --group chooses others"


def _printable(session):
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in session.decode("latin-1").strip())


def parse_group(text):
    """``IP:PORT`` as address and port."""
    address, _, port = text.rpartition(":")
    try:
        if not port.isdecimal() or not 0 < int(port) < 1 << 16:
            raise ValueError
        return int(ipaddress.IPv4Address(address)), int(port)
    except ValueError:
        raise InputError(f"--group {_short(text)}: must be an IPv4 address, a colon and a UDP port, such as 233.54.12.111:26477") from None
