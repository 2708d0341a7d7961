"""Commands to a card, and ladders that follow the price: what is pushed, in which order, and when it is given up. The card is a twin."""
import itertools
import random
from ipaddress import IPv4Address
from types import SimpleNamespace

import numpy as np
import pytest

from tickgate.capture import NASDAQ, mold_frame
from tickgate.card import CardError, CommandPort, Recentring
from tickgate.card.recentre import centred, wanted
from tickgate.spec import commands, itch50, records
from tickgate.spec.commands import Command
from tickgate.spec.presets import PRESETS
from tickgate.twin import Golden, Symbol
from tickgate.twin.unbounded import unbounded

SMALL = PRESETS["small"]
GROUP = (int(IPv4Address(NASDAQ.group)), NASDAQ.port)
BASE, TICK, SPAN = 1_000_000, 100, 256 * 100
LIMIT = 2000     # commands, in a test


class Registers:
    """A device that keeps what is written."""

    name = "registers"

    def __init__(self, pushed=0):
        self.writes, self.pushed = [], pushed

    def write32(self, address, value):
        self.writes.append((address, value))

    post32 = write32


def port(device):
    return CommandPort(SimpleNamespace(device=device, preset=SMALL, command=SimpleNamespace(pushed=device.pushed)), posted=True)


def rows(*numbers, source=commands.HOST):
    out = np.zeros(len(numbers), records.COMMON.dtype)
    out["number"], out["source"] = numbers, source
    return out


def test_fields_that_stay_are_not_written_again():
    device = Registers()
    p = port(device)
    p.push(Command(commands.ADD, 1, reference=1 << 40 | 5, side=1, qty=7, price=9))
    first = len(device.writes)
    p.push(Command(commands.ADD, 1, reference=1 << 40 | 5, side=1, qty=7, price=10))
    assert first == 7 and len(device.writes) == first + 2       # slot, side, reference twice, qty, price, push; then price, push


def test_numbers_go_on_where_the_card_is_and_wrap():
    p = port(Registers(pushed=(1 << 31) - 1))
    assert [p.push(Command(commands.HOLD, 0)) for _ in range(2)] == [(1 << 31) - 1, 0]
    own, done = p.took_effect(np.concatenate([rows(5, source=0), rows((1 << 31) - 1, 0)]))
    assert len(own) == len(done) == 2 and not p.waiting


def test_what_the_card_cannot_take_is_refused():
    p = port(Registers())
    for wrong in (Command(7, 0), Command(commands.HOLD, SMALL.symbols), Command(0, 0), Command(commands.ADD, 0, 1, 0, 1 << 32)):
        with pytest.raises(CardError, match="no such kind or slot"):
            p.push(wrong)
    for _ in range(commands.QUEUE):
        p.push(Command(commands.HOLD, 0))
    with pytest.raises(CardError, match="16 wait already"):
        p.push(Command(commands.HOLD, 0))
    with pytest.raises(CardError, match="expected was 0: records were lost"):
        p.took_effect(rows(1))
    with pytest.raises(CardError, match="of command 3, expected was none"):
        port(Registers()).took_effect(rows(3))


