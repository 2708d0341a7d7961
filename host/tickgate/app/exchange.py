"""``tickgate exchange``: a simulated exchange on real sockets."""
import contextlib
import signal
import time

import click

from . import options

_SECOND = 10 ** 9
_DAY = (2024, 1, 2)           # of the times in a pcap, the one of `tickgate gen`
_STATUS_NS = 10 * _SECOND     # between the lines that say how it goes
_FAREWELL_NS = 5 * _SECOND    # so long members may take to read the end of the session, and to come back when they were cut off
_BURST = 1000                 # acts of others in one turn, so that members are always heard


def _parts(ctx, param, value):
    from tickgate.exchange.faults import PARTS

    return round(value * PARTS)


def _probability(name, what):
    return click.option(name, type=click.FloatRange(0, 1), default=0, callback=_parts, metavar="P", help=f"Probability that {what}.")


def _span(name, what, default="0"):
    return click.option(name, type=options.Span("0"), default=default, metavar="SPAN", help=f"{what}  [default: {default}]")


def _names(ctx, param, value):
    return [name.strip().upper() for name in value.split(",")]


def _address(ctx, param, value):
    import ipaddress

    host, _, port = value.rpartition(":")
    try:
        ipaddress.IPv4Address(host)
    except ValueError:
        raise click.BadParameter(f"{value!r} must be an IPv4 address and a port, such as 233.54.12.111:26477", ctx, param) from None
    if not port.isdecimal() or not 0 < int(port) < 1 << 16:
        raise click.BadParameter(f"{value!r}: the port must be 1 to 65535", ctx, param)
    return host, int(port)


def _users(ctx, param, values):
    users = [value.split(":") for value in values or ("trader:secret",)]
    for parts in users:
        if len(parts) not in (2, 3):
            raise click.BadParameter(f"{':'.join(parts)!r} must be NAME:PASSWORD or NAME:PASSWORD:PROTOCOL", ctx, param)
    return users


@click.command()
@click.option("--symbols", default="ALFA,BRAVO,CHARLIE,DELTA", show_default=True, callback=_names, metavar="NAMES", help="What is traded.")
@click.option("--user", "users", multiple=True, callback=_users, metavar="NAME:PASSWORD[:PROTOCOL]",
              help="Who may log in; may be repeated.  [default: trader:secret]")
@click.option("--protocol", type=click.Choice(["ouch50", "ouch42"]), default="ouch50", show_default=True, help="Of users for whom none is named.")
@click.option("--self-match", type=click.Choice(["trade", "oldest", "newest", "decrement"]), default="trade", show_default=True,
              help="When two orders of one user meet: they trade, the resting one goes, the incoming one goes, both lose the shares.")
@click.option("--host", default="127.0.0.1", show_default=True, metavar="IP", help="Address to listen at.")
@click.option("--port", type=click.IntRange(0, 65535), default=15000, show_default=True, help="Port of order entry; 0: any free one.")
@click.option("--feed-a", default="233.54.12.111:26477", show_default=True, callback=_address, metavar="IP:PORT", help="Where line A goes.")
@click.option("--feed-b", default="233.49.196.111:26477", show_default=True, callback=_address, metavar="IP:PORT", help="Where line B goes.")
@click.option("--interface", default="127.0.0.1", show_default=True, metavar="IP", help="Address of the interface for multicast.")
@click.option("--rerequest-port", type=click.IntRange(0, 65535), metavar="N", help="UDP port that answers MoldUDP64 requests; 0: any.  [default: none]")
@click.option("--pcap", type=click.Path(), metavar="FILE", help="Write both lines to a pcap as well.")
@click.option("--capture", type=click.Path(), metavar="FILE", help="Orders of others: those of a capture.  [default: made up]")
@click.option("--speed", type=click.IntRange(1, 100_000), default=1, show_default=True, metavar="N", help="Capture: times as fast as it was.")
@click.option("--start", type=options.Time(), default="09:30:00", show_default=True, metavar="TIME",
              help="Time of day at the start; what a capture has before is played at once.")
