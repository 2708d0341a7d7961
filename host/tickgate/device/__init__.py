"""The only door to hardware: the ``Device`` protocol, the frames a device may take, and how a device is found by name."""
from .frames import Frames, FrameSink, word_cycle
from .protocol import Device, DeviceError, DmaBuffer
from .registry import installed, open_device

__all__ = ["Device", "DeviceError", "DmaBuffer", "FrameSink", "Frames", "installed", "open_device", "word_cycle"]
