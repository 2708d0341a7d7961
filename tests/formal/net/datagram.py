"""DatagramReceiver: every frame counts once, by one cause."""
from amaranth import Signal, Value

from tickgate_hdl.net.datagram import COUNTERS, DatagramReceiver
from tickgate_sim.formal import proof

NET = "tickgate_hdl.net.datagram"
ONCE = [name for name in COUNTERS if name not in ("frames", "bad_fcs")]


@proof("every frame counts in `frames` and in one of the others, datagram or cause of the drop; a datagram ends exactly when it counts",
       engine="bmc3", depth=60, within=24, mutants=[
    (NET, "e.not_ready.eq(ended.valid & ~ended.taken)", "e.not_ready.eq(ended.valid & ~taken)"),
    (NET, "e.fragment.eq(whole & ~bad_header & fragment)", "e.fragment.eq(whole & fragment)"),
])
def counted(b):
    """Any frames, back to back, of one word or more; the line may pause at any time. The filter stays as it is."""
    net = b.part(DatagramReceiver(filters=1))
    b.drive(net.filters, b.fixed("filter", len(Value.cast(net.filters))))
    word, under_way = net.frames.p, Signal()
    with b.m.If(net.frames.valid):
        b.m.d.sync += under_way.eq(~word.last)
    b.assume(~net.frames.valid | (word.first == ~under_way))
    b.assume((word.count >= 1) & (word.count <= 4))
    e = net.events
    b.prove("one cause a frame", sum(e[name] for name in ONCE) == e.frames)
    b.prove("its end is told", net.ends.valid == e.datagrams)
    for name in ONCE:
        b.cover(name, e[name])
