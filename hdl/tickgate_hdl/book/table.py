"""Order table: live orders by slot and reference, ``tables`` subtables with a hash each (d-left hashing), ``ways`` entries a bucket.

    key ─► near the memories ─► RAM (2) ─► bank multiplexer, forward ─► compare, select ─► found
    0        1                   1 → 3           3 → 4                      4 → 5              5

Find: the entry is known LATENCY cycles after its key. With ``whole`` it goes, else ``take`` shares go, and the entry when none are left; the memory is
written two cycles later. The old order of a replace goes only when ``retire`` says so, after the new one has been placed: so where the new one finds
room does not depend on the line's pace.
Room: the first free way of the emptiest bucket (the lowest subtable on ties) is held from LATENCY + 1 cycles after its key until ``put``; so is whether
the reference is live already. The rules are docs/path.md's.

Crossing: with ``crossing`` more registers each way between the centre and memories that are far away, the cycles from 1 on come ``crossing`` later at the
memories and twice that at the centre. LATENCY grows by as much. A read then misses what is written from its cycle 1 until 2 * crossing cycles later; these
writes are known at the centre, where each is compared with the keys under way, and forwarded. With 0 this is the one write that meets the read.

An entry keeps the reference without its bucket bits: the hash is invertible (tickgate.spec.hashing).
Assumptions: messages are 5 cycles apart at the least; ``put`` comes by 5 + 2 * crossing cycles after a message's last needed byte, ``retire`` a cycle later.
Then whatever earlier messages write is in the memory or forwarded.
"""
from functools import reduce
from operator import or_

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..board.memory import DeepMemory
from ..stream.logic import delay, equal

ROW_BITS = 12  # of one ultra RAM


def entry(*, slot_bits, tick_bits, rest_bits):
    """An order. Outside the ladder, bit 0 of ``rank`` says near (1) or far (0)."""
    return data.StructLayout({"qty": 32, "rank": tick_bits, "outside": 1, "side": 1, "slot": slot_bits, "rest": rest_bits, "valid": 1})


def place(tick_bits):
    """Where an order rests: see ``entry``."""
    return data.StructLayout({"side": 1, "rank": tick_bits, "outside": 1, "qty": 32})


