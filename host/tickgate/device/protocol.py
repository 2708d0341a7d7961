"""What every device can do: registers, and memory that host and card share."""
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np


class DeviceError(Exception):
    """A device is missing or did not do what was asked. The message is one line."""


@dataclass(frozen=True, eq=False)
class DmaBuffer:
    """Memory that the card can write: ``array`` (uint8, page-aligned, zeroed) is the host's view, ``address`` the card's, in bytes."""

    array: np.ndarray
    address: int


@runtime_checkable
class Device(Protocol):
    """One card. A context manager: leaving the block closes it."""

    name: str

    def read32(self, address: int) -> int:
        """The 32-bit register at byte ``address``, a multiple of 4. Raises ``DeviceError`` when the card does not answer."""

    def write32(self, address: int, value: int) -> None:
        """Writes the 32-bit register at byte ``address``, a multiple of 4. Raises ``DeviceError`` when the card does not answer."""

    def allocate(self, size: int) -> DmaBuffer:
        """``size`` bytes that the card can write, until the device is closed."""

    def close(self) -> None:
        """Gives everything back; a second call does nothing."""

    def __enter__(self) -> "Device": ...

    def __exit__(self, *exc) -> None: ...
