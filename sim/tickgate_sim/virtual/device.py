"""The virtual card as a ``Device`` and ``FrameSink``."""
import ctypes
import mmap
import os
import weakref
from ctypes import POINTER, byref, c_char_p, c_int, c_int64, c_uint8, c_uint32, c_uint64, c_void_p
from pathlib import Path

import numpy as np

from tickgate.device import DeviceError, DmaBuffer
from tickgate.spec.clocks import NS_DENOMINATOR, cycle_of_ns, ns_of_cycle
from tickgate.spec.records import SIZE

from .build import Design, library

_FIRST_ADDRESS = 0x1_0000_0000   # of host memory: beyond 32 bits, so that a register too narrow for an address shows
_PAGE = mmap.PAGESIZE
_NO_LIMIT = (1 << 63) - 1
_LAST_NS = _NO_LIMIT // NS_DENOMINATOR // 2   # card time up to which nobody's arithmetic leaves 64 bits, with room for what follows
_DAY_NS = 86_400 * 10**9

_I64S = POINTER(c_int64)
_API = {
    "card_new": (c_void_p, c_uint32, c_char_p),
    "card_free": (None, c_void_p),
    "card_reset": (None, c_void_p),
    "card_write32": (c_int, c_void_p, c_uint32, c_uint32),
    "card_post32": (None, c_void_p, c_uint32, c_uint32),
    "card_read32": (c_int, c_void_p, c_uint32, POINTER(c_uint32)),
    "card_map": (None, c_void_p, c_uint64, c_uint64, c_void_p),
    "card_stall": (None, c_void_p, c_uint32, c_uint64),
    "card_send": (c_int64, c_void_p, POINTER(c_uint8), _I64S, _I64S, POINTER(c_uint8), _I64S, c_int64, c_int64, _I64S),
    "card_idle": (None, c_void_p, c_int64),
    "card_cycle": (c_int64, c_void_p),
    "card_evaluated": (c_int64, c_void_p),
    "card_writes": (c_int64, c_void_p),
    "card_stray": (c_int64, c_void_p, POINTER(c_uint64)),
}


def open_device(option=""):
    """Opens the virtual card for the entry point ``virtual``; ``option`` is the preset, ``demo`` when empty.

    TICKGATE_WAVES in the environment: path of an FST to write.
    """
    return VirtualCard(option or "demo", waves=os.environ.get("TICKGATE_WAVES") or None)


