"""Which orders the order table has room for: d-left hashing, counted, not stored.

What the table finds is the same as what a dictionary finds; only its losses differ, and they depend on how full each bucket is.
"""
from tickgate.spec.hashing import bucket

_LANE = 32   # bits kept for the bucket of one subtable in a combined hash


class Capacity:
    """Places taken in each bucket of ``preset``'s order table."""

    def __init__(self, preset):
        self.tables, self.ways = preset.tables, preset.ways
        self.reference_bits = preset.reference_bits
        self._taken = [bytearray(1 << preset.index_bits) for _ in range(preset.tables)]
        self._shifts = [_LANE * k for k in range(preset.tables)]
        self._byte_hashes = self._hashes_by_byte(preset)

    @staticmethod
    def _hashes_by_byte(preset):
        """All subtables' hashes side by side, for each value of each byte of a reference. The hashes are XORs, so these XOR to the whole."""
        def combined(reference):
            return sum(bucket(reference, k, preset.index_bits, preset.reference_bits) << _LANE * k for k in range(preset.tables))

        hashes = []
        for low in range(0, preset.reference_bits, 8):
            values = [0]
            for bit in range(low, min(low + 8, preset.reference_bits)):
                one = combined(1 << bit)
                values += [one ^ value for value in values]
            hashes.append(values)
        return hashes

    def buckets(self, reference):
        """Bucket of a reference (not a wide one) in each subtable."""
        combined = 0
        for values in self._byte_hashes:
            combined ^= values[reference & 0xFF]
            reference >>= 8
            if not reference:
                break
        return [combined >> shift & 0xFFFFFFFF for shift in self._shifts]

    def is_wide(self, reference):
        """Whether the table keeps fewer bits than the reference has."""
        return reference >> self.reference_bits != 0

    def take(self, reference):
        """Take a place in the emptiest bucket, the lowest subtable on ties: the room (subtable, bucket), or ``None`` when all are full."""
        least, room = self.ways, None
        for k, index in enumerate(self.buckets(reference)):
            taken = self._taken[k][index]
            if taken < least:
                least, room = taken, (k, index)
        if room:
            self._taken[room[0]][room[1]] += 1
        return room

    def give_back(self, room):
        """The order in this room is gone."""
        self._taken[room[0]][room[1]] -= 1

    @property
    def live(self):
        """Orders in the table."""
        return sum(sum(taken) for taken in self._taken)
