"""Queue: nothing is lost, doubled, reordered or changed."""
from amaranth import Signal

from tickgate_hdl.stream.queue import Queue
from tickgate_sim.formal import proof

QUEUE = "tickgate_hdl.stream.queue"
DEPTH = 4


@proof("what goes in comes out once, unchanged and in order; the queue holds no more than depth + 1", quick=True, mutants=[
    (QUEUE, "(tail ^ head) != self.depth", "(tail ^ head) != self.depth + 1"),
    (QUEUE, "advance.eq(~self.o.valid | self.o.ready)", "advance.eq(1)"),
])
def order(b):
    """One payload, any one, is followed from its way in: ``ahead`` counts those before it."""
    queue = b.part(Queue(3, depth=DEPTH))
    enters, leaves = queue.i.valid & queue.i.ready, queue.o.valid & queue.o.ready
    pick = b.free("pick")
    held, ahead = Signal(range(DEPTH + 3)), Signal(range(DEPTH + 3))
    followed, payload = Signal(), Signal(3)
    b.m.d.sync += held.eq(held + enters - leaves)
    with b.m.If(~followed & pick & enters):
        b.m.d.sync += [followed.eq(1), payload.eq(queue.i.payload), ahead.eq(held - leaves)]
    with b.m.Elif(followed & leaves):
        b.m.d.sync += [ahead.eq(ahead - 1), followed.eq(ahead != 0)]
    b.prove("never more than depth + 1", held <= DEPTH + 1)
    b.prove("nothing comes out that did not go in", ~queue.o.valid | (held != 0))
    b.prove("it comes out behind those before it, unchanged", ~(followed & (ahead == 0) & queue.o.valid) | (queue.o.payload == payload))
    b.cover("full", held == DEPTH + 1)
    b.cover("the one that is followed leaves a full queue last", followed & leaves & (ahead == DEPTH))


@proof("a payload that is offered stays, unchanged, until it is taken", quick=True, mutants=[
    (QUEUE, "advance.eq(~self.o.valid | self.o.ready)", "advance.eq(1)")])
def stall(b):
    queue = b.part(Queue(3, depth=DEPTH))
    stalled = b.before(queue.o.valid & ~queue.o.ready, "stalled")
    b.prove("valid stays", ~stalled | queue.o.valid)
    b.prove("payload stays", ~stalled | (queue.o.payload == b.before(queue.o.payload, "payload")))
    b.cover("stalled, and another one waits", stalled & queue.i.valid & ~queue.i.ready)
