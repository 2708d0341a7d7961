"""Batches of frames, and what reading a capture found besides them."""
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class FrameBatch:
    """Some frames, from the destination address on, without copying them apart; a sequence of ``bytes`` as well.

    ``data`` uint8: bytes that hold the frames; ``offset`` int64[n]: where each begins; ``length`` int32[n]: its captured bytes, at least 1;
    ``time_ns`` int64[n]: ns since 1970 (pcap, pcapng) or since midnight (BinaryFILE).
    """

    data: np.ndarray
    offset: np.ndarray
    length: np.ndarray
    time_ns: np.ndarray

    @classmethod
    def of(cls, frames, times):
        """From a list of ``bytes`` and their times in ns."""
        length = np.fromiter(map(len, frames), np.int32, len(frames))
        end = np.cumsum(length, dtype=np.int64)
        return cls(np.frombuffer(b"".join(frames), np.uint8), end - length, length, np.array(times, np.int64))

    @classmethod
    def within(cls, data, offsets, lengths, times):
        """From frames that lie in ``data``."""
        return cls(np.frombuffer(data, np.uint8), np.array(offsets, np.int64), np.array(lengths, np.int32), np.array(times, np.int64))

    def __len__(self):
        return len(self.offset)

    def __getitem__(self, k):
        if isinstance(k, slice):
            return FrameBatch(self.data, self.offset[k], self.length[k], self.time_ns[k])
        start = self.offset[k]
        return self.data[start:start + self.length[k]].tobytes()


@dataclass
class Report:
    """What reading a capture found; complete when the iteration over its frames has ended."""

    kind: str                     # pcap, pcapng, BinaryFILE ITCH, LOBSTER or DBN
    compressed: bool = False
    frames: int = 0               # frames given out
    messages: int = 0             # BinaryFILE: messages packed into them; LOBSTER, DBN: rows
    snapped: int = 0              # frames of which the capture kept only the beginning
    empty: int = 0                # frames of which it kept nothing: not given out
    end_of_session: bool = False  # BinaryFILE: its end marker was there
    tail_bytes: int = 0           # bytes of a last record that is cut off
    tail_offset: int = 0          # where they begin
    resyncs: int = 0              # BinaryFILE: times that something was passed over because it was no message
    skipped_bytes: int = 0        # bytes passed over
    skipped_records: int = 0      # DBN: records that are no MBO
    compressed_cut: bool = False  # the compressed stream ends early

    def warnings(self):
        """One line for each thing a reader of the results should know."""
        if self.resyncs:
            yield f"{self.skipped_bytes} bytes in {self.resyncs} places are no messages: passed over"
        if self.skipped_records:
            yield f"{self.skipped_records} records are no MBO: left out"
        if self.compressed_cut:
            yield "the compressed stream is cut off; what it held up to there is used"
        if self.tail_bytes:
            yield f"the last record is cut off: {self.tail_bytes} bytes from offset {self.tail_offset} are not used"
        if self.snapped:
            yield f"{self.snapped} frames are shorter in the capture than they were on the wire"
        if self.empty:
            yield f"{self.empty} frames without any byte are left out"
