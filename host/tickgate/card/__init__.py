"""A card as software sees it: registers by name, symbols, filters, and the event ring. Works over any ``tickgate.device``."""
from .card import Card
from .commands import CommandPort
from .depth import Depth, read_depth
from .errors import CardError
from .recentre import Recentring
from .registers import Registers
from .ring import EventRingReader

__all__ = ["Card", "CardError", "CommandPort", "Depth", "EventRingReader", "Recentring", "Registers", "read_depth"]
