"""What a bad capture is told with."""


class CaptureError(Exception):
    """A capture that cannot be read. ``str()`` is one line: ``PATH: offset N: FIELD: cause``.

    ``offset`` counts bytes of the capture, after decompression when it is compressed.
    """

    def __init__(self, path, offset, field, cause):
        super().__init__(path, offset, field, cause)
        self.path, self.offset, self.field, self.cause = path, offset, field, cause

    def __str__(self):
        path = "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(self.path))
        return f"{path}: offset {self.offset}: {self.field}: {self.cause}"
