"""Gateware = twin with commands of the host among the messages: random ones that meet them in any state, and ladders that are moved while the feed runs."""
import random
from collections import Counter

import numpy as np
import pytest

from tickgate.app import mismatch, pair
from tickgate.app.pair import Pair
from tickgate.spec import clocks, commands, itch50, records
from tickgate.spec.commands import Command
from tickgate.spec.presets import PRESETS, TICK_SIZES
from tickgate.twin import Golden, Symbol
from tickgate.twin.unbounded import unbounded
from tickgate_hdl.book.book import Book
from tickgate_hdl.book.publish import Publisher
from tickgate_hdl.feed.itch import ItchParser
from tickgate_sim.streams import Maker, frames, universe
from tickgate_sim.virtual.device import VirtualCard

from .pairing import FILTERS, Batch

SMALL = PRESETS["small"]
LATENCY = {code: ItchParser.LATENCY + cycles + Publisher.LATENCY
           for codes, cycles in (("AF", Book.LATENCY_ADD), ("U", Book.LATENCY_REPLACE), ("ECXD", Book.LATENCY_REMOVE)) for code in codes}


class Chaos:
    """Pushes random commands between parts of the stream: with references that live or do not, on books that are stale or not; and now and then all that
    empties a book, with a base behind it. Stands where ``Recentring`` does."""

    busy = True

    def __init__(self, pair, seed):
        self.pair, self.rng, self.left = pair, random.Random(f"chaos {seed}"), 10_000
        self.kinds = Counter()

    def took_effect(self, row, command):
        self.kinds[command.kind, int(row["detail"])] += 1

    def step(self):
        rng, port = self.rng, self.pair.port
        least = min(self.pair.golden.slots.values(), key=lambda slot: len(slot.book.orders))
        if rng.random() < 0.5 and len(least.book.orders) + 2 <= port.room:       # hardly an order: all of them, and away
            for reference in least.book.orders:
                port.push(Command(commands.DELETE, least.number, reference))
            port.push(self._base(least))
        for _ in range(min(rng.choice((0, 1, 3, 16)), port.room)):
            if not self.left:
                return
            self.left -= 1
            port.push(self._command(rng.choice(list(self.pair.golden.slots.values()))))

    def _command(self, slot):
        rng, orders = self.rng, list(slot.book.orders)
        kind = rng.choice((commands.ADD, commands.TAKE, commands.DELETE, commands.DELETE, commands.HOLD, commands.BASE, commands.ARM))
        reference = rng.choice(orders) if orders and rng.random() < 0.8 else rng.getrandbits(rng.choice((8, SMALL.reference_bits)))
        if kind == commands.ADD:
            reference = reference if rng.random() < 0.2 else rng.getrandbits(SMALL.reference_bits)
            price = slot.book.base + rng.randrange(-20, SMALL.ticks + 20) * slot.book.tick + rng.choice((0, 0, 0, 1))
            return Command(kind, slot.number, reference, rng.randrange(2), rng.getrandbits(rng.choice((4, 32))), _price(price))
        if kind == commands.TAKE:
            have = slot.book.orders[reference].quantity if reference in slot.book.orders else 5
            return Command(kind, slot.number, reference, 0, rng.choice((1, have, have // 2, (have + 1) % (1 << 32))))
        if kind == commands.DELETE:
            return Command(kind, slot.number, reference)
        return self._base(slot) if kind == commands.BASE else Command(kind, slot.number)

    def _base(self, slot):
        return Command(commands.BASE, slot.number, qty=self.rng.randrange(3), price=_price(slot.book.base + self.rng.randrange(-50, 50) * slot.book.tick))


def _price(price):
    return min(max(0, price), (1 << 32) - 1)


def _run(device, sizes, symbols, stream, *, recentring=None, **options):
    """The ``Pair`` and all records, every one equal to the twin's."""
    both = Pair(device, sizes, symbols, FILTERS, **options)
    if recentring:
        both.recentring = recentring(both)
    rows = np.concatenate([rows for _, _, rows in both.run([Batch.of(stream)])])
    assert both.failure is None, both.failure
    if both.difference:
        raise AssertionError("\n" + mismatch.story(both.difference, stream, Golden(sizes, symbols, FILTERS), both.commands)["text"])
    assert not (texts := both.final()), "\n".join(texts)
    assert both.check.compared == len(rows) > 0
    tops = rows[rows["kind"] == records.TOP_OF_BOOK]                      # commands cost no message a cycle, and take as long as the message they stand for
    cycles = clocks.cycles_between(tops["t_wire_ns"].astype(np.int64), tops["t_out_ns"].astype(np.int64))
    latency = {chr(code): sorted(set(cycles[tops["message"] == code].tolist())) for code in np.unique(tops["message"])}
    assert latency == {code: [LATENCY[code] + 2 * both.preset.crossing] for code in latency}
    return both, rows


@pytest.mark.parametrize("name, profile, faults, per_packet, react", [
    ("small", "mixed", 0.0, None, 400), ("small", "mixed", 0.3, None, 400), ("small", "sweep", 0.0, 1, 90), ("small", "storm", 0.0, 64, 3000),
    ("wide", "mixed", 0.3, None, 400), ("wide", "storm", 0.0, 64, 3000)])
def test_random_commands(name, profile, faults, per_packet, react, monkeypatch):
    seed = f"{profile} {faults}"
    print(f"seed {seed!r}")
    monkeypatch.setattr(pair, "REACTION", react)
    preset = PRESETS[name]
    symbols = universe(preset, seed, 4)
    busy, calm = (Maker(seed, preset=preset, symbols=some, profile=profile).messages(n) for some, n in ((symbols[:3], 2800), (symbols[3:], 200)))
    messages = [m for k in range(200) for m in (*busy[14 * k:14 * k + 14], calm[k])]       # one symbol has few orders: its book may be empty
    stream = frames(messages, seed, filters=FILTERS, faults=faults, **({"per_packet": per_packet, "plain": True} if per_packet else {})).frames
    with VirtualCard(name, seed=5) as device:
        both, rows = _run(device, preset, symbols, stream, recentring=lambda both: Chaos(both, seed))
        pushed, took = both.card.command.pushed, both.card.command.done
    done = both.recentring.kinds
    print(dict(done))
    told = rows[rows["source"] == commands.HOST]
    assert len(told) == sum(done.values()) > 100 and pushed == took == len(told)
    assert {kind for kind, _ in done} == set(commands.LETTERS) and done[commands.BASE, 0] and done[commands.BASE, commands.REFUSED]
    arms = told[told["message"] == ord("+")]
    assert {0, records.STALE} == set((arms["flags"] & records.STALE).tolist())


def drifting(symbols, seed, count, *, live, step, share):
    """A clean stream: adds near a price, deletes, cancels and replaces; ``live`` orders of a symbol. The price of the first symbol, which has ``share`` of the
    messages, wanders upward by a tick each ``step`` messages; those of the others stay."""
    rng, orders, out, reference = random.Random(f"drift {seed}"), {s.locate: {} for s in symbols}, [], 0

    def pack(code, s, **fields):
        out.append(itch50.BY_CODE[code].encode(stock_locate=s.locate, **fields))

    for k in range(count):
        s = symbols[0] if rng.random() < share else rng.choice(symbols[1:])
        mine, at = orders[s.locate], s.base + s.tick * (SMALL.ticks // 2 + (k // step if s is symbols[0] else 0))
        reference += rng.randrange(1, 4)
        sell = rng.randrange(2)
        price = at + s.tick * (rng.randrange(1, 25) if sell else -rng.randrange(25))
        oldest = next(iter(mine), None)
        if len(mine) < live or rng.random() < 0.3:
            mine[reference] = shares = rng.randrange(1, 1000)
            pack(b"A", s, order_ref=reference, side="BS"[sell], shares=shares, price=price)
        elif rng.random() < 0.3:
            mine.pop(oldest)
            mine[reference] = shares = rng.randrange(1, 1000)
            pack(b"U", s, original_order_ref=oldest, new_order_ref=reference, shares=shares, price=at + s.tick * rng.choice((-30, 30)))
        elif mine[oldest] > 1 and rng.random() < 0.3:
            shares = rng.randrange(1, mine[oldest])
            mine[oldest] -= shares
            pack(b"X", s, order_ref=oldest, cancelled_shares=shares)
        else:
            mine.pop(oldest)
            pack(b"D", s, order_ref=oldest)
    return out


@pytest.mark.parametrize("live, count, share, per_packet", [(20, 6000, 0.4, 10), (60, 9000, 0.08, 12)])
def test_a_ladder_follows_the_price(live, count, share, per_packet, monkeypatch):
    monkeypatch.setattr(pair, "WATCH", 2000)
    monkeypatch.setattr(pair, "REACTION", 1000)
    seed = f"live {live}"
    print(f"seed {seed!r}")
    symbols = [Symbol(k, 10 + k, 1_000_000 * (k + 1), TICK_SIZES[k % 3]) for k in range(4)]
    messages = drifting(symbols, seed, count, live=live, step=10, share=share)
    stream = frames(messages, seed, filters=FILTERS, per_packet=per_packet, plain=True).frames
    with VirtualCard("small", seed=5) as device:
        both, rows = _run(device, SMALL, symbols, stream, recentre=True)
    moves = both.recentring.moves
    for move in moves:
        print(move)
    assert len(moves) > 2 and all(m.ended and not m.given_up for m in moves) and not both.golden.stale
    for s in symbols:                                                     # the card's books are the true ones, and are said to be
        ours, true = ({r: (o.sell, o.quantity) for r, o in book.orders.items()}
                      for book in (both.golden.slots[s.slot].book, both.truth.slots[s.locate].book))
        assert ours == true and len(ours) > live // 2
    for slot, held in ((0, True), (1, False), (2, False), (3, False)):    # nobody else was disturbed
        assert bool((rows["flags"][rows["slot"] == slot] & records.STALE).any()) == held
    # whatever was published as valid was the exchange's top of book at that message
    true = unbounded([s.locate for s in symbols], FILTERS)
    for frame, _ in stream:
        true.frame(frame)
    true = true.take()
    feed = rows[rows["source"] != commands.HOST]
    assert len(feed) == count and (feed["number"] == true["number"]).all()
    valid = feed["flags"] & records.VALID != 0
    assert valid[feed["slot"] == 0].any() and not valid[feed["slot"] == 0].all()
    top = records.RECORDS["top_of_book"].dtype
    for name in ("bid_px", "bid_qty", "ask_px", "ask_qty"):
        assert (feed.view(top)[name][valid] == true.view(top)[name][valid]).all()
