"""The reference twin: what the card must publish for a sequence of frames, in plain Python, a module a hop; and the fast twin of its books.

``net`` → ``moldudp64`` → ``itch`` → ``book`` (with ``capacity``) → ``publish``, put together by ``golden``. It follows ``docs/path.md``.
``Book`` (``tickgate.twin.fast``) makes the same books from ITCH files at full speed; the compiler it needs is imported when it is first asked for.
"""
from .golden import Golden
from .publish import ORIGIN
from .symbol import Symbol

__all__ = ["Book", "Golden", "ORIGIN", "StreamError", "Symbol"]


def __getattr__(name):
    if name in ("Book", "StreamError"):
        from .fast import book
        return getattr(book, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
