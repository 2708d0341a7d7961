"""A card as software sees it: registers by name, symbols, filters, and the event ring. Works over any ``tickgate.device``."""
from .card import Card
from .errors import CardError
from .registers import Registers
from .ring import EventRingReader

__all__ = ["Card", "CardError", "EventRingReader", "Registers"]
