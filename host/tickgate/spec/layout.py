"""Layouts of bytes: one declaration for encoder, decoder, numpy dtype, gateware view, C header and documentation.

A ``Layout`` is checked when it is made: fields in order, without gap or overlap, adding up to its size, every number with its unit.
"""
from dataclasses import dataclass
from functools import cached_property

import numpy as np

KINDS = {
    "uint": "unsigned integer",
    "alpha": "ASCII, padded on the right with spaces",
    "bytes": "bytes as they are",
}


class LayoutError(ValueError):
    """A table contradicts itself."""


@dataclass(frozen=True)
class Field:
    """One field: ``offset`` and ``size`` in bytes from the start of its layout."""

    name: str
    offset: int
    size: int
    kind: str = "uint"
    unit: str = ""
    doc: str = ""

    @property
    def end(self):
        """Offset of the first byte after the field."""
        return self.offset + self.size


@dataclass(frozen=True)
class Layout:
    """A fixed sequence of fields; ``order`` is its byte order, ``code`` the first byte that tells it from its siblings."""

    name: str
    size: int
    fields: tuple
    order: str = "big"
    code: bytes = b""
    doc: str = ""
    source: str = ""

    def __post_init__(self):
        def fail(why):
            raise LayoutError(f"layout {self.name}: {why}")

        if self.order not in ("big", "little"):
            fail(f"byte order must be big or little, not {self.order!r}")
        at, seen = 0, set()
        for f in self.fields:
            if f.kind not in KINDS:
                fail(f"field {f.name}: unknown kind {f.kind!r}")
            if f.name in seen:
                fail(f"field {f.name} is declared twice")
            if f.offset != at:
                fail(f"field {f.name} starts at {f.offset}, the one before it ends at {at}: {'overlap' if f.offset < at else 'gap'}")
            if f.kind == "uint" and not f.unit:
                fail(f"field {f.name}: a number needs its unit")
            seen.add(f.name)
            at = f.end
        if at != self.size:
            fail(f"fields end at {at}, size is {self.size}")

    @cached_property
    def field(self):
        """Fields by name."""
        return {f.name: f for f in self.fields}

    def __getitem__(self, name):
        return self.field[name]

    @cached_property
    def dtype(self):
        """numpy structured dtype of one row. Integers of 3, 5, 6 or 7 bytes have no numpy type and stay ``V``: use ``decode``."""
        end = ">" if self.order == "big" else "<"

        def form(f):
            if f.kind == "uint" and f.size in (1, 2, 4, 8):
                return "u1" if f.size == 1 else f"{end}u{f.size}"
            return f"S{f.size}" if f.kind == "alpha" else f"V{f.size}"

        return np.dtype({"names": [f.name for f in self.fields], "formats": [form(f) for f in self.fields],
                         "offsets": [f.offset for f in self.fields], "itemsize": self.size})

    def encode(self, **values):
        """Bytes of the layout; fields not named are zero (spaces for text, the code for the type byte).

        Raises ``ValueError`` for an unknown name or a value that does not fit, never truncates.
        """
        unknown = values.keys() - self.field.keys()
        if unknown:
            raise ValueError(f"{self.name} has no field {', '.join(sorted(unknown))}")
        raw = bytearray(self.size)
        for f in self.fields:
            value = values.get(f.name)
            if f.kind == "uint":
                try:
                    part = int(value or 0).to_bytes(f.size, self.order)
                except OverflowError:
                    raise ValueError(f"{self.name}.{f.name}: {value} does not fit {f.size} bytes") from None
            else:
                part = value.encode() if isinstance(value, str) else bytes(value or b"")
                if len(part) > f.size:
                    raise ValueError(f"{self.name}.{f.name}: {part!r} is longer than {f.size} bytes")
                part = part.ljust(f.size, b" " if f.kind == "alpha" else b"\0")
            raw[f.offset:f.end] = part
        if self.code and self.fields[0].name not in values:
            raw[:len(self.code)] = self.code
        return bytes(raw)

    def decode(self, raw, base=0):
        """Fields by name from ``raw[base:]``: integers, and bytes for text. Raises ``ValueError`` when it is too short."""
        if len(raw) - base < self.size:
            raise ValueError(f"{self.name} needs {self.size} bytes, {len(raw) - base} are there")
        return {f.name: int.from_bytes(raw[base + f.offset:base + f.end], self.order) if f.kind == "uint"
                else bytes(raw[base + f.offset:base + f.end]) for f in self.fields}
