"""A trading session in plain Python: SoupBinTCP, OUCH 5.0 and 4.2, and the ledger of what the replies say.

``Trader`` is what a program uses; ``SoupClient`` (packets), ``Ledger`` (orders and positions) and ``Connection`` (the socket) are its parts.
"""
from .connection import Connection
from .ledger import Ledger
from .packets import PacketError, Splitter
from .soup import LoginRejected, SoupClient
from .trader import Trader

__all__ = ["Connection", "Ledger", "LoginRejected", "PacketError", "SoupClient", "Splitter", "Trader"]
