"""Price ladders of all symbols, with an exact top of book at fixed latency and never a rescan.

Every tick is addressed by its rank, the distance from the best possible price (ask: index, bid: last index - index), so the best level is the lowest set
bit on both sides. Beside ladder and bitmaps a small memory keeps, for each side of each symbol, the two best levels in full (``b``, ``n``), the rank of
the third (``m``), and how many orders rest outside the ladder. A removal publishes from these, and reads the ladder for the NEXT removal, never for itself.

    s0  read b, n, m of both sides · ladder at the order's rank, and at m · bitmap at the rank's group, and at m's · groups
        removal: is it from b, n or m, is b or n emptied?
    s1  top of book: b, or b less the order, or n                                     ──► tops at s2
        first group beyond m's, first half · add: is it better than b, n, m, or in one of them?
    s2  ladder words under way · the next group's bitmap word is read · add: levels move down
    s3  ladder words here · is the order's level gone? · first tick beyond m, in its group and in the next, first half
        add: everything is written                                                                                      ──► visible at s4
    s4  the next level beyond m. Removal: everything is written, levels move up when one was emptied, m moves on when m itself went ──► visible at s5
So an operation (of an add: its ``fast_valid``) may follow a removal after 5 cycles, an add after 4.

Fast path of adds: the price against the best price, two cycles from ``fast_valid`` to ``tops``. For the add half of a replace (``fast_kept``) the best
left by the remove half, which publishes nothing itself, comes from a register, before it is in the memory.
LATENCY: 2 cycles from ``removals`` to ``tops``, 2 from ``fast_valid`` of an add.
Assumptions: the spacing above; ranks agree with prices; removals name orders that are there (the order table says so).

Both sides are worked on until the side is known, with memories of their own: it comes out of the order table, later than all else.
"""
from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from tickgate.spec.registers import DEPTH_LEVELS

from ..board.memory import DeepMemory
from ..stream.join import connect
from ..stream.logic import above_mask, above_parts, all_ones, encode, equal, lowest
from .depth import Depth, depth_port
from .ticks import times_tick

ROW_BITS = 12  # rows that are cleared one a cycle, all memories together


def best(*, tick_bits, quantity_bits, count_bits):
    """One level in full. ``last``: it has one order."""
    return data.StructLayout({"some": 1, "price": 32, "rank": tick_bits, "qty": quantity_bits, "count": count_bits, "last": 1})


def outside(count_bits):
    """Orders that rest outside the ladder: how many, whether any, whether one."""
    return data.StructLayout({"count": count_bits, "some": 1, "last": 1})


def top(quantity_bits):
    """The book of a symbol after a message. A side whose ``unknown`` is set may have a better price outside the ladder."""
    side = data.StructLayout({"some": 1, "price": 32, "qty": quantity_bits, "unknown": 1})
    return data.StructLayout({
        "bid": side, "ask": side,
        "side": 1, "add": 1,
        "qty": 32,    # of a removal: shares that the message took, or that the order had left when all of it goes
        "fault": 4})  # tickgate.spec.records.FAULTS


def removal(tick_bits):
    """An order that loses shares, or goes."""
    return data.StructLayout({
        "quiet": 1,                      # the remove half of a replace, publishes nothing
        "miss": 1, "fault": 4,           # miss: nothing is changed, the top is published as it is
        "side": 1, "rank": tick_bits, "outside": 1,
        "qty": 32,                       # shares to take
        "order_qty": 32, "whole": 1})    # what the order has; all of it goes


def addition(tick_bits):
    """An order that comes."""
    return data.StructLayout({"side": 1, "rank": tick_bits, "outside": 1, "price": 32, "qty": 32})


