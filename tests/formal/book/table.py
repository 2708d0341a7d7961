"""OrderTable: what was added and not removed is found, as it is; nothing else is."""
from amaranth import Cat, Mux, Signal

from tickgate.spec import hashing
from tickgate_hdl.book.table import OrderTable, place
from tickgate_hdl.feed.events import key
from tickgate_sim.formal import proof

TABLE = "tickgate_hdl.book.table"
INDEX, REST, TABLES, WAYS, TICK = 2, 3, 2, 2, 4   # 16 places for the 64 keys of 2 slots
SHARES = 2                                        # bits of quantities that are used
FIND, ADD, REPLACE = range(3)


def messages(b, table, first_adds):
    """Keys as the parser times them, of any reference; ``first_adds`` adds come first, as close as they may.

    A message is a find (its key is its last needed byte), an add (its update comes 4 cycles after its key or later) or a replace (key of the old order,
    key of the new one 2 or more later, update 2 or more after that). The next message's key comes 5 or more after the last needed byte. Returns the
    reference, and in the cycle of an update that it is one of an add, of a replace.
    """
    m, reference, adds = b.m, b.free("reference", INDEX + REST), Signal(range(first_adds + 1))
    opening = adds != first_adds
    go, kind = b.free("go") | opening, Mux(opening, ADD, b.free("kind", range(3)))
    under_way, second = Signal(range(3)), Signal()            # an add or a replace waits for more; the latter's second key came
    since_key, since_end = Signal(3), Signal(3, init=5)
    starts = go & (under_way == 0) & (since_end == 5) & (kind != 3)
    again = go & (under_way == REPLACE) & ~second & (since_key >= 2)
    update = go & ((under_way == ADD) & (since_key >= 4) | (under_way == REPLACE) & second & (since_key >= 2))
    m.d.sync += [since_key.eq(Mux(starts | again, 1, Mux(since_key == 7, 7, since_key + 1))),
                 since_end.eq(Mux(update | starts & (kind == FIND), 1, Mux(since_end == 5, 5, since_end + 1)))]
    with m.If(starts):
        m.d.sync += [under_way.eq(kind), second.eq(0)]
    with m.Elif(again):
        m.d.sync += second.eq(1)
    with m.Elif(update):
        m.d.sync += under_way.eq(0)
    m.d.sync += adds.eq(adds + (opening & update))
    keys, low, rest = Signal(table.key_layout), reference[:INDEX], reference[INDEX:]
    m.d.comb += [keys.insert.eq(again | (kind == ADD)), keys.replace.eq(again | (kind == REPLACE)), keys.whole.eq(again | (kind == REPLACE) | b.free("whole")),
                 keys.slot.eq(b.free("slot")), keys.rest.eq(rest)]
    for t in range(TABLES):
        rows = hashing.rows(t, INDEX, INDEX + REST)
        m.d.comb += keys.buckets[t].eq(Cat(*[Cat(bit, *[rest[k] for k in row]).xor() for bit, row in zip(low, rows)]))
    b.drive(table.keys.valid, starts | again)
    b.drive(table.keys.payload, keys)
    return reference, update & (under_way == ADD), update & (under_way == REPLACE)


def follow(b, first_adds):
    """One reference of one slot, any one, is followed; ``rests`` and ``rested`` are what a list of orders would say of it."""
    m = b.m
    table = b.part(OrderTable(key_layout=key(slot_bits=1, index_bits=INDEX, reference_bits=INDEX + REST, tables=TABLES), tick_bits=TICK, index_bits=INDEX,
                              reference_bits=INDEX + REST, tables=TABLES, ways=WAYS))
    reference, added, replaced = messages(b, table, first_adds)
    keys = table.keys.payload
    is_mine = table.keys.valid & (reference == b.fixed("mine", INDEX + REST)) & (keys.slot == b.fixed("mine_slot"))
    mine_comes, mine_goes, old_hit = Signal(), Signal(), Signal()
    with m.If(table.keys.valid & keys.insert):
        m.d.sync += mine_comes.eq(is_mine)
    mine_found = b.before(is_mine & ~keys.insert, "mine_found", OrderTable.LATENCY)
    with m.If(table.find & table.replace):
        m.d.sync += [mine_goes.eq(mine_found), old_hit.eq(table.hit)]
    # put and retire as the book times them: 4 and 5 cycles after the update; a replace without its old order puts nothing
    old_went = b.before(replaced, "replaced", 4) & old_hit
    put, retire = b.before(added, "added", 4) | old_went, b.before(old_went, "old_went")
    where = Signal(place(TICK))
    m.d.comb += [where.side.eq(b.free("side")), where.rank.eq(b.free("rank", TICK)), where.outside.eq(b.free("outside")), where.qty.eq(b.free("qty", SHARES))]
    for port, value in ((table.put, put), (table.retire, retire), (table.put_place, where), (table.take, b.free("taken", SHARES)), (table.clear, 0)):
        b.drive(port, value)
    # ---- the list
    rests, rested, orders = Signal(), Signal(where.shape()), Signal(range(32))
    some, all_of_it = table.find & table.hit & ~table.replace, table.whole | (table.order.qty <= table.take)
    m.d.sync += orders.eq(orders + (put & table.room) - (some & all_of_it) - retire)
    with m.If(mine_found & rests & ~table.replace):
        m.d.sync += [rests.eq(~table.whole & (rested.qty > table.take)), rested.qty.eq(rested.qty - table.take)]
    with m.If(put & mine_comes & table.room):
        m.d.sync += [rests.eq(1), rested.eq(where)]
    with m.If(retire & mine_goes):
        m.d.sync += rests.eq(0)
    o = table.order
    b.prove("found exactly while it rests", ~mine_found | table.find & (table.hit == rests))
    b.prove("found as it is", ~(mine_found & table.hit) | (Cat(o.side, o.rank, o.outside, o.qty) == rested.as_value()))
    b.prove("a duplicate exactly while it rests", ~(put & mine_comes) | (table.duplicate == rests))
    b.prove("a duplicate is not placed", ~(put & table.duplicate) | ~table.room)
    b.prove("room, but for a duplicate, while any bucket has it", ~put | table.room | table.duplicate | (orders >= TABLES * WAYS))
    b.cover("found" if first_adds else "found with what was left",
            mine_found & rests & (1 if first_adds else b.before(rested.qty == 3, "three", 5) & (rested.qty == 1)))
    b.cover("a duplicate", put & mine_comes & table.duplicate)
    if first_adds:
        b.cover("no room", put & ~table.room & ~table.duplicate)
    else:
        b.cover("replaced by another one", retire & mine_goes & rests & ~mine_comes)


@proof("an order is found exactly while it rests, with what it has; a new one is refused as a duplicate exactly then, and as no room only while "
       "at least as many orders rest as it has places", engine="bmc3", depth=25, seconds=1800, mutants=[
    (TABLE, "self.duplicate.eq(", "self.duplicate.eq(0 & "),
    (TABLE, "found.qty <= self.take", "found.qty < self.take"),
])
def found(b):
    follow(b, first_adds=0)


@proof("the same after any four adds: none takes the place of another, and whatever message comes next finds the same",
       engine="bmc3", depth=52, seconds=1800, mutants=[
    (TABLE, "free[t][w] &", "1 &"),
    (TABLE, "sum(free[t]) == c", "free[t][0] + 1 == c"),
])
def crowded(b):
    follow(b, first_adds=4)