class VirtualCard:
    """The core of a preset at one clock of 322.265625 MHz, with the host as its wire and its memory.

    preset: name of one of ``tickgate.spec.presets.PRESETS``
    seed:   of the bits that memories and registers without a reset value start with, and of the stalls
    waves:  path of an FST to write; such a card is another build, and slow
    stall:  how often host memory is not ready for a write, 0 to 1 (exclusive)
    design: another core with the same ports (its preset counts then)

    The card is reset and idle when it is made; cycle 0 is the first after reset, and ``tickgate.spec.clocks`` turns cycles into card time.
    Register accesses take the cycles that they take on AXI4-Lite and fail after 1,000. Compiled when first used.
    """

    def __init__(self, preset="demo", *, seed=0, waves=None, stall=0.0, design=None):
        self._card = None
        if not 0 <= stall < 1:
            raise ValueError(f"stall must be 0 to below 1, not {stall}")
        design = design or Design(preset=preset, traced=waves is not None)
        self.name = f"virtual:{design.preset}"
        self._library = _load(library(design))
        if waves is not None:
            _check_writable(Path(waves))
        self._card = self._library.card_new(seed & 0xFFFFFFFF, str(waves).encode() if waves is not None else None)
        self._close = weakref.finalize(self, self._library.card_free, self._card)   # also when nobody closes it: the FST would be cut
        self._library.card_stall(self._card, round(stall * 65536), seed)
        self._next_address = _FIRST_ADDRESS
        self._memory = []                         # what the library may write must live as long as the card
        self.reset()

    def reset(self):
        """Resets the core; cycles count from 0 again. Host memory stays as it is."""
        self._library.card_reset(self._open())
        self._capture_start = None                # (capture time, card time) in ns, which belong together

    def read32(self, address):
        value = c_uint32()
        self._answered(self._library.card_read32(self._open(), self._register(address), byref(value)), "read", address)
        return value.value

    def write32(self, address, value):
        if not 0 <= value < 1 << 32:
            raise ValueError(f"{value:#x} does not fit a 32-bit register")
        self._answered(self._library.card_write32(self._open(), self._register(address), value), "write", address)

    def post32(self, address, value):
        """Like ``write32``, but the write goes while the next frames do, after those posted before; any other access waits for it."""
        if not 0 <= value < 1 << 32:
            raise ValueError(f"{value:#x} does not fit a 32-bit register")
        self._library.card_post32(self._open(), self._register(address), value)

    def allocate(self, size):
        if size <= 0:
            raise ValueError(f"cannot allocate {size} bytes")
        card, pages = self._open(), -(-size // _PAGE) * _PAGE
        array = np.frombuffer(mmap.mmap(-1, pages), np.uint8)[:size]
        buffer = DmaBuffer(array, self._next_address)
        self._library.card_map(card, buffer.address, size, array.ctypes.data)
        self._memory.append(array)
        self._next_address += pages + _PAGE       # a page between buffers belongs to nobody
        return buffer

    def send(self, batch, *, first=0, spacing="minimum", max_records=None):
        """Sends frames as ``FrameSink.send`` says; raises ``DeviceError`` when the core writes outside of the memory that was allocated.

        Minimum spacing: 24 bytes between the bytes of two frames (FCS 4, inter-frame gap 12, preamble 8). Frames begin at word borders, so the
        gap is 5 or 6 word slots by the deficit idle count of IEEE 802.3 46.3.1.4: back to back, frame k begins in the slot that the sum of
        frames and gaps before it falls into. The last cycle of every 33 is no slot.

        Capture spacing: the first frame sent since reset goes at once and ties capture time to card time. A frame goes in the first word slot that is
        not before its time and keeps the minimum; idle time is skipped, not simulated, when nothing has moved for 64 cycles.
        """
        card = self._open()
        offset, length = (np.ascontiguousarray(column[first:], np.int64) for column in (batch.offset, batch.length))
        data, count = np.ascontiguousarray(batch.data, np.uint8), len(offset)
        bad = getattr(batch, "bad_fcs", None)
        bad = np.zeros(count, np.uint8) if bad is None else np.ascontiguousarray(bad[first:], np.uint8)
        time_ns = np.asarray(batch.time_ns[first:], np.int64)
        if not count == len(length) == len(bad) == len(time_ns):
            raise ValueError("the columns of a batch must have one length")
        if count and (length.min() < 1 or offset.min() < 0 or (offset + length).max() > len(data)):
            raise ValueError("a frame is empty or lies outside of the batch's data")
        start = np.empty(count, np.int64)
        if not count:
            return start
        earliest, limit = self._earliest(time_ns, spacing), _NO_LIMIT if max_records is None else max_records
        sent = self._library.card_send(card, *map(_pointer, (data, offset, length, bad, earliest)), count, limit, _pointer(start))
        self._check_writes()
        return start[:sent]

    def idle(self, cycles):
        """Simulates cycles without frames; raises ``DeviceError`` like ``send``."""
        self._library.card_idle(self._open(), cycles)
        self._check_writes()

    @property
    def cycle(self):
        """The next cycle."""
        return self._library.card_cycle(self._open())

    @property
    def evaluated(self):
        """Cycles simulated since reset: ``cycle`` less the skipped ones."""
        return self._library.card_evaluated(self._open())

    @property
    def records(self):
        """Host writes taken since reset, of ``SIZE`` bytes each."""
        return self._library.card_writes(self._open())

    def close(self):
        """Frees the core and ends the FST."""
        if self._card is not None:
            self._card = None
            self._close()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    def _open(self):
        if self._card is None:
            raise DeviceError(f"{self.name} is closed")
        return self._card

    def _register(self, address):
        if address < 0 or address % 4 or address >> 32:
            raise ValueError(f"{address:#x} is no register address")
        return address

    def _answered(self, status, verb, address):
        if status:
            raise DeviceError(f"{self.name}: {verb} of register {address:#05x} {'was refused' if status == 2 else 'got no answer in 1,000 cycles'}")
        self._check_writes()

    def _check_writes(self):
        address = c_uint64()
        if stray := self._library.card_stray(self._card, byref(address)):
            raise DeviceError(f"{self.name}: {stray} of {self.records} host writes of {SIZE} bytes missed allocated memory or their alignment, "
                              f"the first at {address.value:#x}")

    def _earliest(self, time_ns, spacing):
        """First cycle in which each frame may begin."""
        if spacing == "minimum":
            return np.zeros(len(time_ns), np.int64)
        if spacing != "capture":
            raise ValueError(f"spacing must be minimum or capture, not {spacing!r}")
        if self._capture_start is None:
            self._capture_start = int(time_ns[0]), ns_of_cycle(self.cycle)
        capture, card = self._capture_start
        furthest = max(int(time_ns.max()) - capture, capture - int(time_ns.min()))
        if furthest + card > _LAST_NS:
            raise DeviceError(f"{self.name}: spacing as in the capture reaches {(_LAST_NS - card) // _DAY_NS} days, and a frame is {furthest // _DAY_NS:,} "
                              "days from the first one: use minimum spacing")
        return np.ascontiguousarray(cycle_of_ns(time_ns - capture + card))


def _check_writable(path):
    """The library would be silent about an FST that it cannot write."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.open("wb").close()
    except OSError as error:
        raise DeviceError(f"waves {path}: {error.strerror}") from error


def _load(path):
    try:
        loaded = ctypes.CDLL(str(path))
    except OSError as error:
        raise DeviceError(f"the virtual card cannot be loaded: {' '.join(str(error).split())}") from error
    for name, (result, *arguments) in _API.items():
        function = getattr(loaded, name)
        function.restype, function.argtypes = result, arguments
    return loaded


def _pointer(array):
    return array.ctypes.data_as(POINTER(c_uint8 if array.dtype == np.uint8 else c_int64))
