"""One card: identity, registers, symbols, filters, start."""
import dataclasses
import time
from ipaddress import IPv4Address

from ..spec import registers as spec
from ..spec.moldudp64 import FIRST_SEQUENCE
from ..spec.presets import PRESETS, TICK_SIZES, Preset
from .errors import CardError
from .registers import registers_of

TRACK, STALE = spec.SYMBOL["flags"].mask("track"), spec.SYMBOL["flags"].mask("stale")
FILTER_IN_USE = spec.NET["port0"].mask("in_use")
READY_SECONDS = 10


class Card:
    """A card behind ``device``, any ``tickgate.device.Device``. It stays the caller's: closing it is not the card's affair.

    Registers are attributes by block and name: ``card.net.frames`` reads the counter, ``card.ring.size_log2 = 16`` writes. ``device`` is the
    device, ``preset`` what this build of the core holds. Raises ``CardError`` when the card is not there or is not one this software knows.
    """

    def __init__(self, device):
        self.device = device
        for block in spec.BLOCKS:
            setattr(self, block.name, registers_of(block)(device))
        magic = self.id.magic
        if magic == spec.LINK_DOWN:
            raise CardError(f"card {device.name}: the link is down, registers read as all ones")
        if magic != spec.MAGIC:
            raise CardError(f"card {device.name}: no Tickgate core here, its first register reads {magic:#010x} instead of {spec.MAGIC:#010x}")
        if (version := self.id.version) != spec.VERSION:
            raise CardError(f"card {device.name}: its registers are version {version}, this software knows version {spec.VERSION}")
        self.preset = self._preset()

    def _preset(self):
        sizes = {f.name: getattr(self.id, f.name) for f in dataclasses.fields(Preset) if f.name != "name"}
        try:
            preset = Preset(name="of the card", **sizes)
        except ValueError as error:
            raise CardError(f"card {self.device.name}: {error}") from None
        return next((known for known in PRESETS.values() if dataclasses.replace(preset, name=known.name) == known), preset)

    def counters(self):
        """Every counter of the card: ``{block: {name: value}}``. They are read one after the other, so they are of one moment only while it idles."""
        blocks = {block.name: {r.name: getattr(getattr(self, block.name), r.name) for r in block.registers if r.access == "count"}
                  for block in spec.BLOCKS}
        return {name: counters for name, counters in blocks.items() if counters}

    def type_counts(self):
        """Messages by type, ``{"A": 12, …}``, for every type byte that came; known or not."""
        counts = {}
        for code in range(256):
            self.feed.type_select = code
            if count := self.feed.type_count:
                counts[chr(code)] = count
        return counts

    def wait_ready(self, seconds=READY_SECONDS):
        """Return once the memories of the card are clear; raises ``CardError`` when that takes longer than ``seconds``."""
        end = time.monotonic() + seconds
        while not self.control.ready:
            if time.monotonic() > end:
                raise CardError(f"card {self.device.name}: memories not clear after {seconds} s")

    def clear(self):
        """Empty order table, books and symbol states. Counters and loaded symbols stay, but each is stale until it is loaded again: so stop first, and load
        and start after it."""
        self.control.clear = 1
        self.wait_ready()

    def load_symbols(self, symbols):
        """Load ``symbols``, such as ``tickgate.twin`` has them: anything with slot, locate, base and tick (1e-4 USD) and stale.

        Slots that are not named keep what they have. Raises ``CardError``, before anything is written, for a slot that the card does not have,
        a slot or locate named twice, a tick size that is not in ``TICK_SIZES``, or a base or locate out of range.
        """
        symbols, slots, locates = list(symbols), set(), set()
        for s in symbols:
            if not 0 <= s.slot < self.preset.symbols:
                raise CardError(f"symbol slot {s.slot}: the card has {self.preset.symbols}, from 0")
            if s.slot in slots or s.locate in locates:
                raise CardError(f"symbol slot {s.slot}, locate {s.locate}: slot or locate is named twice")
            if s.tick not in TICK_SIZES:
                raise CardError(f"symbol slot {s.slot}: tick must be one of {TICK_SIZES}, not {s.tick}")
            if not (0 <= s.base < 1 << 32 and 0 <= s.locate < 1 << 16):
                raise CardError(f"symbol slot {s.slot}: base {s.base} or locate {s.locate} out of range")
            slots.add(s.slot)
            locates.add(s.locate)
        self.wait_ready()
        for s in symbols:
            self.symbol.locate, self.symbol.base, self.symbol.tick = s.locate, s.base, TICK_SIZES.index(s.tick)
            self.symbol.flags = TRACK | STALE * bool(s.stale)
            self.symbol.load = s.slot

    def forget(self, slots):
        """Track nothing in ``slots`` any more. Raises ``CardError``, before anything is written, for a slot that the card does not have."""
        slots = sorted(slots)
        for slot in slots:
            if not 0 <= slot < self.preset.symbols:
                raise CardError(f"symbol slot {slot}: the card has {self.preset.symbols}, from 0")
        self.wait_ready()
        self.symbol.flags = STALE
        for slot in slots:
            self.symbol.load = slot

    def set_filters(self, destinations):
        """Let datagrams to ``destinations`` through, and no others: pairs of IPv4 address (number or dotted text) and UDP port.

        The number of the pair is the ``source`` of its records. Raises ``CardError``, before anything is written, when there are more than the
        card has filters, or one is out of range.
        """
        filters = []
        for group, port in destinations:
            try:
                group = int(IPv4Address(group))
            except ValueError:
                raise CardError(f"filter {group}:{port}: not an IPv4 address") from None
            if not 0 <= port < 1 << 16:
                raise CardError(f"filter {IPv4Address(group)}:{port}: port out of range")
            filters.append((group, port))
        if len(filters) > self.preset.filters:
            raise CardError(f"{len(filters)} filters asked for, the card has {self.preset.filters}")
        for k in range(self.preset.filters):
            setattr(self.net, f"port{k}", 0)  # not in use while it changes
            if k < len(filters):
                group, port = filters[k]
                setattr(self.net, f"group{k}", group)
                setattr(self.net, f"port{k}", FILTER_IN_USE | port)

    def start(self, first=FIRST_SEQUENCE):
        """Take frames: forget the session, expect message ``first`` next. Waits until memories are clear."""
        self.wait_ready()
        self.mold.start = first
        self.mold.restart = 1
        self.control.enable = 1
        if not self.control.enable:  # a write is answered before it is in force; a read that follows is not
            raise CardError(f"card {self.device.name}: does not take frames although it was told to")

    def stop(self):
        """Take no more frames: each one is dropped and counted."""
        self.control.enable = 0
        if self.control.enable:  # as in start
            raise CardError(f"card {self.device.name}: takes frames although it was told not to")
