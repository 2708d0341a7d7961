"""Files of bytes that a command writes: whole or not at all, compressed when their name says so; and the pcap records in them."""
import gzip
import sys

from tickgate.capture import formats

from .outputs import Outputs


class OutFile:
    """Output to ``path`` (``-``: standard output), a context; ``file`` takes the bytes, ``commit`` gives the file its name. ``inputs``: paths that it must
    not be. Raises ``InputError`` at once when it cannot be written."""

    def __init__(self, path, inputs=()):
        self.outputs, self.gzip = None, None
        if path == "-":
            self.file = sys.stdout.buffer
            return
        for other in inputs[1:]:
            Outputs(other, out=path).__exit__()
        self.outputs = Outputs(inputs[0] if inputs else f"{path}?", out=path)   # no input: a name that is another
        self.file = self.outputs["out"].file.buffer
        if str(path).endswith(".gz"):
            self.file = self.gzip = gzip.GzipFile(filename="", fileobj=self.file, mode="wb", compresslevel=6, mtime=0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.outputs:
            self.outputs.__exit__()

    def commit(self):
        """All is written."""
        if self.gzip:
            self.gzip.close()
        if self.outputs:
            self.outputs["out"].commit("")
        else:
            self.file.flush()


class PcapRecords:
    """A pcap file with times in ns, written to ``file`` record after record."""

    def __init__(self, file):
        self.file, self.record = file, formats.struct_of(formats.PCAP_RECORD, "little")
        magic = next(m for m, unit in formats.PCAP_MAGIC.items() if unit == 1)
        file.write(formats.layout(formats.PCAP_FILE, "little").encode(magic=magic, major=2, minor=4, snap_length=formats.PACKET_LIMIT,
                                                                       link_type=formats.ETHERNET))

    def write(self, time_ns, frame):
        """One frame and its time in ns since 1970."""
        seconds, rest = divmod(time_ns, 10 ** 9)
        self.file.write(self.record.pack(seconds, rest, len(frame), len(frame)) + frame)
