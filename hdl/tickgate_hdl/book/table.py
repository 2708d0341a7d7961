"""Order table: live orders by slot and reference, ``tables`` subtables with a hash each (d-left hashing), ``ways`` entries a bucket.

    key ─► near the memories ─► RAM (2) ─► bank multiplexer, forward ─► compare, select ─► found
    0        1                   1 → 3           3 → 4                      4 → 5              5

Find: the entry is known LATENCY cycles after its key. With ``whole`` it goes, else ``take`` shares go, and the entry when none are left; the memory is
written two cycles later. The old order of a replace goes only when ``retire`` says so, after the new one has been placed: so where the new one finds
room does not depend on the line's pace.
Room: the first free way of the emptiest bucket (the lowest subtable on ties) is held from LATENCY + 1 cycles after its key until ``put``; so is whether
the reference is live already. The rules are docs/path.md's.

An entry keeps the reference without its bucket bits: the hash is invertible (tickgate.spec.hashing).
Assumptions: messages are 5 cycles apart at the least; ``put`` comes by 5 cycles after a message's last needed byte, ``retire`` a cycle later. Then at
most one write falls into the cycle of a read; it is forwarded, everything earlier is in the memory.
"""
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
    LATENCY = 5  # key to found

    def __init__(self, *, key_layout, tick_bits, index_bits, reference_bits, tables, ways):
        self.key_layout, self.index_bits, self.tables, self.ways = key_layout, index_bits, tables, ways
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
        forward_now = Cat(*[w_way[t * ways + w] & (w_index[t] == key.buckets[t]) for t in tables for w in range(ways)])
        forward = delay(m, forward_now, 2, "forward")[1]
        forward_entry = delay(m, w_entry.as_value(), 2, "forward_entry")[1]
        valids = [Signal(name=f"valid_{k}") for k in range(1, 5)]                                        # cycles 2..5
        m.d.sync += [valids[0].eq(valid), *[valids[k].eq(valids[k - 1]) for k in range(1, 4)]]
        ks = [Signal(self.key_layout, name=f"key_{k}", reset_less=True) for k in range(1, 5)]
        m.d.sync += [ks[0].eq(key), *[ks[k].eq(ks[k - 1]) for k in range(1, 4)]]

        # ---- cycles 1..4: read
        entries = []
        for t in tables:
            for w in range(ways):
                m.submodules[f"way{t}_{w}"] = ram = DeepMemory(
                    bank_bits=index_bits - row_bits, row_bits=row_bits, width=self.entry.size, latency=2)
                m.d.comb += [ram.b_address.eq(key.buckets[t]), ram.a_write.eq(w_way[t * ways + w]), ram.a_address.eq(w_index[t]),
                             ram.a_in.eq(w_entry.as_value()), ram.clear.eq(self.clear), ram.clear_row.eq(self.clear_row)]
                read = Signal(self.entry, name=f"read{t}_{w}", reset_less=True)
                m.d.sync += read.as_value().eq(Mux(forward[t * ways + w], forward_entry, ram.b_out))
                entries.append(read)

        # ---- cycle 4: compare, select; count free ways
        match = Signal(self.tables * ways)
        for k, e in enumerate(entries):
            m.d.comb += match[k].eq(equal(Cat(e.slot, e.rest, e.valid), Cat(ks[2].slot, ks[2].rest, 1)))
        found = Signal(self.entry, reset_less=True)
        found_way = Signal(self.tables * ways)
        bits = [e.as_value() for e in entries]
        m.d.sync += [found.as_value().eq(Cat(*[Cat(*[match[k] & bits[k][b] for k in range(len(bits))]).any() for b in range(self.entry.size)])),
                     found_way.eq(match)]
        free = [Signal(ways, name=f"free{t}", reset_less=True) for t in tables]
        level = [Signal(range(ways + 1), name=f"level{t}", reset_less=True) for t in tables]
        for t in tables:
            now = Cat(*[~entries[t * ways + w].valid for w in range(ways)])
            m.d.sync += [free[t].eq(now), level[t].eq(sum(now[w] for w in range(ways)))]

        # ---- cycle 5: the result of a find; room for an insert
        find = Signal()
        here = ks[3]
        hit = Signal()
        m.d.comb += [self.next_find.eq(valids[2] & ~ks[2].insert), self.next_slot.eq(ks[2].slot), hit.eq(found_way.any() & ~here.wide)]
        m.d.sync += find.eq(self.next_find)
        m.d.comb += [self.find.eq(find), self.hit.eq(hit), self.wide.eq(here.wide), self.replace.eq(here.replace), self.whole.eq(here.whole),
                     self.order.eq(found)]
        wish = [level[t] == c for c in range(ways, 0, -1) for t in tables]                               # best first
        first = [wish[k] & ~Cat(*wish[:k]).any() if k else wish[0] for k in range(len(wish))]
        room = Signal(self.tables * ways)
        for t in tables:
            pick = Cat(*first[t::self.tables]).any()
            for w in range(ways):
                m.d.comb += room[t * ways + w].eq(pick & free[t][w] & (~free[t][:w].any() if w else 1))
        room_way = Signal(self.tables * ways)
        room_index = [Signal(index_bits, name=f"room_index{t}", reset_less=True) for t in tables]
        room_key = Signal(self.key_layout, reset_less=True)
        can, duplicate = Signal(), Signal()
        with m.If(valids[3] & here.insert):
            m.d.sync += [room_way.eq(room), room_key.eq(here), can.eq(room.any() & ~found_way.any() & ~here.wide), duplicate.eq(found_way.any()),
                         *[room_index[t].eq(here.buckets[t]) for t in tables]]
        m.d.comb += [self.room.eq(can), self.duplicate.eq(duplicate & ~room_key.wide), self.put_wide.eq(room_key.wide)]

        # ---- the write, one cycle after what asks for it
        old_way = Signal(self.tables * ways)
        old_index = [Signal(index_bits, name=f"old_index{t}", reset_less=True) for t in tables]
        with m.If(find & here.replace):
            m.d.sync += [old_way.eq(Mux(hit, found_way, 0)), *[old_index[t].eq(here.buckets[t]) for t in tables]]
        left = Signal(32)
        m.d.comb += left.eq(found.qty - self.take)
        new = Signal(self.entry)
        with m.If(self.put):
            m.d.comb += [new.valid.eq(1), new.rest.eq(room_key.rest), new.slot.eq(room_key.slot), new.side.eq(self.put_place.side),
                         new.outside.eq(self.put_place.outside), new.rank.eq(self.put_place.rank), new.qty.eq(self.put_place.qty)]
            m.d.sync += [w_way.eq(Mux(can, room_way, 0)), *[w_index[t].eq(room_index[t]) for t in tables]]
        with m.Elif(self.retire):
            m.d.sync += [w_way.eq(old_way), *[w_index[t].eq(old_index[t]) for t in tables]]
        with m.Else():
            m.d.comb += [new.eq(found), new.valid.eq(~(here.whole | (found.qty <= self.take))), new.qty.eq(left)]
            m.d.sync += [w_way.eq(Mux(find & hit & ~here.replace, found_way, 0)), *[w_index[t].eq(here.buckets[t]) for t in tables]]
        m.d.sync += w_entry.eq(new)
        return m