class Ladder(wiring.Component):
    LATENCY_REMOVE = 2
    LATENCY_ADD = 2

    def __init__(self, *, symbols, tick_bits, count_bits):
        if tick_bits % 2 or not 4 <= tick_bits <= 12:
            raise ValueError(f"tick_bits must be even, 4 to 12, not {tick_bits}")
        self.slot_bits = slot_bits = max(1, (symbols - 1).bit_length())
        self.tick_bits, self.count_bits, self.quantity_bits = tick_bits, count_bits, 32 + count_bits
        self.best = best(tick_bits=tick_bits, quantity_bits=self.quantity_bits, count_bits=count_bits)
        super().__init__({
            "next_slot": In(slot_bits),                                  # slot of the operation of the next cycle
            "removals": In(stream.Signature(removal(tick_bits), always_ready=True)),
            "adds": In(stream.Signature(addition(tick_bits), always_ready=True)),   # never in the cycle of a removal
            "fast_valid": In(1), "fast_asks": In(1), "fast_kept": In(1),    # asks: the order rests if there is room
            "fast_slot": In(slot_bits), "fast_side": In(1), "fast_price": In(32), "fast_qty": In(32),
            # one cycle after fast_valid: where the order that asks rests, and what is wrong with it
            "fast_inside": In(1), "fast_near": In(1), "fast_far": In(1), "fast_fault": In(4),
            "load": In(1), "load_slot": In(slot_bits), "load_base": In(32), "load_tick": In(2),
            "tops": Out(stream.Signature(top(self.quantity_bits), always_ready=True)),
            "order_price": Out(32),                                      # one cycle after tops, of a removal: 0 outside the ladder
            "depth": In(depth_port(slot_bits=slot_bits, quantity_bits=self.quantity_bits, count_bits=count_bits, levels=DEPTH_LEVELS)),
            "clear": In(1), "clear_row": In(ROW_BITS)})

    def elaborate(self, platform):
        m = Module()
        slot_bits, tick_bits, count_bits, quantity_bits = self.slot_bits, self.tick_bits, self.count_bits, self.quantity_bits
        group_bits = tick_bits // 2                                      # of the rank: upper half names the group, lower half the tick in it
        width = 1 << group_bits
        Best, Outside = self.best, outside(count_bits)
        Side = data.StructLayout({"b": Best, "n": Best, "m_some": 1, "m_rank": tick_bits, "near": Outside, "far": Outside})
        Level = data.StructLayout({"qty": quantity_bits, "count": count_bits})

        def reg(value, name, shape=None):
            """A pipeline register of the payload."""
            q = Signal(shape if shape is not None else len(value), name=name, reset_less=True)
            m.d.sync += q.eq(value)
            return q

        def regs(stage, **values):
            """A register for each of ``values``, named by the stage that they come to."""
            return (reg(value, f"{name}_{stage}") for name, value in values.items())

        t_write, t_read, t_fast, l1_write, l1_read, walk_groups, levels, bits = [], [], [], [], [], [], [], []
        for side in range(2):
            m.submodules[f"sides{side}"] = ram = memory.Memory(shape=Side, depth=1 << slot_bits, init=[])
            t_write.append(ram.write_port())
            t_read.append(ram.read_port(domain="comb"))
            t_fast.append(ram.read_port(domain="comb"))
            m.submodules[f"groups{side}"] = ram = memory.Memory(shape=width, depth=1 << slot_bits, init=[])
            l1_write.append(ram.write_port())
            l1_read.append(ram.read_port(domain="comb"))
            walk_groups.append(ram.read_port(domain="comb"))
            m.submodules[f"levels{side}"] = ram = DeepMemory(bank_bits=slot_bits, row_bits=tick_bits, width=Level.size, latency=3, ahead=True)
            levels.append(ram)
            m.submodules[f"bits{side}"] = ram = DeepMemory(bank_bits=0, row_bits=slot_bits + group_bits, width=width, latency=1, primitive="block")
            bits.append(ram)
        m.submodules.bases = bases = memory.Memory(shape=34, depth=1 << slot_bits, init=[])
        base_write, base_read = bases.write_port(), bases.read_port(domain="comb")
        m.d.comb += [base_write.en.eq(self.load), base_write.addr.eq(self.load_slot), base_write.data.eq(Cat(self.load_base, self.load_tick))]

        m.submodules.walk = walk = Depth(
            slot_bits=slot_bits, tick_bits=tick_bits, quantity_bits=quantity_bits, count_bits=count_bits, levels=DEPTH_LEVELS, bits_latency=bits[0].latency,
            levels_latency=levels[0].latency)
        connect(m, wiring.flipped(self.depth), walk.host)
        walk_base = bases.read_port(domain="comb")

        # ---- s0: read; the side comes last
        removes, adds, taking, adding = self.removals.p, self.adds.p, self.removals.valid, self.adds.valid
        slot0 = Signal(slot_bits)
        m.d.sync += slot0.eq(self.next_slot)
        side0, rank0 = Mux(adding, adds.side, removes.side), Mux(adding, adds.rank, removes.rank)
        outside0 = Mux(adding, adds.outside, removes.outside & ~removes.miss)
        inside0 = Mux(adding, ~adds.outside, ~removes.outside & ~removes.miss)
        m.d.comb += [*[t_read[s].addr.eq(slot0) for s in range(2)], *[l1_read[s].addr.eq(slot0) for s in range(2)], base_read.addr.eq(slot0)]

        def either(view, name, shape=None):
            """Of the operation's side."""
            bid, ask = view(t_read[0].data), view(t_read[1].data)
            return reg(Mux(side0, ask, bid), name, shape)

        def takes(view):
            """A removal takes from a level; ``view``: whether it is there, and its rank."""
            bid, ask = (equal(Cat(removes.rank, 1), Cat(rank, some)) for some, rank in (view(port.data) for port in t_read))
            return taking & ~removes.outside & ~removes.miss & Mux(removes.side, ask, bid)

        full = removes.whole | (removes.qty >= removes.order_qty)                                        # the whole order goes
        is_b1, is_n1, is_m1, empty_b1, empty_n1 = regs(
            1, is_b=takes(lambda t: (t.b.some, t.b.rank)), is_n=takes(lambda t: (t.n.some, t.n.rank)), is_m=takes(lambda t: (t.m_some, t.m_rank)),
            empty_b=full & takes(lambda t: (t.b.some & t.b.last, t.b.rank)), empty_n=full & takes(lambda t: (t.n.some & t.n.last, t.n.rank)))
        remove1, add1, remove2, add2, remove3, add3, remove4 = (Signal(name=name) for name in (
            "remove_1", "add_1", "remove_2", "add_2", "remove_3", "add_3", "remove_4"))
        m.d.sync += [remove1.eq(taking), remove2.eq(remove1), remove3.eq(remove2), remove4.eq(remove3), add1.eq(adding), add2.eq(add1), add3.eq(add2)]
        shows1 = Signal()
        m.d.sync += shows1.eq(taking & ~removes.quiet)
        slot1, side1, rank1, inside1, outside1, quiet1, miss1, price1, fault1 = regs(
            1, slot=slot0, side=side0, rank=rank0, inside=inside0, outside=outside0, quiet=removes.quiet, miss=taking & removes.miss, price=adds.price,
            fault=removes.fault)
        t1 = either(lambda t: t.as_value(), "t_1", Side)
        groups1 = reg(Mux(side0, l1_read[1].data, l1_read[0].data), "groups_1")
        base1 = reg(base_read.data, "base_1")
        full1 = reg(taking & full, "full_1")
        moved1 = reg(Mux(adding, adds.qty, Mux(full, removes.order_qty, removes.qty)), "moved_1")        # shares that come or go
        said1 = reg(Mux(removes.whole, removes.order_qty, removes.qty), "said_1")                        # shares that the record shows
        beyond1 = either(lambda t: above_parts(t.m_rank[group_bits:]), "beyond_1")

        # ---- s1: decide
        def less(level, hit, name):
            """The level after a removal that leaves it standing, or has nothing to do with it."""
            out, goes = Signal(Best, name=name), hit & full1
            m.d.comb += [out.eq(level), out.qty.eq((level.qty - Mux(hit, moved1, 0))[:quantity_bits]),
                         out.count.eq((level.count - goes)[:count_bits]), out.last.eq(Mux(goes, equal(level.count, Const(2, count_bits)), level.last))]
            return out

        def counted(orders, here, name):
            """Orders outside after the operation, of which ``here`` says whether it is one of these."""
            out, comes, goes = Signal(Outside, name=name), here & add1, here & full1
            m.d.comb += [out.count.eq(Mux(add1, orders.count + here, orders.count - goes)[:count_bits]),
                         out.some.eq(comes | orders.some & ~(goes & orders.last)),
                         out.last.eq(Mux(comes, ~orders.some, Mux(goes, equal(orders.count, Const(2, count_bits)), orders.last)))]
            return out

        b_less, n_less = less(t1.b, is_b1, "b_less"), less(t1.n, is_n1, "n_less")
        new_best = Signal(Best)                                          # of a removal
        m.d.comb += new_best.eq(Mux(empty_b1, t1.n.as_value(), b_less.as_value()))
        near1, far1 = counted(t1.near, outside1 & rank1[0], "near_1"), counted(t1.far, outside1 & ~rank1[0], "far_1")
        kept, kept_near, kept_far = Signal(Best, reset_less=True), Signal(reset_less=True), Signal(reset_less=True)   # for the add half of a replace
        with m.If(remove1 & quiet1):
            m.d.sync += [kept.eq(new_best), kept_near.eq(near1.some), kept_far.eq(far1.some)]
        b2, n2 = reg(new_best.as_value(), "b_2", Best), reg(n_less.as_value(), "n_2", Best)
        next_group, next_some = lowest(groups1 & above_mask(beyond1, group_bits))
        own1, m_word1 = (Mux(side1, *[getattr(bits[s], port) for s in (1, 0)]) for port in ("a_out", "b_out"))
        slot2, side2, rank2, inside2, miss2, price2, moved2, full2, groups2, is_m2, shift2, m_some2, m_rank2, near2, far2, base2, own2, m_word2 = regs(
            2, slot=slot1, side=side1, rank=rank1, inside=inside1, miss=miss1, price=price1, moved=moved1, full=full1, groups=groups1, is_m=is_m1,
            shift=empty_b1 | empty_n1, m_some=t1.m_some, m_rank=t1.m_rank, near=near1.as_value(), far=far1.as_value(), base=base1[:32],
            own=own1, m_word=m_word1)
        next_group2, next_some2, ticks2, one_hot2 = regs(
            2, next_group=next_group, next_some=next_some, ticks=above_parts(t1.m_rank[:group_bits]), one_hot=(Const(1, width) << rank1[:group_bits])[:width])

        def price_of(rank, name):
            """Price of a rank, two registers later: base + index * tick."""
            index = Signal(tick_bits, name=f"{name}_index")
            m.d.comb += index.eq(rank ^ Mux(side1, 0, (1 << tick_bits) - 1))
            part = reg(times_tick(index, base1[32:]), f"{name}_part_2")
            return (base2 + part)[:32]

        m_price3 = reg(price_of(t1.m_rank, "m_price"), "m_price_3")
        order_price = price_of(rank1, "order_price")
        with m.If(inside2):
            m.d.sync += self.order_price.eq(order_price)
        with m.Else():
            m.d.sync += self.order_price.eq(0)

        # where an add comes to rest, the first that holds
        joins_b, joins_n = t1.b.some & equal(t1.b.rank, rank1), t1.n.some & equal(t1.n.rank, rank1)
        over_b, over_n, over_m = (~some | (rank1 < rank) for some, rank in ((t1.b.some, t1.b.rank), (t1.n.some, t1.n.rank), (t1.m_some, t1.m_rank)))
        rests = add1 & inside1
        as_b2, in_b2, as_n2, in_n2, as_m2 = regs(
            2, as_b=rests & over_b, in_b=rests & joins_b, as_n=rests & ~over_b & ~joins_b & over_n, in_n=rests & ~over_b & ~joins_b & joins_n,
            as_m=rests & ~over_b & ~joins_b & ~over_n & ~joins_n & over_m)

        # ---- s2: the next group's word is asked for; an add moves levels down
        group2 = encode(next_group2, group_bits)
        fresh, b_more, n_more = Signal(Best), Signal(Best), Signal(Best)
        m.d.comb += [fresh.some.eq(1), fresh.price.eq(price2), fresh.rank.eq(rank2), fresh.qty.eq(moved2), fresh.count.eq(1), fresh.last.eq(1)]
        for more, level in ((b_more, b2), (n_more, n2)):
            m.d.comb += [more.eq(level), more.qty.eq((level.qty + moved2)[:quantity_bits]), more.count.eq(level.count + 1), more.last.eq(0)]
        b3 = reg(Mux(as_b2, fresh.as_value(), Mux(in_b2, b_more.as_value(), b2.as_value())), "b_3", Best)
        n3 = reg(Mux(as_b2, b2.as_value(), Mux(as_n2, fresh.as_value(), Mux(in_n2, n_more.as_value(), n2.as_value()))), "n_3", Best)
        down2 = as_b2 | as_n2
        m_some3, m_rank3 = regs(3, m_some=as_m2 | Mux(down2, n2.some, m_some2), m_rank=Mux(as_m2, rank2, Mux(down2, n2.rank, m_rank2)))
        slot3, side3, rank3, inside3, miss3, moved3, full3, groups3, is_m3, shift3, near3, far3, own3, group3, next_some3, one_hot3, lonely3, rest3 = regs(
            3, slot=slot2, side=side2, rank=rank2, inside=inside2, miss=miss2, moved=moved2, full=full2, groups=groups2, is_m=is_m2, shift=shift2, near=near2,
            far=far2, own=own2, group=group2, next_some=next_some2, one_hot=one_hot2, lonely=all_ones(~own2 | one_hot2),
            rest=m_word2 & above_mask(ticks2, group_bits))

        # ---- s3: ladder words are here; an add is written; a removal learns whether the level is gone; search, first half
        ups, downs, ones = [], [], []
        for s in range(2):
            level, up, down, down4 = Signal(Level), Signal(Level), Signal(Level), Signal(Level, name=f"down_4_{s}", reset_less=True)
            m.d.comb += [level.as_value().eq(levels[s].a_out), up.qty.eq(level.qty + moved3), up.count.eq(level.count + 1),
                         down.qty.eq(level.qty - moved3), down.count.eq(level.count - full3)]
            with m.If(self.clear):
                m.d.sync += down4.eq(0)
            with m.Else():
                m.d.sync += down4.eq(down)
            ups.append(up.as_value())
            downs.append(down4.as_value())
            ones.append(equal(level.count, Const(1, count_bits)))
        group_bit3 = (Const(1, width) << rank3[group_bits:])[:width]
        b4, n4 = reg(b3.as_value(), "b_4", Best), reg(n3.as_value(), "n_4", Best)
        m_level4 = reg(Mux(side3, levels[1].b_out, levels[0].b_out), "m_level_4", Level)
        (here, here_some), (there, _) = lowest(rest3), lowest(Mux(side3, bits[1].b_out, bits[0].b_out))
        here4, here_some4, there4, m_price4, group4, next_some4, m_some4, m_rank4, is_m4, shift4, near4, far4, lonely4 = regs(
            4, here=here, here_some=here_some, there=there, m_price=m_price3, group=group3, next_some=next_some3, m_some=m_some3, m_rank=m_rank3, is_m=is_m3,
            shift=shift3, near=near3, far=far3, lonely=lonely3)
        inside4, gone4, own_clear4, groups_clear4, miss4 = regs(
            4, inside=remove3 & inside3, gone=full3 & Mux(side3, ones[1], ones[0]), own_clear=own3 & ~one_hot3, groups_clear=groups3 & ~group_bit3,
            miss=miss3)

        # ---- writes, of an add at s3, of a removal at s4: place and enables are registers; clearing is a removal of everything
        w_remove, w_level, w_slot, w_side, w_rank = Signal(), Signal(), Signal(slot_bits), Signal(), Signal(tick_bits)
        m.d.sync += [w_remove.eq(remove3 | self.clear), w_level.eq(remove3 & inside3 | add2 & inside2 | self.clear)]
        m.d.sync += [w_slot.eq(Mux(remove3, slot3, slot2)), w_side.eq(Mux(remove3, side3, side2)),
                     w_rank.eq(Mux(self.clear, self.clear_row, Mux(remove3, rank3, rank2)))]
        gone = inside4 & gone4
        rises = add3 & inside3
        for s in range(2):
            m.d.comb += [
                levels[s].clear.eq(self.clear), levels[s].a_bank.eq(Mux(remove3, slot3, slot2)),
                levels[s].a_write.eq(remove3 & inside3 & (side3 == s) | add2 & inside2 & (side2 == s)),
                levels[s].a_address.eq(Cat(Mux(w_level, w_rank, rank0), slot0)), levels[s].a_in.eq(Mux(w_remove, downs[s], ups[s])),
                levels[s].b_address.eq(Mux(taking | adding, Cat(t_read[s].data.m_rank, slot0), walk.level_address)),
                bits[s].clear.eq(self.clear), bits[s].clear_row.eq(self.clear_row), bits[s].a_write.eq((rises | gone) & (w_side == s)),
                bits[s].a_address.eq(Mux(w_level, Cat(w_rank[group_bits:], w_slot), Cat(rank0[group_bits:], slot0))),
                bits[s].a_in.eq(Mux(remove4, own_clear4, own3 | one_hot3)),
                bits[s].b_address.eq(Mux(remove2, Cat(group2, slot2), Mux(taking | adding, Cat(t_read[s].data.m_rank[group_bits:], slot0), walk.bits_address)))]

        # ---- depth: reads where no operation does
        for s in range(2):
            m.d.comb += [walk_groups[s].addr.eq(walk.at), walk.groups[s].eq(walk_groups[s].data)]
        m.d.comb += [
            walk.clear.eq(self.clear),
            walk.op.eq(remove1 | add1), walk.op_slot.eq(slot1), walk.top.eq(self.tops.valid), walk_base.addr.eq(walk.at), walk.base.eq(walk_base.data[:32]),
            walk.tick.eq(walk_base.data[32:]), walk.bits_taken.eq(~(taking | adding | remove2)), walk.level_taken.eq(~(taking | adding)),
            walk.bits_word.eq(Mux(walk.side, bits[1].b_out, bits[0].b_out)), walk.level_word.eq(Mux(walk.side, levels[1].b_out, levels[0].b_out))]

        # ---- s4: the third level is another: here, in the next group, or none
        moves4 = inside4 & (shift4 | is_m4 & gone4)
        found4 = Mux(here_some4, Cat(encode(here4, group_bits), m_rank4[group_bits:]), Cat(encode(there4, group_bits), group4))
        t_new = Signal(Side)
        m.d.comb += [
            t_new.b.eq(Mux(remove4, b4.as_value(), b3.as_value())), t_new.n.eq(Mux(remove4, n4.as_value(), n3.as_value())),
            t_new.m_some.eq(Mux(remove4, m_some4 & (~moves4 | here_some4 | next_some4), m_some3)),
            t_new.m_rank.eq(Mux(moves4, found4, Mux(remove4, m_rank4, m_rank3))),
            t_new.near.eq(Mux(remove4, near4, near3)), t_new.far.eq(Mux(remove4, far4, far3))]
        with m.If(remove4 & shift4):
            m.d.comb += [t_new.n.some.eq(m_some4), t_new.n.price.eq(m_price4), t_new.n.rank.eq(m_rank4), t_new.n.qty.eq(m_level4.qty),
                         t_new.n.count.eq(m_level4.count), t_new.n.last.eq(equal(m_level4.count, Const(1, count_bits)))]
        with m.If(self.clear):
            m.d.comb += [*[x.some.eq(0) for x in (t_new.b, t_new.n)], t_new.m_some.eq(0), *[x.as_value().eq(0) for x in (t_new.near, t_new.far)]]
        for s in range(2):
            m.d.comb += [
                t_write[s].en.eq(self.clear | (remove4 & ~miss4 | add3) & (w_side == s)), t_write[s].data.eq(t_new),
                l1_write[s].en.eq(self.clear | (rises | gone & lonely4) & (w_side == s)),
                *[port.addr.eq(Mux(self.clear, self.clear_row[:slot_bits], w_slot)) for port in (t_write[s], l1_write[s])],
                l1_write[s].data.eq(Mux(self.clear, 0, Mux(remove4, groups_clear4, groups3 | group_bit3)))]

        # ---- fast path of adds: compare with both sides and with what was kept, then publish
        fast = [port.data for port in t_fast]
        m.d.comb += [port.addr.eq(self.fast_slot) for port in t_fast]

        def fast_one(of_kept, of_bid, of_ask):
            return Mux(self.fast_kept, of_kept, Mux(self.fast_side, of_ask, of_bid))

        mine = [kept, fast[0].b, fast[1].b]
        higher = [Cat(self.fast_price, 1) > Cat(level.price, level.some) for level in mine]              # than no level at all too
        lower = [Cat(self.fast_price, 0) < Cat(level.price, ~level.some) for level in mine]
        f_valid, f_asks, f_better, f_takes = Signal(), Signal(), Signal(), Signal()
        better = fast_one(Mux(self.fast_side, lower[0], higher[0]), higher[1], lower[2])
        same = fast_one(*[equal(Cat(self.fast_price, 1), Cat(level.price, level.some)) for level in mine])
        m.d.sync += [f_valid.eq(self.fast_valid), f_asks.eq(0), f_better.eq(0), f_takes.eq(0)]
        with m.If(self.fast_valid & self.fast_asks):
            m.d.sync += [f_asks.eq(1), f_better.eq(better), f_takes.eq(better | same)]
        f_price, f_qty = reg(self.fast_price, "fast_price_1"), reg(self.fast_qty, "fast_qty_1")
        f_mine = reg(fast_one(*[level.as_value() for level in mine]), "fast_mine", Best)
        f_sum = reg((fast_one(*[level.qty for level in mine]) + self.fast_qty)[:quantity_bits], "fast_sum")
        f_near = reg(fast_one(kept_near, *[t.near.some for t in fast]), "fast_near_1")
        f_far = reg(fast_one(kept_far, *[t.far.some for t in fast]), "fast_far_1")

        # ---- the top of book, of both paths, which never meet
        def unknown(near, far, some):
            return near | far & ~some

        Face = self.tops.p.bid.shape()
        faces = []                                                       # of the side that the order is not on
        for ports, s in ((t_read, side0), (t_fast, self.fast_side)):
            one = Signal(Face, name=f"face_{len(faces)}")
            t = [port.data for port in ports]
            m.d.comb += [*[getattr(one, name).eq(Mux(s, *[getattr(x.b, name) for x in t])) for name in ("some", "price", "qty")],
                         one.unknown.eq(Mux(s, *[unknown(x.near.some, x.far.some, x.b.some) for x in t]))]
            faces.append(one.as_value())
        opposite = reg(Mux(self.fast_valid, faces[1], faces[0]), "opposite_1")
        side = reg(Mux(self.fast_valid, self.fast_side, side0), "of_side_1")
        own, takes_price, takes_qty = Signal(Face), Signal(), Signal()   # the two paths share the multiplexers
        f_some, f_near, f_far = f_mine.some | f_asks & self.fast_inside, f_near | f_asks & self.fast_near, f_far | f_asks & self.fast_far
        m.d.comb += [
            takes_price.eq(empty_b1 | self.fast_inside & f_better), takes_qty.eq(empty_b1 | self.fast_inside & f_takes),
            own.price.eq(Mux(f_valid, Mux(takes_price, f_price, f_mine.price), Mux(takes_price, t1.n.price, t1.b.price))),
            own.qty.eq(Mux(f_valid, Mux(takes_qty, Mux(f_better, f_qty, f_sum), f_mine.qty), Mux(takes_qty, t1.n.qty, b_less.qty))),
            own.some.eq(Mux(f_valid, f_some, new_best.some)),
            own.unknown.eq(Mux(f_valid, unknown(f_near, f_far, f_some), unknown(near1.some, far1.some, new_best.some)))]
        tops = self.tops.p
        m.d.sync += [
            self.tops.valid.eq(f_valid | shows1), tops.side.eq(side), tops.add.eq(f_valid),
            tops.bid.eq(Mux(side, opposite, own.as_value())), tops.ask.eq(Mux(side, own.as_value(), opposite)),
            tops.qty.eq(said1), tops.fault.eq(Mux(f_valid, self.fast_fault, fault1))]
        return m
