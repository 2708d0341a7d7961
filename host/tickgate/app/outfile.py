"""Files of bytes that a command writes: whole or not at all, compressed when their name says so."""
import gzip
import sys

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
