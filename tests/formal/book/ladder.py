"""Ladder: the top of book after every operation is that of a plain list of orders."""
from amaranth import Array, Cat, Const, Mux, Signal
from amaranth.lib import data

from tickgate_hdl.book.ladder import Ladder
from tickgate_sim.formal import proof

LADDER = "tickgate_hdl.book.ladder"
TICK, COUNT, QUANTITY, ORDERS = 4, 3, 1, 4
LAST = (1 << TICK) - 1
BASE = 5                                                            # price of the lowest tick; the tick is 1
LATE_ADD, AGAIN, LATE_REPLACE = 5, 2, 3                             # cycles in the book: fast_valid to adds, old order's removal to fast_valid, to adds
NOTHING, REMOVE, ADD = range(3)
Order = data.StructLayout({"live": 1, "slot": 1, "side": 1, "rank": TICK, "outside": 1, "qty": QUANTITY})


def best_of(m, orders, slot, side, name):
    """What a look at every order says of one side: rank of the best, whether there is one, its quantity, whether it is unknown."""
    here = [o.live & (o.slot == slot) & (o.side == side) for o in orders]
    inside = [h & ~o.outside for h, o in zip(here, orders)]
    best, lowest = Signal(TICK, name=f"{name}_best"), Const(LAST, TICK)
    for i, o in zip(inside, orders):
        lowest = Mux(i & (o.rank < lowest), o.rank, lowest)
    m.d.comb += best.eq(lowest)
    some = Cat(inside).any()
    near, far = (Cat([h & o.outside & (o.rank[0] == k) for h, o in zip(here, orders)]).any() for k in (1, 0))
    return best, some, sum(Mux(i & (o.rank == best), o.qty, 0) for i, o in zip(inside, orders)), near | far & ~some


def drive(b, *, first_adds, symbols, drain=False):
    """A ladder with operations as close as the book brings them: ``first_adds`` adds, then adds, removals, replaces and misses in any order, up to ORDERS
    orders live; with ``drain`` the orders are of one side, inside, and then go one after the other, in any order.

    Returns the ladder, the orders, and for the cycle of each top of book: that it is due, and its slot. A top of book comes two cycles after a removal,
    and two after ``fast_valid`` of an add. What is added comes at ``adds`` LATE_ADD cycles after its ``fast_valid``, that of a replace LATE_REPLACE. The
    next operation may come 5 cycles after a removal and 4 after ``adds``.
    """
    m = b.m
    ladder = b.part(Ladder(symbols=2, tick_bits=TICK, count_bits=COUNT))
    orders = Array([Signal(Order, name=f"order{k}") for k in range(ORDERS)])
    wait, done = Signal(range(16), init=2), Signal(range(first_adds + 1))   # cycles to the next operation
    now, opening = wait == 0, done != first_adds
    go = Mux(now, Mux(opening, ADD, REMOVE if drain else b.free("go", 2)), NOTHING)
    which = Mux(opening, done, b.free("which", range(ORDERS)))[:(ORDERS - 1).bit_length()]
    take, new = b.free("take", QUANTITY), b.free("new", Order)
    whole, miss, replace = (Const(1), Const(0), Const(0)) if drain else (b.free("whole"), b.free("miss"), b.free("replace"))
    o = Signal(Order)
    m.d.comb += o.eq(orders[which])
    misses = (go == REMOVE) & miss
    removes = (go == REMOVE) & ~miss & o.live
    replaces = removes & replace & whole
    adds, again = (go == ADD) & ~o.live, b.before(replaces, "replaces", AGAIN)
    fast = adds | again
    m.d.sync += done.eq(done + (now & opening))
    with m.If(adds):
        m.d.sync += wait.eq(LATE_ADD + 4 - 1)
    with m.Elif(replaces):
        m.d.sync += wait.eq(AGAIN + LATE_REPLACE + 4 - 1)
    with m.Elif(removes | misses):
        m.d.sync += wait.eq(5 - 1)
    with m.Elif(~now):
        m.d.sync += wait.eq(wait - 1)
    # ---- the order that comes
    old, old_which = Signal(Order), Signal.like(which)
    with m.If(replaces):
        m.d.sync += [old.eq(o), old_which.eq(which)]
    n, price = Signal(Order), Signal(32)
    m.d.comb += [n.eq(new), n.live.eq(1), n.slot.eq(Mux(again, old.slot, new.slot & (symbols > 1))), n.side.eq(Mux(again, old.side, new.side)),
                 *([n.side.eq(b.fixed("one_side")), n.outside.eq(0), n.qty.eq(0)] if drain else []),
                 price.eq(BASE + (n.rank ^ Mux(n.side, 0, LAST)))]
    n1, fast1, again1, which1 = b.before(n, "new"), b.before(fast, "fast"), b.before(again, "again"), b.before(which, "which_was")
    with m.If(removes):
        with m.If(whole | (take >= o.qty)):
            m.d.sync += orders[which].live.eq(0)
        with m.Else():
            m.d.sync += orders[which].qty.eq(o.qty - take)
    with m.If(fast1):
        m.d.sync += orders[Mux(again1, old_which, which1)].eq(n1)
    # ---- the ladder's ports
    late = b.before(again, "again_late", LATE_REPLACE)
    add_now = b.before(adds, "adds_late", LATE_ADD) | late
    added = Signal(Order)
    added_price = Mux(late, b.before(price, "price_again", LATE_REPLACE), b.before(price, "price_late", LATE_ADD))
    m.d.comb += added.eq(Mux(late, b.before(n, "new_again", LATE_REPLACE).as_value(), b.before(n, "new_late", LATE_ADD).as_value()))
    slot = Signal()
    m.d.comb += slot.eq(Mux(add_now, added.slot, o.slot))
    b.assume(~(removes | misses | add_now) | (slot == b.before(ladder.next_slot, "next_slot")))

    def ports(prefix, **values):
        for name, value in values.items():
            b.drive(getattr(prefix, name) if not isinstance(prefix, str) else getattr(ladder, f"{prefix}_{name}"), value)

    removal, addition = Signal(ladder.removals.p.shape()), Signal(ladder.adds.p.shape())
    m.d.comb += [removal.quiet.eq(replaces), removal.miss.eq(misses), removal.side.eq(o.side), removal.rank.eq(o.rank), removal.outside.eq(o.outside),
                 removal.qty.eq(take), removal.order_qty.eq(o.qty), removal.whole.eq(whole), addition.side.eq(added.side), addition.rank.eq(added.rank),
                 addition.outside.eq(added.outside), addition.qty.eq(added.qty), addition.price.eq(added_price)]
    ports(ladder.removals, valid=removes | misses, payload=removal)
    ports(ladder.adds, valid=add_now, payload=addition)
    ports("fast", valid=fast, asks=fast, kept=again, slot=n.slot, side=n.side, price=price, qty=n.qty, inside=~n1.outside,
          near=n1.outside & n1.rank[0], far=n1.outside & ~n1.rank[0])
    ports("load", slot=~b.first, base=BASE, tick=2)
    ports(ladder, load=b.first | b.before(b.first, "second"), clear=0)
    due = b.before(removes & ~replaces | misses, "due", 2) | b.before(fast1, "fast_due")
    return ladder, list(orders), due, Mux(b.before(fast1, "fast_top"), b.before(n1, "new_top").slot, b.before(slot, "slot_top", 2))