@pytest.mark.parametrize("bid, ask, base, out", [
    (None, BASE, BASE, BASE), (BASE, None, BASE, BASE),                                         # a side is empty
    (BASE + SPAN // 2, BASE + SPAN // 2 + TICK, BASE, BASE),                                    # in the middle
    (BASE + SPAN // 8, BASE + SPAN // 8, BASE, BASE), (BASE + SPAN // 8 - 1, BASE + SPAN // 8 - 1, BASE, BASE + SPAN // 8 - TICK - SPAN // 2),
    (BASE + SPAN * 7 // 8 - 1, BASE + SPAN * 7 // 8 - 1, BASE, BASE), (BASE + SPAN * 7 // 8, BASE + SPAN * 7 // 8, BASE, BASE + SPAN * 3 // 8),
    (100, 1_999_999_900, BASE, BASE),                                                           # stubs
    (BASE - SPAN // 4, BASE + SPAN // 4, BASE, BASE - SPAN // 2), (BASE - SPAN // 4 - 1, BASE + SPAN // 4, BASE, BASE),
    (TICK, 2 * TICK, 0, 0),                                                                     # no ladder is below 0: nothing to be won
    (TICK, 2 * TICK, None, 0), (BASE, BASE + TICK, None, BASE - SPAN // 2)])                    # the first place
def test_where_a_ladder_should_be(bid, ask, base, out):
    assert wanted(bid, ask, base, TICK, 256) == out


def test_a_ladder_stays_within_what_prices_there_are():
    assert centred((1 << 32) - 1, TICK, 256) + SPAN <= 1 << 32 and centred(0, TICK, 256) == 0 and centred(12_345_678, TICK, 256) % TICK == 0


class Bench:
    """Twin of the card, true twin and ``Recentring``: commands take effect ``at once``, or one a frame."""

    def __init__(self, *, at_once=True, orders=40):
        symbols = [Symbol(0, 1, BASE, TICK), Symbol(1, 2, BASE, TICK)]
        self.mirror, self.truth = Golden(SMALL, symbols, [GROUP]), unbounded([1, 2], [GROUP])
        self.port = port(Registers())
        self.recentring = Recentring(self.mirror, self.truth, self.port)
        self.number, self.at_once, self.done, self.time = 1, at_once, [], 0
        self.fault = None                 # of an add, as the card would have it
        top = BASE + SPAN - 10 * TICK
        self.feed(*[(b"A", dict(order_ref=k, side="BS"[k % 2], shares=k, price=top + (k % 5 + 1) * TICK * (1 if k % 2 else -1))) for k in range(1, orders + 1)])

    def feed(self, *messages):
        frame = mold_frame(self.number, [itch50.BY_CODE[code].encode(stock_locate=1, **fields) for code, fields in messages])
        self.number += len(messages)
        for twin in (self.mirror, self.truth):
            twin.frame(frame)
            twin.take()

    def card(self):
        """The card does what waits."""
        for _ in range(len(self.port.waiting) if self.at_once else min(1, len(self.port.waiting))):
            number, command = self.port.waiting[0]
            self.mirror.command(command, number)
            row = self.mirror.take().copy()
            self.time += 10
            row["t_wire_ns"] = self.time
            if self.fault and command.kind == commands.ADD:
                row["detail"] = self.fault
            self.port.took_effect(row)
            self.recentring.took_effect(row[0], command)
            self.done.append(command)

    def until_over(self, between=lambda: None):
        self.recentring.step()
        while self.recentring.busy:
            self.card()
            between()
            self.recentring.step()
            assert len(self.done) < LIMIT

    def kinds(self):
        return [kind for kind, before in zip([c.kind for c in self.done], [None, *[c.kind for c in self.done]]) if kind != before]

    def orders(self):
        return [{r: (o.sell, o.quantity) for r, o in twin.slots[slot].book.orders.items()} for twin, slot in ((self.mirror, 0), (self.truth, 1))]


def test_a_move_in_peace():
    bench = Bench()
    bench.until_over()
    assert bench.kinds() == [commands.HOLD, commands.DELETE, commands.BASE, commands.ADD, commands.HOLD, commands.ARM]
    move, = bench.recentring.moves
    assert (move.commands, move.orders, move.holds, move.refused, move.given_up) == (84, 40, 2, 0, False)
    assert move.began == 10 and move.ended == 840
    ours, true = bench.orders()
    assert ours == true and len(ours) == 40 and not bench.mirror.stale and bench.mirror.slots[0].book.base == move.new != BASE
    bench.until_over()
    assert len(bench.recentring.moves) == 1                       # it stays there


def test_a_move_while_the_feed_goes_on():
    """Messages that touch orders in limbo: executes, cancels, deletes and replaces of those that are deleted and not added again, adds in between."""
    bench, top, rng, calls = Bench(at_once=False), BASE + SPAN - 10 * TICK, random.Random(7), itertools.count()
    print("seed 7")

    def more():
        if (k := next(calls)) % 3 == 0 and k < 120:
            live = bench.orders()[1]
            a, b = rng.sample([reference for reference, (_, shares) in live.items() if shares > 1], 2)
            bench.feed((b"X", dict(order_ref=a, cancelled_shares=1)), (b"D", dict(order_ref=b)),
                       (b"A", dict(order_ref=100 + k, side="S", shares=50, price=top + 3 * TICK)))

    bench.until_over(more)
    ours, true = bench.orders()
    assert ours == true and len(ours) == 40 and max(ours) > 190 and not bench.mirror.stale
    kinds = {command.kind for command in bench.done[50:]}         # once the ladder has its new place, there is something of everything to put right
    assert kinds >= {commands.ADD, commands.TAKE, commands.DELETE}


def test_what_goes_wrong_after_the_last_hold_is_not_armed():
    """The card's book loses an order behind everybody's back: the fault comes between hold and arming, so the symbol stays stale until that is right too."""
    bench, spoiled = Bench(), []

    def spoil():
        if not spoiled and bench.recentring.now and bench.recentring.now.stage == "armed":
            spoiled.append(len(bench.done))
            bench.mirror.slots[0].wrong = True

    bench.recentring.step()
    while bench.recentring.busy:
        spoil()
        bench.card()
        bench.recentring.step()
        assert len(bench.done) < LIMIT
    assert spoiled and bench.kinds()[-3:] == [commands.ARM, commands.HOLD, commands.ARM]
    assert not bench.mirror.stale and bench.recentring.moves[0].holds == 3


def test_what_goes_wrong_before_the_last_hold_is_put_right():
    """An order is lost while the hold waits, which forgets the fault: only a look at the books after it tells."""
    bench, lost = Bench(), []
    bench.recentring.step()
    while bench.recentring.busy:
        if not lost and bench.recentring.now.stage == "check":
            lost.append(bench.mirror.slots[0].book.delete(7))
            bench.mirror.slots[0].wrong = True
        bench.card()
        bench.recentring.step()
        assert len(bench.done) < LIMIT
    ours, true = bench.orders()
    assert lost and ours == true and 7 in ours and not bench.mirror.stale
    assert bench.kinds()[-4:] == [commands.HOLD, commands.ADD, commands.HOLD, commands.ARM]


def test_a_gap_meanwhile_leaves_it_stale():
    bench = Bench(at_once=False)
    for _ in range(5):
        bench.recentring.step()
        bench.card()
    bench.number += 3
    bench.feed((b"D", dict(order_ref=1)))
    bench.until_over()
    move, = bench.recentring.moves
    assert move.given_up and not move.ended and 0 in bench.mirror.stale and commands.ARM not in bench.kinds()


def test_orders_that_find_no_room_are_given_up():
    bench = Bench()
    bench.fault = records.TABLE_FULL
    bench.until_over()
    assert bench.recentring.moves[0].given_up and 0 in bench.mirror.stale and not bench.port.waiting
    bench.until_over()
    assert len(bench.recentring.moves) == 1                       # and not tried again


def test_a_symbol_of_which_the_truth_is_not_known_is_left_alone():
    bench = Bench()
    bench.truth.slots[1].stale = True
    bench.until_over()
    assert not bench.recentring.moves and not bench.done
