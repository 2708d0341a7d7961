"""The MAC: frames as words on the core's ``rx`` port, and the card's clock of nanoseconds."""
from collections import deque

from cocotb.triggers import Event, RisingEdge

from tickgate.spec.clocks import ns_of_cycle
from tickgate_hdl.net.words import frame_word


class _Frame:
    def __init__(self, data, bad_fcs, gap):
        self.data, self.bad_fcs, self.gap = data, bad_fcs, gap
        self.cycles, self.sent = [], Event()


class Mac:
    """``run`` drives ``rx`` and ``time_ns`` for ever; ``send`` gives it a frame. ``cycle``: number of the cycle now, of which ``time_ns`` is the time.

    ``pause``: probability that a word comes late; ``idle``: fewest and most cycles between frames. What words hold beside the frame is random.
    """

    def __init__(self, dut, rng, *, lanes, pause=0.0, idle=(6, 8)):
        self.dut, self.rng, self.lanes, self.pause, self.idle = dut, rng, lanes, pause, idle
        self.cycle = 0
        self._layout, self._frames = frame_word(lanes), deque()

    async def send(self, data, bad_fcs=False):
        """A frame (bytes without FCS), after those that are waiting. Returns when it and the gap after it are over, with the cycle of each word."""
        frame = _Frame(data, bad_fcs, self.rng.randint(*self.idle))
        self._frames.append(frame)
        await frame.sent.wait()
        return frame.cycles

    def forget(self):
        """Drops what is waiting or half sent, as when the link goes down."""
        self._frames.clear()

    async def run(self):
        while True:
            self.dut.time_ns.value = ns_of_cycle(self.cycle)
            word = self._word()
            self.dut.rx__valid.value = word is not None
            self.dut.rx__payload.value = self.rng.getrandbits(self._layout.size) if word is None else self._layout.const(word).as_value().value
            await RisingEdge(self.dut.clk)
            self.cycle += 1

    def _word(self):
        """Fields of this cycle's word, or ``None``."""
        if not self._frames:
            return None
        frame, rng, lanes = self._frames[0], self.rng, self.lanes
        at = lanes * len(frame.cycles)
        if at >= len(frame.data):
            frame.gap -= 1
            if frame.gap <= 0:
                self._frames.popleft().sent.set()
            return None
        if rng.random() < self.pause:
            return None
        frame.cycles.append(self.cycle)
        part, last = frame.data[at:at + lanes], at + lanes >= len(frame.data)
        return dict(data=int.from_bytes(part + rng.randbytes(lanes - len(part)), "little"), first=int(at == 0), last=int(last),
                    count=len(part) if last else rng.randrange(lanes + 1), error=int(frame.bad_fcs) if last else rng.randrange(2))
