"""The orders that events are about: side, price and rest of each live one, so that every event can say what it concerned."""
from collections import Counter

import numpy as np

from tickgate.spec.events import EVENT, LAST, SNAPSHOT

_A, _X, _D, _E, _C, _U, _M, _F, _R = (ord(action) for action in "AXDECUMFR")
_REDUCES = frozenset((_X, _E, _C))
_COLUMNS = ("action", "locate", "reference", "new_reference", "quantity", "price", "price_rest", "side")


class Orders:
    """All live orders, by locate and reference; memory follows them. ``faults``: events by what was wrong with them, as in docs/path.md."""

    def __init__(self):
        self.live, self.faults = {}, Counter()     # [side, price, rest, quantity]; a dict keeps the order of arrival

    def complete(self, events, split=False, as_messages=False):
        """``(events, left)``: the events with what they leave to their order filled in (side, price; what a D took), and the quantity that
        each one's order has after it (0: it is gone, or there is none).

        ``split``: U becomes a D and an A, and what was wrong (unknown order, a reference that lives already) is left out; else it stays as it is.
        ``as_messages``: M becomes what ITCH and LOBSTER can say: X when the order keeps its place in the queue, else D and A, nothing when it stays as it is.
        Of the rows that come from one event the last alone has ``LAST``.
        """
        index, action, reference, side, price, rest, quantity, left, last = ([] for _ in range(9))
        live, faults = self.live, self.faults

        def row(k, act, ref, order, amount, after, is_last=True):
            index.append(k)
            action.append(act)
            reference.append(ref)
            side.append(order[0])
            price.append(order[1])
            rest.append(order[2])
            quantity.append(amount)
            left.append(after)
            last.append(is_last)

        for k, (act, locate, ref, new, amount, its_price, its_rest, its_side) in enumerate(zip(*(events[name].tolist() for name in _COLUMNS))):
            key, own = (locate, ref), (its_side, its_price, its_rest)
            if act == _A:
                if key in live:
                    faults["duplicate_reference"] += 1
                    if not split:
                        row(k, act, ref, own, amount, 0)
                    continue
                live[key] = [*own, amount]
                row(k, act, ref, own, amount, amount)
            elif (act in _REDUCES or act == _D or act == _U) and key not in live:
                faults["unknown_reference"] += 1
                if not split:
                    row(k, act, ref, own, amount, 0)
            elif act in _REDUCES:
                order = live[key]
                if amount >= order[3]:
                    if amount > order[3]:
                        faults["overfill"] += 1
                    del live[key]
                    row(k, act, ref, order, amount, 0)
                else:
                    order[3] -= amount
                    row(k, act, ref, order, amount, order[3])
            elif act == _D:
                order = live.pop(key)
                row(k, act, ref, order, order[3], 0)
            elif act == _U:
                order = live.pop(key)
                own = (order[0], its_price, its_rest)
                is_new = (locate, new) not in live and new != ref
                if split:
                    row(k, _D, ref, order, order[3], 0, not is_new)
                if is_new:
                    live[locate, new] = [*own, amount]
                else:
                    faults["duplicate_reference"] += 1
                if not split or is_new:
                    row(k, _A if split else _U, new if split else ref, own, amount, amount if is_new else 0)
            elif act == _M:
                order = live.get(key)
                keeps_place = order is not None and order[:3] == [*own] and amount <= order[3]
                if not as_messages:
                    row(k, act, ref, own, amount, amount)
                elif not keeps_place:
                    if order is not None:
                        row(k, _D, ref, order, order[3], 0, False)
                    row(k, _A, ref, own, amount, amount)
                elif amount < order[3]:
                    row(k, _X, ref, order, order[3] - amount, amount)
                if not keeps_place:
                    live.pop(key, None)
                live[key] = [*own, amount]
            else:
                if act == _R:
                    for gone in [one for one in live if one[0] == locate]:
                        del live[gone]
                order = live.get(key) if act == _F else None
                row(k, act, ref, order or own, amount, order[3] if order else 0)
        out = events[np.array(index, np.int64)]
        for name, values in (("action", action), ("reference", reference), ("side", side), ("price", price), ("price_rest", rest), ("quantity", quantity)):
            out[name] = np.array(values, out.dtype[name])
        out["flags"] &= np.where(np.array(last, bool), 0xFF, 0xFF ^ LAST).astype(np.uint8)
        if split:
            out["new_reference"] = 0
        return out, np.array(left, np.uint64)

    def snapshot(self, time_ns, locates):
        """Events that make the live orders of these locates anew, flagged SNAPSHOT: for each locate an R, then its orders, oldest first."""
        chosen = [(key, order) for key, order in self.live.items() if key[0] in locates]
        chosen.sort(key=lambda one: one[0][0])     # stable: oldest first within each
        rows, before = [], None
        for (locate, reference), (side, price, rest, quantity) in chosen:
            if locate != before:
                rows.append((locate, 0, _R, ord(" "), 0, 0, 0))
                before = locate
            rows.append((locate, reference, _A, side, price, rest, quantity))
        out = np.zeros(len(rows), EVENT.dtype)
        for name, values in zip(("locate", "reference", "action", "side", "price", "price_rest", "quantity"), zip(*rows)):
            out[name] = values
        out["time_ns"], out["flags"] = time_ns, SNAPSHOT
        if len(out):
            out["flags"][np.append(out["locate"][1:] != out["locate"][:-1], True)] |= LAST
        return out
