"""Host memory behind the core's ``writes`` port, with the event ring in it."""
from cocotb.triggers import ReadOnly, RisingEdge

from tickgate.spec import records
from tickgate_hdl.dma.ring import HostWrite

_LAP_BYTE = records.COMMON["number"].end - 1


class HostMemory:
    """Takes writes and keeps them at their address; ``take`` gives the new records of the ring as the host finds them: by the lap bit alone.

    ``base``, ``size_log2``: of the ring; ``ready``: probability that a write is taken in a cycle, may be changed at any time. ``taken``: records that
    ``take`` has given, which is the credit to write. A write elsewhere than to the next place is an assertion error, and so is one
    that changes while it waits.
    """

    def __init__(self, dut, rng, *, base, size_log2, ready=1.0):
        self.dut, self.rng, self.base, self.size_log2, self.ready = dut, rng, base, size_log2, ready
        self.memory = bytearray(records.SIZE << size_log2)
        self.written = self.taken = 0
        dut.writes__ready.value = 0

    async def run(self):
        """Serves the port for ever."""
        dut, waiting = self.dut, None
        while True:
            dut.writes__ready.value = ready = int(self.rng.random() < self.ready)
            await ReadOnly()
            valid, payload = bool(dut.writes__valid.value), dut.writes__payload.value
            if waiting is not None:
                assert valid and payload == waiting, "a write changed while it waited"
            waiting = payload if valid and not ready else None
            if valid and ready and not dut.rst.value:
                self._write(HostWrite.from_bits(int(payload)))
            await RisingEdge(dut.clk)

    def _write(self, write):
        at = records.SIZE * (self.written % (1 << self.size_log2))
        assert write.address == self.base + at, f"write {self.written} goes to {write.address:#x}, not {self.base + at:#x}"
        self.memory[at:at + records.SIZE] = write.data.to_bytes(records.SIZE, "little")
        self.written += 1

    def take(self, most=1 << 32):
        """Generator of records (bytes, lap bit cleared) that are new, ``most`` of them at most."""
        while most:
            lap, place = divmod(self.taken, 1 << self.size_log2)
            at = records.SIZE * place
            raw = self.memory[at:at + records.SIZE]
            if raw[_LAP_BYTE] >> 7 == lap % 2:
                return
            raw[_LAP_BYTE] &= 0x7F
            self.taken += 1
            most -= 1
            yield bytes(raw)
