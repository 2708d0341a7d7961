"""A simulated exchange: matching engine, ITCH on two MoldUDP64 lines, OUCH over SoupBinTCP, and faults by seed.

``Exchange`` is all of it in process, with time as an argument; ``OrderServer`` and ``Multicast`` put it on real sockets; ``conserved`` says what does not
add up. ``tickgate exchange`` is the command.
"""
from .audit import conserved
from .exchange import Exchange
from .faults import LineFaults, OrderFaults
from .link import Link
from .server import Multicast, OrderServer, Rerequests

__all__ = ["Exchange", "LineFaults", "Link", "Multicast", "OrderFaults", "OrderServer", "Rerequests", "conserved"]
