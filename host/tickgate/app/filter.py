"""``tickgate filter``: some of the messages, in the framing they came in."""
import click

from . import options


def _types(ctx, param, value):
    from tickgate.spec import itch50

    if value is None:
        return None
    letters = value.replace(",", "").replace(" ", "")
    for letter in letters:
        if letter.encode() not in itch50.BY_CODE:
            raise click.BadParameter(f"there is no message type {letter!r}", ctx, param)
    return letters or None


@click.command("filter")
@click.argument("source", metavar="IN")
@click.argument("path", type=click.Path(), metavar="OUT")
@options.selecting("messages")
@click.option("--type", "types", metavar="LETTERS", callback=_types, help="Only these types: AFDU.")
@click.option("--json", "as_json", is_flag=True, help="Report as JSON.")
def filter_(source, path, selection, resync, quiet, types, as_json):
    """Write the messages of IN that are chosen to OUT; either may be -, OUT is compressed when it ends in .gz.

    With --symbol, messages of the whole market (S, V, W) stay, and the symbols' directory entries (R) stay whatever --start and --end say, so that the
    result is a day of its own; --type leaves out all other types.

    A BinaryFILE gives a BinaryFILE. A pcap gives a pcap with times in ns: its packets keep their time and their Ethernet, VLAN, IPv4 and UDP headers, with
    lengths and IPv4 checksum made right and no UDP checksum; packets without a chosen message, heartbeats and what is no ITCH go. Messages get new numbers
    that follow one another; a gap of n messages stays a gap of n. What several lines brought is there once. A pcapng gives a pcap, too.
    """
    import sys

    from tickgate.capture.binaryfile import KIND as BINARYFILE

    from .outfile import OutFile
    from .table import show

    run = options.Run((source,), resync, quiet)
    if as_json and path == "-":
        raise click.UsageError("--json and OUT - both want standard output")
    kept = 0
    with OutFile(path, run.paths) as out:
        for one, pieces in run:
            writer = (_BinaryFile if one.kind == BINARYFILE else _Pcap)(out.file)
            for piece in pieces:
                which = _chosen(piece, one.names, selection, types)
                if selection.limit is not None:
                    which &= which.cumsum() <= selection.limit - kept
                writer.write(piece, which)
                kept += int(which.sum())
                if kept == selection.limit or len(piece) and int(piece.time[0]) >= selection.end:
                    break
            writer.finish(one)
            kind = one.kind
        if kept != selection.limit:
            selection.complain(run)
        out.commit()
    report = {"path": path, "kind": kind, "messages": run.messages, "kept": kept, "complete": run.status == 0, "notes": run.notes}
    if path == "-":
        print(f"{options.NOTE}{kept:,} of {run.messages:,} messages", file=sys.stderr)
    else:
        show(f"{kept:,} of {run.messages:,} messages", as_json, report)
    return run.status


def _chosen(piece, names, selection, types):
    """bool[n]."""
    import numpy as np

    which = (piece.time >= selection.start) & (piece.time < selection.end)
    if selection.symbols is not None:
        its = selection.locates(names)[piece.locate]
        which = (which & (its | np.isin(piece.kind, np.frombuffer(b"SVW", np.uint8)))) | (its & (piece.kind == ord("R")))
    if types is not None:
        which &= np.isin(piece.kind, np.frombuffer(types.encode(), np.uint8))
    return which


class _BinaryFile:
    def __init__(self, file):
        self.file = file

    def write(self, piece, which):
        self.file.write((piece.data if which.all() else piece.blocks(which)).data)

    def finish(self, source):
        """The end marker, unless the input's end is missing."""
        if source.report.end_of_session or not source.report.tail_bytes and not source.report.compressed_cut:
            self.file.write(bytes(2))


class _Pcap:
    def __init__(self, file):
        from tickgate.capture.pcap import PcapRecords

        self.records, self.number = PcapRecords(file), None

    def write(self, piece, which):
        if self.number is None:
            self.number = piece.first
        first = 0
        for part in piece.parts:
            self.number += part.gap
            its = which[first:first + part.count]
            kept = int(its.sum())
            if kept:
                end = first + part.count
                begin, stop = int(piece.at[first]), int(piece.at[end]) if end < len(piece) else len(piece.data)
                if kept == part.count:
                    blocks = piece.data[begin:stop].tobytes()
                else:
                    chosen = which.copy()
                    chosen[:first] = chosen[end:] = False
                    blocks = piece.blocks(chosen).tobytes()
                self._packet(part, kept, blocks)
            first += part.count

    def _packet(self, part, count, blocks):
        self.records.write(part.time, reframed(part.head, part.payload, self.number, count, blocks))
        self.number += count

    def finish(self, source):
        pass


def reframed(head, payload, sequence, count, blocks):
    """A frame with other messages: ``head`` is the old one up to the end of its MoldUDP64 header, which begins at ``payload``."""
    from tickgate.spec import ethernet, moldudp64

    udp, kind, ip = payload - ethernet.UDP.size, ethernet.ETHERNET["ethertype"], ethernet.ETHERNET.size
    ethertype = int.from_bytes(head[kind.offset:kind.end], "big")
    while ethertype in ethernet.ETHERTYPE_VLAN:
        tag = ethernet.VLAN["ethertype"]
        ethertype = int.from_bytes(head[ip + tag.offset:ip + tag.end], "big")
        ip += ethernet.VLAN.size
    mold = moldudp64.HEADER.encode(**{**moldudp64.HEADER.decode(head, payload), "sequence": sequence, "count": count})
    length = ethernet.UDP.size + len(mold) + len(blocks)
    datagram = ethernet.UDP.encode(**{**ethernet.UDP.decode(head, udp), "length": length, "checksum": 0})
    fixed = {**ethernet.IPV4.decode(head, ip), "total_length": udp - ip + length, "checksum": 0}
    header, more = ethernet.IPV4.encode(**fixed), head[ip + ethernet.IPV4.size:udp]      # more: options
    header = ethernet.IPV4.encode(**{**fixed, "checksum": 0xFFFF ^ ethernet.ones_complement(header + more)}) + more
    return (head[:ip] + header + datagram + mold + blocks).ljust(ethernet.MINIMUM_FRAME, b"\0")
