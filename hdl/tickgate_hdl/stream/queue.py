"""A queue between two streams, in LUT memory."""
from amaranth import Module, Signal
from amaranth.lib import memory, stream, wiring
from amaranth.lib.wiring import In, Out


class Queue(wiring.Component):
    """First in, first out: ``depth`` payloads in memory and one more in the output register.

    ``depth`` must be a power of two of at least 2. Full: ``i.ready`` is low, nothing is lost. ``LATENCY`` cycles from a transfer at ``i`` to the
    payload at ``o`` when the queue is empty; one payload a cycle. All outputs are registered, but for the ready.
    """

    LATENCY = 2

    def __init__(self, shape, *, depth):
        if depth < 2 or depth & depth - 1:
            raise ValueError(f"depth must be a power of two of at least 2, not {depth}")
        self.depth = depth
        self._shape = shape
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform):
        m = Module()
        m.submodules.store = store = memory.Memory(shape=self._shape, depth=self.depth, init=[])
        write, read = store.write_port(), store.read_port(domain="comb")
        # one bit more than an address has tells full from empty
        head = Signal(range(2 * self.depth))  # next to leave
        tail = Signal(range(2 * self.depth))  # next to fill
        advance = Signal()
        payload = Signal(self._shape, reset_less=True)

        m.d.comb += [
            self.i.ready.eq((tail ^ head) != self.depth),
            write.en.eq(self.i.valid & self.i.ready), write.addr.eq(tail), write.data.eq(self.i.payload),
            read.addr.eq(head),
            advance.eq(~self.o.valid | self.o.ready),
            self.o.payload.eq(payload),
        ]
        m.d.sync += tail.eq(tail + write.en)
        with m.If(advance):
            m.d.sync += [
                self.o.valid.eq(head != tail), payload.eq(read.data),
                head.eq(head + (head != tail)),
            ]
        return m