@_span("--pre-open", "Made up: orders are collected so long before the opening cross.")
@click.option("--rate", type=click.IntRange(0, 100_000), default=100, show_default=True, metavar="N", help="Made up: acts a second; 0: nobody else trades.")
@_span("--halt-every", "A symbol is halted so often, for a tenth of that.")
@click.option("--seed", type=int, default=1, show_default=True, help="Of the orders of others and of all faults.")
@_probability("--loss", "a packet is lost on its line")
@_probability("--duplicate", "a packet comes twice")
@_probability("--reorder", "a packet comes after the next one")
@_span("--delay", "A packet comes up to so much later.")
@_span("--skew", "Line B is so much later.")
@_probability("--ignore", "a request is not heard")
@_span("--order-delay", "A request is handled up to so much later.")
@_probability("--cut", "the connection ends in the middle of a packet")
@_probability("--race", "an order is executed while its cancel is under way")
@_probability("--bust", "a trade of a user is broken, within a second")
@_probability("--renew", "an order of a user loses its place in the queue, within a second")
@_span("--for", "End after so long.  0: at Ctrl-C, or with the capture.")
@click.option("--json", "as_json", is_flag=True, help="Summary as JSON; what happens goes to standard error.")
@click.option("--quiet", is_flag=True, help="Only the summary.")
def exchange(symbols, users, protocol, self_match, host, port, feed_a, feed_b, interface, rerequest_port, pcap, capture, speed, start, pre_open, rate,
             halt_every, seed, loss, duplicate, reorder, delay, skew, ignore, order_delay, cut, race, bust, renew, as_json, quiet, **rest):
    """Run a simulated exchange until Ctrl-C: ITCH 5.0 on two MoldUDP64 lines, orders by OUCH 5.0 or 4.2 over SoupBinTCP.

    It trades with others that are made up, or replays a capture as the orders of others. At the end the day is closed, everybody hears it, and it says whether
    shares, orders and positions add up: exit status 0, or 1 when they do not.
    """
    import datetime
    import sys

    from tickgate.capture.pcap import PcapRecords
    from tickgate.capture.session import midnight_ns
    from tickgate.exchange import Exchange, LineFaults, Multicast, OrderFaults, OrderServer, Rerequests

    from .errors import InputError
    from .outfile import OutFile
    from .table import show

    def tell(text):
        if not quiet:
            with contextlib.suppress(OSError):
                print(text, file=sys.stderr if as_json else sys.stdout, flush=True)

    try:
        market = Exchange(symbols, seed=seed, line_faults=LineFaults(loss=loss, duplicate=duplicate, reorder=reorder, delay=int(delay), skew=int(skew)),
                          faults=OrderFaults(ignore=ignore, delay=int(order_delay), cut=cut, race=race, bust=bust, renew=renew))
        for name, password, *own in users:
            market.add_member(name, password, *own or (protocol,), self_match=self_match)
    except ValueError as error:
        raise InputError(error) from None
    market.tell = tell
    with contextlib.ExitStack() as stack:
        if pcap:
            out = stack.enter_context(OutFile(pcap, [capture] if capture else ()))
            records, midnight = PcapRecords(out.file), midnight_ns(datetime.date(*_DAY))
        server = _opened(stack, f"{host}:{port}", lambda: OrderServer(market, host, port))
        sender = _opened(stack, interface, lambda: Multicast({"a": feed_a, "b": feed_b}, interface))
        tell(f"order entry at {':'.join(map(str, server.address))} for {', '.join(f'{name} ({m.words.NAME})' for name, m in market.members.items())}")
        tell(f"feed at {':'.join(map(str, feed_a))} and {':'.join(map(str, feed_b))}, {', '.join(symbols)}")
        if rerequest_port is not None:
            again = _opened(stack, f"{host}:{rerequest_port}", lambda: Rerequests(market.feed, host, rerequest_port))
            server.also(again)
            tell(f"requests for lost messages at {':'.join(map(str, again.address))}")

        def send(until):
            for packet in market.feed.due(until):
                sender.send(packet)
                if pcap:
                    records.write(midnight + packet.time_ns, packet.frame())

        flow = _Replayed(market, capture, start, speed) if capture else _MadeUp(market, start, int(pre_open), rate, seed)
        seconds = _run(market, flow, server, send, tell, int(rest["for"]), _halts(market, int(halt_every), seed))
        if pcap:
            out.commit()
        report = _report(market, sender, seconds)
    show(_text(report), as_json, report)
    return 0 if report["conserved"] else 1


