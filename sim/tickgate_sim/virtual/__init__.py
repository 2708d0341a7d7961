"""The virtual card: the core compiled by Verilator into a shared library, behind the ``Device`` protocol."""
from tickgate.device import word_cycle

from .build import Design
from .device import VirtualCard, open_device

__all__ = ["Design", "VirtualCard", "open_device", "word_cycle"]
