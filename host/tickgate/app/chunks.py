"""Batches of frames cut so that their records fit the event ring."""

#: No frame gives more than one record per this many of its bytes: a 12-byte system event in its block of 14 gives one, a 36-byte C in its block of 38
#: two, and up to two gaps a frame (62 bytes at least) come on top.
BYTES_A_RECORD = 8


def chunks(batches, most_bytes):
    """The same frames in batches of at most ``most_bytes()`` of frames each, one frame at least."""
    for batch in batches:
        end, first = batch.length.cumsum(dtype="i8"), 0
        while first < len(batch):
            before = int(end[first - 1]) if first else 0
            last = max(first + 1, int(end.searchsorted(before + most_bytes(), "right")))
            yield batch[first:last]
            first = last
