"""The event record in gateware: 64 bytes, byte 0 in bits 7:0, fields from the tables of ``tickgate.spec.records``."""
from tickgate.spec import records

from ..stream.layout import struct

#: What all kinds share; the kind's own fields are in ``body``.
Record = struct(records.COMMON)

#: The whole record of one kind, by the kind's name: the same bits as ``Record``, with names for those of the body.
KINDS = {name: struct(layout) for name, layout in records.RECORDS.items()}
