"""Price ladders of all symbols, with an exact top of book at fixed latency and never a rescan.

Every tick is addressed by its rank, the distance from the best possible price (ask: index, bid: last index - index), so the best level is the lowest set
bit on both sides. Beside ladder and bitmaps a small memory keeps, for each side of each symbol, the two best levels in full (``b``, ``n``), the rank of
the third (``m``), and how many orders rest outside the ladder. A removal publishes from these, and reads the ladder for the NEXT removal, never for itself.

    s0  read b, n, m of both sides · ladder at the order's rank, and at m · bitmap at the rank's group, and at m's · groups
    s1  is b or n emptied? ─► top of book: b, or b less the order, or n               ──► tops at s2
        first group beyond m's, first half
    s2  ladder words under way · the next group's bitmap word is read
    s3  ladder words here · is the order's level gone? · first tick beyond m, in its group and in the next, first half
    s4  the next level beyond m. b, n, m written: levels move up when one was emptied, m moves on when m itself went; ladder, bitmaps ──► visible at s5
An add needs no search: b, n, m are written at s2, ladder and bitmaps at s3. So an operation may follow a removal after 5 cycles, an add after 4.

Fast path of adds: the price against the best price, two cycles from ``fast_valid`` to ``tops``. For the add half of a replace (``fast_kept``) the best
left by the remove half, which publishes nothing itself, comes from a register, before it is in the memory.
LATENCY: 2 cycles from ``op_valid`` of a removal, 2 from ``fast_valid`` of an add.
Assumptions: the spacing above; ranks agree with prices; removals name orders that are there (the order table says so).
"""
from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from ..board.memory import DeepMemory
from ..stream.logic import above_mask, above_parts, encode, equal, lowest
from .ticks import times_tick

ROW_BITS = 12  # rows that are cleared one a cycle, all memories together


def best(*, tick_bits, quantity_bits, count_bits):
    """One level in full."""
    return data.StructLayout({"some": 1, "price": 32, "rank": tick_bits, "qty": quantity_bits, "count": count_bits})


def top(quantity_bits):
    """The book of a symbol after a message. A side whose ``unknown`` is set may have a better price outside the ladder."""
    side = data.StructLayout({"some": 1, "price": 32, "qty": quantity_bits, "unknown": 1})
    return data.StructLayout({
        "bid": side, "ask": side,
        "side": 1, "add": 1,
        "qty": 32,    # of a removal: shares that the message took, or that the order had left when all of it goes
        "fault": 4})  # tickgate.spec.records.FAULTS


