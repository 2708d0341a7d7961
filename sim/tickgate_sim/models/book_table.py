"""The order table alone, against a dictionary of orders and lists of what each bucket holds."""
from collections import Counter

from tickgate.spec import itch50
from tickgate.spec.hashing import bucket
from tickgate_hdl.book.table import OrderTable

from .book import key_fields, key_layout, passing
from .hop import Script

# From the update of A F to when it is asked whether there is room, from that of A F U to `put`, from that of U and from `abandoned` to `retire`, as book.py
# does it; the table holds from then on.
ROOM_ADD, PUT, RETIRE_REPLACE, RETIRE_ABANDONED = 2, 4, 5, 7


def new_table(preset, crossing=0):
    """``OrderTable`` with the sizes of a preset."""
    return OrderTable(key_layout=key_layout(preset), tick_bits=preset.tick_bits, index_bits=preset.index_bits, reference_bits=preset.reference_bits,
                      tables=preset.tables, ways=preset.ways, crossing=crossing)


class TableScript(Script):
    """Keys of ITCH ``messages`` (see ``passing``), and what becomes of them. ``seen`` counts what was found and why there was no room."""

    resting = {"keys.valid": 0, "put": 0, "retire": 0, "clear": 0}
    quiet = ("find", "next_find")

    def __init__(self, preset, slots, messages, seed, *, crossing=0, **pace):
        super().__init__(seed, 0)
        self.preset, self.late, self.seen = preset, 2 * crossing, Counter()
        self.live = {}                                                     # by slot and reference: [place, shares, subtable and bucket]
        self.buckets = [[0] * (1 << preset.index_bits) for _ in range(preset.tables)]
        for row in range(1 << preset.index_bits):
            self.drive(row, {"clear": 1, "clear_row": row})
        items = [p for p in passing(messages, slots, self.rng, start=row + 5, **pace) if p.code[0] in itch50.BOOK_TYPES]
        self.cycles = items[-1].abandoned + 20 + self.late
        for p in items:
            self._message(p)

    def _message(self, p):
        f, update = p.fields, p.told(itch50.NEEDED[p.code]) if not p.is_cut else None
        if p.code in b"AF":
            self._key(p.told(p.layout["order_ref"].end), p.slot, f["order_ref"], insert=1)
            self._put(update + PUT + self.late, p.slot, f["order_ref"], asked=update + ROOM_ADD + self.late)
        elif p.code == b"U":
            old, new = (f[name] for name in ("original_order_ref", "new_order_ref"))
            found = self._find(p.told(p.layout["original_order_ref"].end), p.slot, old, whole=1, replace=1)
            new_end = p.layout["new_order_ref"].end
            if p.has(new_end):
                self._key(p.told(new_end), p.slot, new, insert=1, whole=1, replace=1)
            if not p.is_cut:
                self._put(update + PUT + self.late, p.slot, new, is_asked=found)
            if found:
                self.drive((p.abandoned + RETIRE_ABANDONED if p.is_cut else update + RETIRE_REPLACE) + self.late, {"retire": 1})
                self._remove(p.slot, old)
        elif p.code == b"D":
            if self._find(update, p.slot, f["order_ref"], whole=1):
                self._remove(p.slot, f["order_ref"])
        else:
            shares = next(f[name] for name in ("executed_shares", "cancelled_shares") if name in f)
            self.drive(update + OrderTable.LATENCY + self.late, {"take": shares})
            if self._find(update, p.slot, f["order_ref"]):
                order = self.live[p.slot, f["order_ref"]]
                order[1] -= shares
                self.seen["part"] += order[1] > 0
                if order[1] <= 0:
                    self._remove(p.slot, f["order_ref"])

    def _key(self, cycle, slot, reference, **kind):
        self.drive(cycle, {"keys.valid": 1, **{f"keys.payload.{name}": v for name, v in key_fields(self.preset, reference, slot, **kind).items()}})

    def _find(self, cycle, slot, reference, *, whole=0, replace=0):
        """A key that is looked up; returns whether its order is there."""
        self._key(cycle, slot, reference, whole=whole, replace=replace)
        wide, order = reference >> self.preset.reference_bits != 0, self.live.get((slot, reference))
        result = {"find": 1, "hit": int(order is not None), "wide": int(wide), "whole": whole, "replace": replace}
        if order:
            result |= {f"order.{name}": value for name, value in {**order[0], "qty": order[1], "slot": slot}.items()}
        found = cycle + OrderTable.LATENCY + self.late
        self.expect(found, result)
        self.expect(found - 1, {"next_find": 1, "next_slot": slot})
        self.seen["wide" if wide else "hit" if order else "miss"] += 1
        return order is not None

    def _put(self, cycle, slot, reference, is_asked=True, asked=None):
        """A new order is put where its key found room, if it did."""
        rng, preset = self.rng, self.preset
        place = {"side": rng.randrange(2), "rank": rng.getrandbits(preset.tick_bits), "outside": rng.randrange(2)}
        shares = rng.choice((1, 100, rng.getrandbits(32)))
        if is_asked:
            self.drive(cycle, {"put": 1, "put_place.qty": shares, **{f"put_place.{name}": value for name, value in place.items()}})
        wide, duplicate = reference >> preset.reference_bits != 0, (slot, reference) in self.live
        room = None
        if not wide and not duplicate:
            filled = [(self.buckets[k][b], k, b) for k in range(preset.tables)
                      for b in (bucket(reference, k, preset.index_bits, preset.reference_bits),)]
            count, *room = min(filled)
            room = None if count == preset.ways else room
        for at in {cycle, asked or cycle}:
            self.expect(at, {"room": int(room is not None), "duplicate": int(duplicate), "put_wide": int(wide)})
        self.seen["placed" if room else "put_wide" if wide else "duplicate" if duplicate else "full"] += is_asked
        if room and is_asked:
            self.live[slot, reference] = [place, shares, room]
            self.buckets[room[0]][room[1]] += 1

    def _remove(self, slot, reference):
        *_, (k, b) = self.live.pop((slot, reference))
        self.buckets[k][b] -= 1
