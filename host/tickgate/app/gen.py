"""``tickgate gen``: a made-up day."""
import click

from . import options

_SESSION_S = 23_400      # 09:30 to 16:00


def _parts(ctx, param, value):
    from .gen_lines import PARTS

    return round(value * PARTS)


def _mix(ctx, param, value):
    if not value:
        return None
    mix = {}
    for part in value.split(","):
        name, _, weight = part.strip().partition("=")
        if not weight.isdecimal():
            raise click.BadParameter(f"{part!r}: must be a type and a whole number, such as A=40,D=35", ctx, param)
        mix[name.upper()] = int(weight)
    return mix


def _probability(name, what):
    return click.option(name, type=click.FloatRange(0, 1), default=0, callback=_parts, metavar="P", help=f"pcap: probability that a packet {what}.")


@click.command()
@click.argument("path", type=click.Path(), metavar="OUT")
@click.option("--seed", type=int, default=1, show_default=True, help="Same seed, same day.")
@click.option("--symbols", type=click.IntRange(1, 65535), default=16, show_default=True, metavar="N", help="Symbols.")
@click.option("--messages", type=click.IntRange(min=1), metavar="N", help="Messages of the day.  [default: 60000]")
@click.option("--rate", type=click.IntRange(min=1), metavar="N", help="Instead: messages a second from 09:30 to 16:00, on average.")
@click.option("--mix", callback=_mix, metavar="TYPE=N,…",
              help="Weights of continuous trading: A adds, D deletes, U replaces, X cancels, E executions, L.  [default: A=410,D=350,U=110,X=35,E=90,L=5]")
@click.option("--auctions/--no-auctions", default=True, help="Opening, closing and reopening crosses.  [default: auctions]")
@click.option("--halts", type=click.IntRange(min=0), default=1, show_default=True, metavar="N", help="Trading halts.")
@_probability("--loss", "is lost on its line")
@_probability("--duplicate", "comes twice")
@_probability("--reorder", "comes after the next one")
@click.option("--skew", type=options.Span("0"), default="0", metavar="SPAN", help="pcap: by how much line B is later, such as 5us.  [default: 0]")
@click.option("--lines", "how", type=click.Choice(["both", "split", "a"]), default="both", show_default=True,
              help="pcap: both lines in OUT, a file for each (OUT.a.pcap, OUT.b.pcap), or line A alone.")
@click.option("--json", "as_json", is_flag=True, help="Report as JSON.")
@click.option("--quiet", is_flag=True, help="No progress on standard error.")
def gen(path, seed, symbols, messages, rate, mix, auctions, halts, loss, duplicate, reorder, skew, how, as_json, quiet):
    """Write a made-up day of ITCH 5.0 to OUT, the same for the same options everywhere.

    OUT ends in .pcap: MoldUDP64 packets on two lines with times in ns, of 2024-01-02. Any other name, or -: a BinaryFILE. With .gz behind it, compressed.
    Faults hit each line by itself; --seed decides which packets. Directory, pre-open orders, opening cross, trading with halts, closing cross.
    """
    import contextlib
    import sys

    from tickgate.capture import synthetic
    from tickgate.capture.pcap import PcapRecords

    from .errors import InputError
    from .gen_lines import Faults, Line, packets
    from .outfile import OutFile
    from .progress import progress
    from .table import show

    if messages and rate:
        raise click.UsageError("--messages and --rate: one of them")
    if as_json and path == "-":
        raise click.UsageError("--json and OUT - both want standard output")
    messages = messages or (rate * _SESSION_S if rate else synthetic.SAMPLE["messages"])
    faults, plain = Faults(loss=loss, duplicate=duplicate, reorder=reorder, skew=int(skew)), path.removesuffix(".gz")
    is_pcap = plain.endswith(".pcap")
    if not is_pcap and (faults != Faults() or how != "both"):
        raise click.UsageError("--loss, --duplicate, --reorder, --skew and --lines are for packets: OUT must end in .pcap")
    try:
        pieces = synthetic.pieces(seed, symbols, messages, mix=mix, auctions=auctions, halts=halts)
    except ValueError as e:
        raise InputError(e) from None
    shown = progress(quiet, unit="messages")

    def counted():
        shown.start(messages)
        for piece in pieces:
            n = synthetic.PIECE       # about
            yield piece
            shown.advance(n, n)

    report = {"seed": seed, "symbols": symbols, "messages": messages}
    names = {"both": {"a": path, "b": path}, "a": {"a": path}, "split": {n: f"{plain.removesuffix('.pcap')}.{n}{path[len(plain) - 5:]}" for n in "ab"}}[how]
    try:
        with contextlib.ExitStack() as stack:
            if is_pcap:
                outs = {one: stack.enter_context(OutFile(one)) for one in dict.fromkeys(names.values())}
                records = {one: PcapRecords(out.file) for one, out in outs.items()}
                lines = {name: Line(name, seed, faults) for name in names}
                for name, time, frame in packets(counted(), lines):
                    records[names[name]].write(time, frame)
                report |= {"files": list(outs), "lines": {name: {"packets": line.sent, "lost": line.lost, "twice": line.doubled, "late": line.late}
                                                          for name, line in lines.items()}}
            else:
                outs = {path: stack.enter_context(OutFile(path))}
                for piece in counted():
                    outs[path].file.write(piece)
                report["files"] = [path]
            for out in outs.values():
                out.commit()
    finally:
        shown.stop()
    text = f"{messages:,} messages of {symbols} symbols" + "".join(
        f"; line {name}: {line['packets']:,} packets, {line['lost']:,} lost, {line['twice']:,} twice, {line['late']:,} late"
        for name, line in report.get("lines", {}).items())
    if path == "-":
        print(f"{options.NOTE}{text}", file=sys.stderr)
    else:
        show(text, as_json, report)
    return 0
