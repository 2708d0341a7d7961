"""What the command tells a user who gave it something that cannot work."""


class InputError(Exception):
    """Bad input: exit status 2. ``str()`` is one line, ``WHERE: cause`` or the cause alone."""

    def __init__(self, cause, where=None):
        super().__init__(f"{where}: {cause}" if where else cause)