def _opened(stack, where, make):
    """A socket that is closed in the end. Raises ``InputError`` when it cannot be had."""
    import os

    from .errors import InputError

    try:
        made = make()
    except OSError as error:   # the library adds words of its own to those of the system
        why = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror or str(error)
        raise InputError(f"cannot listen or send: {why.lower()}", where) from None
    stack.callback(made.close)
    return made


class _MadeUp:
    """Others that a seed makes up, ``rate`` acts a second."""

    over = False

    def __init__(self, market, start, pre_open, rate, seed):
        from tickgate.exchange.flow import Generated

        self.market, self.flow, self.rate = market, Generated(market, seed), rate
        self.began, self.acts, self.speed = start, 0, 1
        market.advance(start)
        market.phase("O")
        market.phase("S")
        if rate:
            self.flow.seed_books()
        if pre_open:
            market.at(start + pre_open, lambda: market.phase("Q"))
        else:
            market.phase("Q")

    def play(self, now):
        """What others do until then."""
        for _ in range(min(_BURST, (now - self.began) * self.rate // _SECOND - self.acts)):
            self.acts += 1
            self.market.advance(max(self.market.now, self.began + self.acts * _SECOND // self.rate))
            self.flow.step()


class _Replayed:
    """The orders of a capture, at their times."""

    def __init__(self, market, path, start, speed):
        from tickgate.exchange.flow import Captured

        self.market, self.flow, self.speed = market, Captured(market), speed
        self.over, self._messages = False, _messages(path)
        self._next = None
        self._fetch()
        while not self.over and self._next[0] < start:
            self._apply()
        self.began = max(start, self.market.now)

    def _fetch(self):
        self._next = next(self._messages, None)
        self.over = self._next is None

    def _apply(self):
        time_ns, message = self._next
        self.market.advance(max(self.market.now, time_ns))
        self.flow.apply(message)
        self._fetch()

    def play(self, now):
        """What the capture has until then."""
        for _ in range(_BURST):
            if self.over or self._next[0] > now:
                break
            self._apply()


def _messages(path):
    """Yield (time, bytes) of a capture's ITCH messages."""
    from tickgate.capture import Decoder, open_capture
    from tickgate.spec import itch50

    time, decoder = itch50.BY_CODE[b"A"]["timestamp"], Decoder()
    for batch in open_capture(path).frames():
        found, data = decoder.messages(batch), batch.data.tobytes()
        for at, length in zip(found.offset.tolist(), found.length.tolist(), strict=True):
            if length >= time.end:
                yield int.from_bytes(data[at + time.offset:at + time.end], "big"), data[at:at + length]


def _halts(market, every, seed):
    """What halts a symbol now and then; None when nothing does."""
    import random

    rng = random.Random(f"{seed} halts")

    def halt():
        if market.ending:
            return
        book = rng.choice(list(market.engine.books.values()))
        if market.engine.trading(book):
            market.engine.halt(book, "H", "T1")
            market.tell(f"{book.name} is halted")
            market.at(market.now + every // 20, lambda: market.engine.halt(book, "Q", "T1") if book.state == "H" else None)
            market.at(market.now + every // 10, lambda: resume(book))
        market.at(market.now + every, halt)

    def resume(book):
        if book.state == "Q":
            market.engine.resume(book)
            market.tell(f"{book.name} trades again")

    return (lambda: market.at(market.now + every, halt)) if every else None


@contextlib.contextmanager
def _until_interrupted():
    """Yields a function that tells whether Ctrl-C was pressed: an exception in the middle of a match would lose half of it. The second time ends at once."""
    pressed = []

    def press(number, frame):
        pressed.append(number)
        signal.signal(signal.SIGINT, signal.default_int_handler)

    try:
        before = signal.signal(signal.SIGINT, press)
    except ValueError:         # not the main thread: signals are another one's affair
        before = None
    try:
        yield lambda: bool(pressed)
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)


def _run(market, flow, server, send, tell, span, halts):
    """Until Ctrl-C, the end of ``span`` ns or that of the capture; then the end of the day. Returns how long it took, s."""
    began = status = time.monotonic_ns()
    if halts:
        halts()
    with _until_interrupted() as interrupted:
        while not flow.over and not interrupted() and not (span and time.monotonic_ns() - began >= span):
            at = time.monotonic_ns()
            now = flow.began + (at - began) * flow.speed
            flow.play(now)
            if not flow.over:
                market.advance(max(market.now, now))
            send(market.now)
            server.poll(0.001)
            if at - status >= _STATUS_NS:
                status = at
                tell(f"{(at - began) // _SECOND} s: {len(market.feed.messages):,} messages, {market.engine.match:,} matches, "
                     f"{sum(m.link is not None for m in market.members.values())} logged in")
        tell("the day ends")
        market.finish()
        send(None)
        end = time.monotonic_ns() + _FAREWELL_NS
        server.poll()
        while (server.connections or any(member.awaited for member in market.members.values())) and time.monotonic_ns() < end:
            server.poll(0.01)
    return (time.monotonic_ns() - began) / _SECOND


def _report(market, sender, seconds):
    """The summary."""
    from tickgate.exchange import conserved
    from tickgate.exchange.audit import orders

    problems = conserved(market)
    return {
        "seconds": round(seconds, 3), "symbols": list(market.engine.books), "messages": len(market.feed.messages),
        "lines": {name: {"packets": line.sent, "lost": line.lost, "twice": line.doubled, "late": line.late} for name, line in market.feed.lines.items()},
        "packets_sent": sender.sent, "packets_unsent": sender.unsent, "matches": market.engine.match, "volume": dict(market.engine.volume),
        "orders": orders(market), "counts": dict(sorted(market.counts.items())),
        "members": {name: {"protocol": m.words.NAME, "replies": len(m.sequenced), "unreadable": m.unreadable,
                           "position": {symbol: shares for symbol, shares in m.position.items() if shares}} for name, m in market.members.items()},
        "conserved": not problems, "problems": problems}


def _text(report):
    """The summary for people."""
    lines = [f"{report['messages']:,} messages, {sum(report['volume'].values()):,} shares traded in {report['seconds']:.1f} s"]
    lines += [f"line {name}: {line['packets']:,} packets, {line['lost']:,} lost, {line['twice']:,} twice, {line['late']:,} late"
              for name, line in report["lines"].items()]
    if report["packets_unsent"]:
        lines.append(f"{report['packets_unsent']:,} packets could not be sent")
    counted = report["orders"]
    lines.append(f"{counted['sent']:,} orders of users: {counted['accepted']:,} accepted, {counted['rejected']:,} rejected, {counted['ignored']:,} ignored")
    for name, member in report["members"].items():
        position = ", ".join(f"{shares:+,} {symbol}" for symbol, shares in member["position"].items()) or "flat"
        lines.append(f"{name}: {member['replies']:,} replies, {position}")
    lines += [f"{name}: {n:,}" for name, n in report["counts"].items()]
    lines += [f"does not add up: {text}" for text in report["problems"]] or ["shares, orders and positions add up"]
    return "\n".join(lines)
