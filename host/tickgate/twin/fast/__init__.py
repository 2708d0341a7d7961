"""The fast twin: books of all symbols from an ITCH stream, compiled; equal to ``golden`` on every record.

``book``: the API. ``engine``: what a message does. ``orders``, ``ladder``: how an order and a level are found. ``layout``: all records, with units.
``digest``, ``walk``, ``memory``, ``intrinsics``, ``cache``: small parts. ``parallel``: several days, or one day's symbols, at once.
"""
from .cache import forget_stale

forget_stale()
