"""Arrays for the engine: aligned to cache lines, and larger when they must be."""
import numpy as np

CACHE_LINE = 64   # bytes


def empty(size, dtype):
    """An array whose first row is on a cache line; what is in it is undefined. Memory comes when it is touched."""
    dtype = np.dtype(dtype)
    raw = np.empty(size * dtype.itemsize + CACHE_LINE, np.uint8)
    skip = -raw.ctypes.data % CACHE_LINE
    return raw[skip:skip + size * dtype.itemsize].view(dtype)


def zeros(size, dtype):
    """The same, all zero."""
    dtype = np.dtype(dtype)
    raw = np.zeros(size * dtype.itemsize + CACHE_LINE, np.uint8)
    skip = -raw.ctypes.data % CACHE_LINE
    return raw[skip:skip + size * dtype.itemsize].view(dtype)


def grown(array, used, size):
    """A larger array that begins with the ``used`` first rows of this one."""
    larger = empty(size, array.dtype)
    larger[:used] = array[:used]
    return larger


class Output:
    """Rows that the engine writes, in blocks: one nearly always. ``least``: bytes of the stream that each row takes at least; ``None``: no rows."""

    BLOCK = 1 << 30   # bytes of a block at most; only what is written becomes memory

    def __init__(self, dtype, least, spare):
        self.dtype, self.least, self.spare = dtype, least, spare
        self._full, self._block, self._used = [], None, 0

    def reserve(self, size):
        """Address and room for the rows of the next ``size`` bytes; room is at least ``spare``, and may be less than all of them."""
        if self.least is None:
            return 0, self.spare
        if self._block is None or len(self._block) - self._used < self.spare:
            if self._block is not None:
                self._full.append(self._block[:self._used])
            rows = min(size // self.least, self.BLOCK // self.dtype.itemsize) + 2 * self.spare
            self._block, self._used = empty(rows, self.dtype), 0
        return self._block.ctypes.data + self._used * self.dtype.itemsize, len(self._block) - self._used

    def wrote(self, rows):
        self._used += int(rows)

    def take(self):
        """All rows since the last call."""
        if self._block is None:
            return np.empty(0, self.dtype)
        blocks = [*self._full, self._block[:self._used]]
        self._full, self._block, self._used = [], None, 0
        return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
