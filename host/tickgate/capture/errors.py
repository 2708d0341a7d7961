"""What a bad capture, or a bad wish, is told with."""


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


class InputError(Exception):
    """Bad input: exit status 2. ``str()`` is one line, ``WHERE: cause`` or the cause alone."""

    def __init__(self, cause, where=None):
        super().__init__(f"{where}: {cause}" if where else cause)