class OrderTable(wiring.Component):
    LATENCY = 5  # key to found, without crossing; that of an instance is its own

    def __init__(self, *, key_layout, tick_bits, index_bits, reference_bits, tables, ways, crossing=0):
        if crossing < 0:
            raise ValueError(f"crossing must be 0 or more registers, not {crossing}")
        self.key_layout, self.index_bits, self.tables, self.ways, self.crossing = key_layout, index_bits, tables, ways, crossing
        self.LATENCY = OrderTable.LATENCY + 2 * crossing
        slot_bits = key_layout["slot"].width
        self.entry = entry(slot_bits=slot_bits, tick_bits=tick_bits, rest_bits=reference_bits - index_bits)
        super().__init__({
            "keys": In(stream.Signature(key_layout, always_ready=True)),
            "take": In(32),                                  # shares to take, with the result of a find
            "next_find": Out(1), "next_slot": Out(slot_bits),  # the cycle before the result of a find
            "find": Out(1),                                  # the result of a find is here
            "hit": Out(1), "wide": Out(1), "replace": Out(1), "whole": Out(1), "order": Out(self.entry),
            "put": In(1), "put_place": In(place(tick_bits)),
            "room": Out(1), "duplicate": Out(1), "put_wide": Out(1),   # with put: it is placed; why not (else: no room)
            "retire": In(1),
            "clear": In(1), "clear_row": In(ROW_BITS)})

    def elaborate(self, platform):
        m = Module()
        tables, ways, index_bits = range(self.tables), self.ways, self.index_bits
        row_bits = min(ROW_BITS, index_bits)
        keys = self.keys.p
        valid = Signal()
        key = Signal(self.key_layout)
        m.d.sync += [valid.eq(self.keys.valid), key.eq(keys)]                                            # cycle 1: near the memories
        w_way = Signal(self.tables * ways)
        w_index = [Signal(index_bits, name=f"w_index{t}") for t in tables]
        w_entry = Signal(self.entry)
        valids = [Signal(name=f"valid_{k}") for k in range(1, self.LATENCY)]                             # cycles 2..LATENCY
        m.d.sync += [valids[0].eq(valid), *[valids[k].eq(valids[k - 1]) for k in range(1, len(valids))]]
        ks = [Signal(self.key_layout, name=f"key_{k}", reset_less=True) for k in range(1, self.LATENCY)]
        m.d.sync += [ks[0].eq(key), *[ks[k].eq(ks[k - 1]) for k in range(1, len(ks))]]

        # ---- from cycle 1 on: writes that the read will not show; by way, which of them is the latest
        away = 2 * self.crossing                                                                        # of the memory's answer, cycles
        places = range(tables.stop * ways)
        w_way_2 = delay(m, w_way, 1, "w_way")[0]
        latest = None
        for stage in range(away + 1):
            same = delay(m, Cat(*[equal(w_index[t], ([key] + ks)[stage].buckets[t]) for t in tables]), 1, f"same{stage}")[0]
            now = [w_way_2[k] & same[k // ways] for k in places]
            before = [[bit & ~now[k] for bit in latest[k]] for k in places] if latest else [[]] * len(places)
            latest = [delay(m, Cat(*before[k], now[k]), 1, f"latest{stage}_{k}")[0] for k in places]
        written = delay(m, w_entry.as_value(), away + 2, "written")[1:][::-1]                            # that of stage 0 first

        # ---- cycles 1..4: read
        far_way, far_entry, far_clear, far_row, *far_index = (
            delay(m, signal, self.crossing, f"{name}_far")[-1] if self.crossing else signal for name, signal in (
                ("w_way", w_way), ("w_entry", w_entry.as_value()), ("clear", self.clear), ("clear_row", self.clear_row),
                *((f"w_index{t}", w_index[t]) for t in tables)))
        entries = []
        for t in tables:
            index = ([key] + ks)[self.crossing].buckets[t]
            for w in range(ways):
                place = t * ways + w
                m.submodules[f"way{t}_{w}"] = ram = DeepMemory(
                    bank_bits=index_bits - row_bits, row_bits=row_bits, width=self.entry.size, latency=2 + self.crossing)
                m.d.comb += [ram.b_address.eq(index), ram.a_write.eq(far_way[place]), ram.a_address.eq(far_index[t]), ram.a_in.eq(far_entry),
                             ram.clear.eq(far_clear), ram.clear_row.eq(far_row)]
                read = Signal(self.entry, name=f"read{t}_{w}", reset_less=True)
                forward = written[0] if not away else reduce(or_, (e & which.replicate(len(e)) for e, which in zip(written, latest[place], strict=True)))
                m.d.sync += read.as_value().eq(Mux(latest[place].any(), forward, ram.b_out))
                entries.append(read)

        # ---- cycle 4: compare, select; an insert looks for the emptiest bucket
        match = Signal(self.tables * ways)
        for k, e in enumerate(entries):
            m.d.comb += match[k].eq(equal(Cat(e.slot, e.rest, e.valid, 0), Cat(ks[-2].slot, ks[-2].rest, 1, ks[-2].wide)))
        found = Signal(self.entry, reset_less=True)                                                     # all zero when it is not there
        found_way = Signal(self.tables * ways, reset_less=True)
        bits = [e.as_value() for e in entries]
        m.d.sync += [found.as_value().eq(Cat(*[Cat(*[match[k] & bits[k][b] for k in range(len(bits))]).any() for b in range(self.entry.size)])),
                     found_way.eq(match)]
        free = [[~entries[t * ways + w].valid for w in range(ways)] for t in tables]
        lowest, some = [], []                                                                           # by free ways: the first bucket, is there one
        for c in range(1, ways + 1):
            have = [sum(free[t]) == c for t in tables]
            lowest.append(delay(m, Cat(*[have[t] & ~Cat(*have[:t]).any() for t in tables]), 1, f"lowest{c}")[0])
            some.append(delay(m, Cat(*have).any(), 1, f"some{c}")[0])
        first_free = delay(m, Cat(*[free[t][w] & ~Cat(*free[t][:w]).any() for t in tables for w in range(ways)]), 1, "first_free")[0]

        # ---- cycle 5: the result of a find; room for an insert
        find, hit, here = Signal(), found.valid, ks[-1]
        m.d.comb += [self.next_find.eq(valids[-2] & ~ks[-2].insert), self.next_slot.eq(ks[-2].slot)]
        m.d.sync += find.eq(self.next_find)
        m.d.comb += [self.find.eq(find), self.hit.eq(hit), self.wide.eq(here.wide), self.replace.eq(here.replace), self.whole.eq(here.whole),
                     self.order.eq(found)]
        emptiest = [Cat(*[lowest[c][t] & ~Cat(*some[c + 1:]).any() for c in range(ways)]).any() for t in tables]
        room_way, can, duplicate = Signal(self.tables * ways), Signal(), Signal()
        room_index = [Signal(index_bits, name=f"room_index{t}", reset_less=True) for t in tables]
        room_key = Signal(self.key_layout, reset_less=True)
        with m.If(valids[-1] & here.insert):
            m.d.sync += [can.eq(Cat(*some).any() & ~hit & ~here.wide), duplicate.eq(hit), room_key.eq(here),
                         *[room_way[t * ways + w].eq(emptiest[t] & first_free[t * ways + w]) for t in tables for w in range(ways)],
                         *[room_index[t].eq(here.buckets[t]) for t in tables]]
        m.d.comb += [self.room.eq(can), self.duplicate.eq(duplicate), self.put_wide.eq(room_key.wide)]

        # ---- the write, one cycle after what asks for it
        old_way = Signal(self.tables * ways)
        old_index = [Signal(index_bits, name=f"old_index{t}", reset_less=True) for t in tables]
        with m.If(find & here.replace):
            m.d.sync += [old_way.eq(found_way), *[old_index[t].eq(here.buckets[t]) for t in tables]]
        new = Signal(self.entry)
        with m.If(self.put):
            m.d.comb += [new.valid.eq(1), new.rest.eq(room_key.rest), new.slot.eq(room_key.slot), new.side.eq(self.put_place.side),
                         new.outside.eq(self.put_place.outside), new.rank.eq(self.put_place.rank), new.qty.eq(self.put_place.qty)]
            m.d.sync += [w_way.eq(Mux(can, room_way, 0)), *[w_index[t].eq(room_index[t]) for t in tables]]
        with m.Elif(self.retire):
            m.d.sync += [w_way.eq(old_way), *[w_index[t].eq(old_index[t]) for t in tables]]
        with m.Else():
            m.d.comb += [new.eq(found), new.valid.eq(~(here.whole | (found.qty <= self.take))), new.qty.eq(found.qty - self.take)]
            m.d.sync += [w_way.eq(Mux(find & ~here.replace, found_way, 0)), *[w_index[t].eq(here.buckets[t]) for t in tables]]
        m.d.sync += w_entry.eq(new)
        return m