def covers(b, ladder, orders):
    """Three levels of four are left, after a removal; a replace gives the best possible price."""
    levels = Cat([Cat([o.live & ~o.side & ~o.slot & ~o.outside & (o.rank == k) for o in orders]).any() for k in range(1 << TICK)])
    b.cover("three levels of four are left, the best one went", ladder.tops.valid & (sum(levels) == 3) & b.before(levels, "levels", 2)[0] & ~levels[0]
            & (sum(b.before(levels, "four", 2)) == 4))
    b.cover("a replace gives the best possible price", ladder.tops.valid & ladder.tops.p.add & levels[0] & b.before(ladder.fast_kept, "kept", 2))
    b.cover("a side is unknown", ladder.tops.valid & ladder.tops.p.ask.unknown & ~ladder.tops.p.bid.unknown)


@proof("after any four adds to a symbol, and any two operations more, the best price is the highest (lowest) occupied tick, and a side is unknown exactly "
       "while orders outside say so", engine="bmc3", depth=46, seconds=1800, mutants=[
    (LADDER, "return near | far & ~some", "return near | far"),
    (LADDER, "empty_b1 | self.fast_inside & f_better", "empty_b1 | f_better"),
])
def best(b):
    ladder, orders, due, slot = drive(b, first_adds=4, symbols=1)
    b.prove("one top of book, two cycles after", ladder.tops.valid == due)
    for side, name in enumerate(("bid", "ask")):
        rank, some, _, unknown = best_of(b.m, orders, slot, side, name)
        got = ladder.tops.p[name]
        b.prove(f"{name}: price", ~due | (got.some == some) & (~some | (got.price == BASE + (rank ^ (0 if side else LAST)))))
        b.prove(f"{name}: unknown", ~due | (got.unknown == unknown))
    covers(b, ladder, orders)


@proof("when four orders of one side of a symbol go one after the other, in any order, the best price left is right after each of the first three, "
       "so the search for the next level is",
       engine="bmc3", depth=51, within=56, seconds=1800, mutants=[
    (LADDER, "lowest(rest3)", "lowest(own3)"),
    (LADDER, "groups1 & above_mask(beyond1, group_bits)", "groups1"),
])
def drain(b):
    ladder, orders, due, slot = drive(b, first_adds=4, symbols=1, drain=True)
    for side, name in enumerate(("bid", "ask")):
        rank, some, _, _ = best_of(b.m, orders, slot, side, name)
        got = ladder.tops.p[name]
        b.prove(f"{name}: price", ~due | (got.some == some) & (~some | (got.price == BASE + (rank ^ (0 if side else LAST)))))
    b.cover("empty again", ladder.tops.valid & ~ladder.tops.p.add & ~Cat(o.live for o in orders).any())


@proof("after any two adds, and any two operations more, over two symbols, the best level's quantity is the sum of its orders", engine="bmc3", depth=29,
       within=46, seconds=1800, mutants=[
    (LADDER, "Mux(f_better, f_qty, f_sum)", "f_qty"),
    (LADDER, "Mux(hit, moved1, 0)", "moved1"),
])
def quantity(b):
    ladder, orders, due, slot = drive(b, first_adds=2, symbols=2)
    for side, name in enumerate(("bid", "ask")):
        _, some, shares, _ = best_of(b.m, orders, slot, side, name)
        got = ladder.tops.p[name]
        b.prove(f"{name}: quantity", ~due | (got.some == some) & (~some | (got.qty == shares)))
    covers(b, ladder, orders)
