"""ITCH messages as a BinaryFILE, and as MoldUDP64 packets in a pcap with times in ns."""
from tickgate.capture.packing import NASDAQ, cuts, pack
from tickgate.capture.pcap import PcapRecords
from tickgate.spec import moldudp64

PREFIX = moldudp64.BLOCK.size


class BinaryFile:
    """A BinaryFILE with its end marker."""

    def __init__(self, file, about):
        self.file, self.rows = file, 0

    def write(self, blocks, size, time):
        """Message blocks as uint8, ``size`` of each without its length, and times in ns since midnight."""
        self.file.write(blocks.data)
        self.rows += len(size)

    def close(self):
        self.file.write(bytes(PREFIX))


class Pcap:
    """MoldUDP64 packets of one line, as ``tickgate.capture.NASDAQ`` packs them; a frame has the time of its last message."""

    def __init__(self, file, about):
        self.records, self.about, self.rows = PcapRecords(file), about, 0

    def write(self, blocks, size, time):
        """As ``BinaryFile.write``."""
        ends = (size + PREFIX).cumsum()
        starts, ends, times = (ends - size - PREFIX).tolist(), ends.tolist(), (time + self.about.source.midnight_ns).tolist()
        batch = pack(blocks.tobytes(), starts, ends, times, cuts(starts, ends, times, NASDAQ), moldudp64.FIRST_SEQUENCE + self.rows, NASDAQ)
        for frame, at in zip(batch, batch.time_ns.tolist()):
            self.records.write(at, frame)
        self.rows += len(size)

    def close(self):
        """Nothing follows the last packet."""