def operation(*, slot_bits, tick_bits):
    """What is done to a ladder."""
    return data.StructLayout({
        "add": 1, "quiet": 1,            # quiet: the remove half of a replace, publishes nothing
        "miss": 1, "fault": 4,           # miss: nothing is changed, the top is published as it is
        "side": 1, "rank": tick_bits, "outside": 1,
        "price": 32, "qty": 32,          # of an add; shares to take
        "order_qty": 32, "whole": 1})    # of a removal: what the order has; all of it goes


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
            "op_valid": In(1), "op": In(operation(slot_bits=slot_bits, tick_bits=tick_bits)),
            "fast_valid": In(1), "fast_kept": In(1), "fast_slot": In(slot_bits), "fast_side": In(1), "fast_price": In(32), "fast_qty": In(32),
            # one cycle after fast_valid: where the order rests, and what is wrong with it
            "fast_inside": In(1), "fast_near": In(1), "fast_far": In(1), "fast_fault": In(4),
            "load": In(1), "load_slot": In(slot_bits), "load_base": In(32), "load_tick": In(2),
            "tops": Out(stream.Signature(top(self.quantity_bits), always_ready=True)),
            "order_price": Out(32),                                      # one cycle after tops, of a removal: 0 outside the ladder
            "clear": In(1), "clear_row": In(ROW_BITS)})

    def elaborate(self, platform):
        m = Module()
        slot_bits, tick_bits, count_bits, quantity_bits = self.slot_bits, self.tick_bits, self.count_bits, self.quantity_bits
        group_bits = tick_bits // 2                                      # of the rank: upper half names the group, lower half the tick in it
        width = 1 << group_bits
        Best = self.best
        Side = data.StructLayout({"b": Best, "n": Best, "m_some": 1, "m_rank": tick_bits, "near": count_bits, "far": count_bits})
        Level = data.StructLayout({"qty": quantity_bits, "count": count_bits})

        def reg(value, name, shape=None):
            """A pipeline register of the payload."""
            q = Signal(shape if shape is not None else len(value), name=name, reset_less=True)
            m.d.sync += q.eq(value)
            return q

        t_write, t_read, t_fast, l1_write, l1_read = [], [], [], [], []
        for side in range(2):                                            # one memory a side: the slot is known before the side
            m.submodules[f"sides{side}"] = ram = memory.Memory(shape=Side, depth=1 << slot_bits, init=[])
            t_write.append(ram.write_port())
            t_read.append(ram.read_port(domain="comb"))
            t_fast.append(ram.read_port(domain="comb"))
            m.submodules[f"groups{side}"] = ram = memory.Memory(shape=width, depth=1 << slot_bits, init=[])
            l1_write.append(ram.write_port())
            l1_read.append(ram.read_port(domain="comb"))
        m.submodules.bases = bases = memory.Memory(shape=34, depth=1 << slot_bits, init=[])
        base_write, base_read = bases.write_port(), bases.read_port(domain="comb")
        m.submodules.levels = levels = DeepMemory(bank_bits=slot_bits + 1, row_bits=tick_bits, width=Level.size, latency=3)
        rows = min(slot_bits + 1 + group_bits, ROW_BITS)
        m.submodules.bits = bits = DeepMemory(bank_bits=slot_bits + 1 + group_bits - rows, row_bits=rows, width=width, latency=1, primitive="block")
        m.d.comb += [base_write.en.eq(self.load), base_write.addr.eq(self.load_slot), base_write.data.eq(Cat(self.load_base, self.load_tick)),
                     levels.clear.eq(self.clear), levels.clear_row.eq(self.clear_row), bits.clear.eq(self.clear), bits.clear_row.eq(self.clear_row)]

        # ---- s0: read, compare ranks; the side comes last, so both sides are worked on
        op, rank0 = self.op, self.op.rank
        slot0 = Signal(slot_bits)
        m.d.sync += slot0.eq(self.next_slot)
        where0 = Cat(slot0, op.side)
        inside0 = ~op.outside & ~op.miss
        m.d.comb += [*[t_read[s].addr.eq(slot0) for s in range(2)], *[l1_read[s].addr.eq(slot0) for s in range(2)], base_read.addr.eq(slot0)]

        def either(view, name, shape=None):
            """Of the operation's side."""
            bid, ask = view(t_read[0].data), view(t_read[1].data)
            return reg(Mux(op.side, ask, bid), name, shape)

        v1, v2, v3, removal4 = Signal(), Signal(), Signal(), Signal()
        m.d.sync += [v1.eq(self.op_valid), v2.eq(v1), v3.eq(v2)]
        op1, where1 = reg(op, "op_1", op.shape()), reg(where0, "where_1")
        t1 = either(lambda t: t.as_value(), "side_1", Side)
        other1 = reg(Mux(op.side, t_read[0].data.as_value(), t_read[1].data.as_value()), "other_1", Side)
        l1_1 = reg(Mux(op.side, l1_read[1].data, l1_read[0].data), "groups_1")
        base1 = reg(base_read.data, "base_1")
        inside1 = reg(inside0, "inside_1")
        full1 = reg(~op.add & (op.whole | (op.qty >= op.order_qty)), "full_1")                           # the whole order goes
        taken1 = reg(Mux(~op.add & (op.whole | (op.qty >= op.order_qty)), op.order_qty, op.qty), "taken_1")  # shares that move
        said1 = reg(Mux(op.whole, op.order_qty, op.qty), "said_1")                                       # shares that the record shows
        beyond1 = either(lambda t: above_parts(t.m_rank[group_bits:]), "beyond_1")
        is_b1 = either(lambda t: inside0 & t.b.some & (t.b.rank == rank0), "is_b_1")
        is_n1 = either(lambda t: inside0 & t.n.some & (t.n.rank == rank0), "is_n_1")
        is_m1 = either(lambda t: inside0 & t.m_some & (t.m_rank == rank0), "is_m_1")
        over_b1 = either(lambda t: inside0 & (~t.b.some | (rank0 < t.b.rank)), "over_b_1")
        over_n1 = either(lambda t: inside0 & (~t.n.some | (rank0 < t.n.rank)), "over_n_1")
        over_m1 = either(lambda t: inside0 & (~t.m_some | (rank0 < t.m_rank)), "over_m_1")
        b_last1 = either(lambda t: t.b.count == 1, "b_last_1")
        n_last1 = either(lambda t: t.n.count == 1, "n_last_1")
        near_some1, near_last1 = either(lambda t: t.near != 0, "near_some_1"), either(lambda t: t.near == 1, "near_last_1")
        far_some1, far_last1 = either(lambda t: t.far != 0, "far_some_1"), either(lambda t: t.far == 1, "far_last_1")

        # ---- s1: decide
        empty_b, empty_n = Signal(), Signal()
        m.d.comb += [empty_b.eq(is_b1 & full1 & b_last1), empty_n.eq(is_n1 & full1 & n_last1)]

        def less(level, hit, name):
            """The level after a removal that leaves it standing."""
            out = Signal(Best, name=name)
            m.d.comb += [out.eq(level), out.qty.eq((level.qty - Mux(hit, taken1, 0))[:quantity_bits]), out.count.eq((level.count - (hit & full1))[:count_bits])]
            return out

        b_less, n_less = less(t1.b, is_b1, "b_less"), less(t1.n, is_n1, "n_less")
        new_best = Signal(Best)                                          # of a removal
        m.d.comb += new_best.eq(Mux(empty_b, t1.n.as_value(), b_less.as_value()))
        outside1 = op1.outside & ~op1.miss
        near1, far1 = outside1 & op1.rank[0], outside1 & ~op1.rank[0]
        near_new1, far_new1 = Signal(count_bits), Signal(count_bits)
        m.d.comb += [near_new1.eq(Mux(op1.add, t1.near + near1, t1.near - (near1 & full1))),
                     far_new1.eq(Mux(op1.add, t1.far + far1, t1.far - (far1 & full1)))]
        near_left1, far_left1 = near_some1 & ~(near1 & full1 & near_last1), far_some1 & ~(far1 & full1 & far_last1)   # after a removal
        kept, kept_near, kept_far = Signal(Best, reset_less=True), Signal(reset_less=True), Signal(reset_less=True)   # for the add half of a replace
        with m.If(v1 & ~op1.add & op1.quiet):
            m.d.sync += [kept.eq(new_best), kept_near.eq(near_left1), kept_far.eq(far_left1)]
        best2, n_less2 = reg(new_best.as_value(), "best_2", Best), reg(n_less.as_value(), "n_less_2", Best)
        shift2 = reg(empty_b | empty_n, "shift_2")
        next_parts2, next_some2 = (reg(x, f"next_group_{n}_2") for x, n in zip(lowest(l1_1 & above_mask(beyond1, group_bits)), ("parts", "some")))
        ticks2 = reg(above_parts(t1.m_rank[:group_bits]), "ticks_2")
        own2, m_word2 = reg(bits.a_out, "own_2"), reg(bits.b_out, "m_word_2")
        t_add = Signal(Side)                                             # of an add, at once
        fresh = Signal(Best)
        m.d.comb += [t_add.eq(t1), t_add.near.eq(near_new1), t_add.far.eq(far_new1),
                     fresh.some.eq(1), fresh.price.eq(op1.price), fresh.rank.eq(op1.rank), fresh.qty.eq(op1.qty), fresh.count.eq(1)]
        with m.If(over_b1):
            m.d.comb += [t_add.b.eq(fresh), t_add.n.eq(t1.b), t_add.m_some.eq(t1.n.some), t_add.m_rank.eq(t1.n.rank)]
        with m.Elif(is_b1):
            m.d.comb += [t_add.b.qty.eq((t1.b.qty + op1.qty)[:quantity_bits]), t_add.b.count.eq(t1.b.count + 1)]
        with m.Elif(over_n1):
            m.d.comb += [t_add.n.eq(fresh), t_add.m_some.eq(t1.n.some), t_add.m_rank.eq(t1.n.rank)]
        with m.Elif(is_n1):
            m.d.comb += [t_add.n.qty.eq((t1.n.qty + op1.qty)[:quantity_bits]), t_add.n.count.eq(t1.n.count + 1)]
        with m.Elif(over_m1):
            m.d.comb += [t_add.m_some.eq(1), t_add.m_rank.eq(op1.rank)]
        t_add2 = reg(t_add.as_value(), "t_add_2", Side)

        def price_of(rank, where, name):
            """Price of a rank, two registers later: base + index * tick."""
            index = Signal(tick_bits, name=f"{name}_index")
            m.d.comb += index.eq(rank ^ Mux(where[slot_bits], 0, (1 << tick_bits) - 1))
            part = reg(times_tick(index, base1[32:]), f"{name}_part_2")
            return reg((base2 + part)[:32], f"{name}_3")

        base2 = reg(base1[:32], "base_2")
        m_price3 = price_of(t1.m_rank, where1, "m_price")
        order_price3 = price_of(op1.rank, where1, "order_price")
        inside2 = reg(inside1, "inside_2")
        inside3 = reg(inside2, "inside_3")
        inside4 = reg(inside3, "inside_4")
        miss2 = reg(op1.miss, "miss_2")
        miss4 = reg(reg(miss2, "miss_3"), "miss_4")
        m.d.comb += self.order_price.eq(Mux(inside3, order_price3, 0))
        add2, rank2, where2 = reg(op1.add, "add_2"), reg(op1.rank, "rank_2"), reg(where1, "where_2")
        taken2, full2, l1_2, is_m2 = reg(taken1, "taken_2"), reg(full1, "full_2"), reg(l1_1, "groups_2"), reg(is_m1, "is_m_2")
        m_some2, m_rank2 = reg(t1.m_some, "m_some_2"), reg(t1.m_rank, "m_rank_2")
        near2, far2 = reg(near_new1, "near_2"), reg(far_new1, "far_2")
        one_hot2 = reg((Const(1, width) << op1.rank[:group_bits])[:width], "one_hot_2")

        # ---- s2: the next group's word is asked for
        next_group2 = encode(next_parts2, group_bits)
        own3, lonely3 = reg(own2, "own_3"), reg(~(own2 & ~one_hot2).any(), "lonely_3")
        rest3 = reg(m_word2 & above_mask(ticks2, group_bits), "rest_3")
        add3, rank3, where3, taken3, full3 = (
            reg(x, f"{n}_3") for x, n in ((add2, "add"), (rank2, "rank"), (where2, "where"), (taken2, "taken"), (full2, "full")))
        one_hot3, l1_3, is_m3, shift3 = reg(one_hot2, "one_hot_3"), reg(l1_2, "groups_3"), reg(is_m2, "is_m_3"), reg(shift2, "shift_3")
        m_some3, m_rank3 = reg(m_some2, "m_some_3"), reg(m_rank2, "m_rank_3")
        next_group3, next_some3 = reg(next_group2, "next_group_3"), reg(next_some2, "next_some_3")
        best3, n_less3 = reg(best2.as_value(), "best_3", Best), reg(n_less2.as_value(), "n_less_3", Best)
        near3, far3 = reg(near2, "near_3"), reg(far2, "far_3")

        # ---- s3: adds write ladder and bitmaps; a removal learns whether the level is gone; search, first half
        level, up, down = Signal(Level), Signal(Level), Signal(Level)
        m.d.comb += [level.as_value().eq(levels.a_out), up.qty.eq(level.qty + taken3), up.count.eq(level.count + 1),
                     down.qty.eq(level.qty - taken3), down.count.eq(level.count - full3)]
        group_bit3 = (Const(1, width) << rank3[group_bits:])[:width]
        writes3 = v3 & add3 & inside3
        down4, gone4 = reg(down.as_value(), "down_4"), reg(inside3 & full3 & (level.count == 1), "gone_4")
        m_word4 = reg(levels.b_out, "m_level_4", Level)
        own_clear4, l1_clear4, lonely4 = reg(own3 & ~one_hot3, "own_clear_4"), reg(l1_3 & ~group_bit3, "groups_clear_4"), reg(lonely3, "lonely_4")
        here_parts4, here_some4 = (reg(x, f"here_{n}_4") for x, n in zip(lowest(rest3), ("parts", "some")))
        there_parts4 = reg(lowest(bits.b_out)[0], "there_parts_4")
        rank4, where4, m_price4, next_group4, next_some4 = (
            reg(x, f"{n}_4") for x, n in ((rank3, "rank"), (where3, "where"), (m_price3, "m_price"), (next_group3, "next_group"), (next_some3, "next_some")))
        m_some4, m_rank4, is_m4, shift4 = reg(m_some3, "m_some_4"), reg(m_rank3, "m_rank_4"), reg(is_m3, "is_m_4"), reg(shift3, "shift_4")
        best4, n_less4 = reg(best3.as_value(), "best_4", Best), reg(n_less3.as_value(), "n_less_4", Best)
        near4, far4 = reg(near3, "near_4"), reg(far3, "far_4")
        m.d.sync += removal4.eq(v3 & ~add3)

        # ---- s4: removals write everything
        changes4 = removal4 & inside4
        writing = writes3 | changes4
        w_rank, w_where = Mux(removal4, rank4, rank3), Mux(removal4, where4, where3)
        m_rank0 = Mux(op.side, t_read[1].data.m_rank, t_read[0].data.m_rank)
        m.d.comb += [
            levels.a_write.eq(writing), levels.a_address.eq(Mux(writing, Cat(w_rank, w_where), Cat(rank0, where0))),
            levels.a_in.eq(Mux(removal4, down4, up.as_value())), levels.b_address.eq(Cat(m_rank0, where0)),
            bits.a_write.eq(writes3 | changes4 & gone4),
            bits.a_address.eq(Mux(writing, Cat(w_rank[group_bits:], w_where), Cat(rank0[group_bits:], where0))),
            bits.a_in.eq(Mux(removal4, own_clear4, own3 | one_hot3)),
            bits.b_address.eq(Mux(v2, Cat(next_group2, where2), Cat(m_rank0[group_bits:], where0)))]
        move4 = changes4 & (shift4 | is_m4 & gone4)                      # the third level is another: here, in the next group, or none
        found4 = Mux(here_some4, Cat(encode(here_parts4, group_bits), m_rank4[group_bits:]), Cat(encode(there_parts4, group_bits), next_group4))
        t_new = Signal(Side)
        m.d.comb += [
            t_new.eq(t_add2),
            t_new.b.eq(Mux(removal4, best4.as_value(), t_add2.b.as_value())), t_new.n.eq(Mux(removal4, n_less4.as_value(), t_add2.n.as_value())),
            t_new.m_some.eq(Mux(move4, m_some4 & (here_some4 | next_some4), Mux(removal4, m_some4, t_add2.m_some))),
            t_new.m_rank.eq(Mux(move4, found4, Mux(removal4, m_rank4, t_add2.m_rank))),
            t_new.near.eq(Mux(removal4, near4, t_add2.near)), t_new.far.eq(Mux(removal4, far4, t_add2.far))]
        with m.If(removal4 & shift4):
            m.d.comb += [t_new.n.some.eq(m_some4), t_new.n.price.eq(m_price4), t_new.n.rank.eq(m_rank4), t_new.n.qty.eq(m_word4.qty),
                         t_new.n.count.eq(m_word4.count)]
        for s in range(2):
            m.d.comb += [
                t_write[s].en.eq(self.clear | removal4 & ~miss4 & (where4[slot_bits] == s) | v2 & add2 & (where2[slot_bits] == s)),
                t_write[s].addr.eq(Mux(self.clear, self.clear_row[:slot_bits], Mux(removal4, where4[:slot_bits], where2[:slot_bits]))),
                t_write[s].data.eq(Mux(self.clear, 0, t_new.as_value())),
                l1_write[s].en.eq(self.clear | (writes3 | changes4 & gone4 & lonely4) & (w_where[slot_bits] == s)),
                l1_write[s].addr.eq(Mux(self.clear, self.clear_row[:slot_bits], w_where[:slot_bits])),
                l1_write[s].data.eq(Mux(self.clear, 0, Mux(removal4, l1_clear4, l1_3 | group_bit3)))]

        # ---- fast path of adds: compare, then publish
        fast = [port.data for port in t_fast]
        m.d.comb += [port.addr.eq(self.fast_slot) for port in t_fast]
        mine = Signal(Best)
        m.d.comb += mine.eq(Mux(self.fast_kept, kept.as_value(), Mux(self.fast_side, fast[1].b.as_value(), fast[0].b.as_value())))
        flip = Mux(self.fast_side, 0, 0xFFFFFFFF)
        f_valid, f_side = Signal(), reg(self.fast_side, "fast_side_1")
        m.d.sync += f_valid.eq(self.fast_valid)
        f_better = reg(~mine.some | ((self.fast_price ^ flip) < (mine.price ^ flip)), "fast_better")
        f_equal = reg(mine.some & equal(self.fast_price, mine.price), "fast_equal")
        f_mine, f_price, f_qty = reg(mine.as_value(), "fast_mine", Best), reg(self.fast_price, "fast_price_1"), reg(self.fast_qty, "fast_qty_1")
        f_sum = reg((mine.qty + self.fast_qty)[:quantity_bits], "fast_sum")
        f_near = reg(Mux(self.fast_kept, kept_near, Mux(self.fast_side, fast[1].near != 0, fast[0].near != 0)), "fast_near_1")
        f_far = reg(Mux(self.fast_kept, kept_far, Mux(self.fast_side, fast[1].far != 0, fast[0].far != 0)), "fast_far_1")
        f_other = reg(Mux(self.fast_side, fast[0].as_value(), fast[1].as_value()), "fast_other", Side)
        in_better, in_equal = self.fast_inside & f_better, self.fast_inside & f_equal

        # ---- the top of book: one register for both paths, which never meet
        own, opposite = Signal(self.tops.p.bid.shape()), Signal(self.tops.p.bid.shape())

        def unknown(near, far, some):
            return near | far & ~some

        with m.If(f_valid):
            m.d.comb += [
                own.some.eq(f_mine.some | self.fast_inside), own.price.eq(Mux(in_better, f_price, f_mine.price)),
                own.qty.eq(Mux(in_better, f_qty, Mux(in_equal, f_sum, f_mine.qty))),
                own.unknown.eq(unknown(f_near | self.fast_near, f_far | self.fast_far, f_mine.some | self.fast_inside)),
                opposite.some.eq(f_other.b.some), opposite.price.eq(f_other.b.price), opposite.qty.eq(f_other.b.qty),
                opposite.unknown.eq(unknown(f_other.near != 0, f_other.far != 0, f_other.b.some))]
        with m.Else():
            m.d.comb += [
                own.some.eq(new_best.some), own.price.eq(new_best.price), own.qty.eq(new_best.qty),
                own.unknown.eq(unknown(near_left1, far_left1, new_best.some)),
                opposite.some.eq(other1.b.some), opposite.price.eq(other1.b.price), opposite.qty.eq(other1.b.qty),
                opposite.unknown.eq(unknown(other1.near != 0, other1.far != 0, other1.b.some))]
        side = Mux(f_valid, f_side, where1[slot_bits])
        tops = self.tops.p
        m.d.sync += [
            self.tops.valid.eq(f_valid | v1 & ~op1.add & ~op1.quiet), tops.side.eq(side), tops.add.eq(f_valid),
            tops.bid.eq(Mux(side, opposite.as_value(), own.as_value())), tops.ask.eq(Mux(side, own.as_value(), opposite.as_value())),
            tops.qty.eq(said1), tops.fault.eq(Mux(f_valid, self.fast_fault, op1.fault))]
        return m
