"""The reference twin: what the card must publish for a sequence of frames, in plain Python, a module a hop.

``net`` → ``moldudp64`` → ``itch`` → ``book`` (with ``capacity``) → ``publish``, put together by ``golden``. It follows ``docs/path.md``.
"""
from .golden import Golden
from .publish import ORIGIN
from .symbol import Symbol

__all__ = ["Golden", "ORIGIN", "Symbol"]
