"""SoupBinTCP packets out of a byte stream that is cut anywhere."""
from tickgate.spec import soupbintcp as soup

_LENGTH, _HEAD = soup.HEADER["length"].size, soup.HEADER.size


class PacketError(ValueError):
    """The stream is no SoupBinTCP: a packet without a type."""


class Splitter:
    """Feed bytes, get packets. ``partial``: bytes of a packet that is not whole yet, which whoever takes the connection over must be given."""

    def __init__(self, partial=b""):
        self.partial = bytearray(partial)

    @property
    def promised(self):
        """Length that the packet has which is not whole yet, its type included; 0 while nobody knows."""
        return int.from_bytes(self.partial[:_LENGTH], "big") if len(self.partial) >= _LENGTH else 0

    def feed(self, data):
        """Yield (type, payload) of every packet that is whole now. Raises ``PacketError``, after the packets before it."""
        self.partial += data
        at = 0
        try:
            while len(self.partial) - at >= _LENGTH:
                length = int.from_bytes(self.partial[at:at + _LENGTH], "big")
                if not length:
                    raise PacketError("a packet has length 0, which leaves no room for its type")
                end = at + _LENGTH + length
                if end > len(self.partial):
                    break
                kind, payload = bytes(self.partial[at + _LENGTH:at + _HEAD]), bytes(self.partial[at + _HEAD:end])
                at = end
                yield kind, payload
        finally:
            del self.partial[:at]
