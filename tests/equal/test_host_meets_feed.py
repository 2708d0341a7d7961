"""What the host does in the very cycles in which the feed, or a command, does something: at every offset the outcome is one that either order explains, and a
book that missed something is never called valid."""
import numpy as np
import pytest

from tickgate.capture import FrameBatch
from tickgate.card import Card, CommandPort, EventRingReader, read_depth
from tickgate.spec import commands, itch50, records
from tickgate.spec import moldudp64 as mold
from tickgate.spec.commands import Command
from tickgate.spec.registers import MOLD, SYMBOL
from tickgate.twin import Symbol
from tickgate.twin.binary import writer
from tickgate_sim.streams.frames import udp_frame
from tickgate_sim.virtual.device import VirtualCard

GROUP = (0xE9360C6F, 26477)
SYMBOLS = [Symbol(slot, 10 + slot, 100_000 * (slot + 1), 100) for slot in range(4)]
SESSIONS = b"0000000001", b"0000000002"
_HEADER, _BLOCK = (writer(t).pack for t in (mold.HEADER, mold.BLOCK))


def frame(number, messages, session=SESSIONS[0], **shape):
    """A datagram; without messages a heartbeat."""
    return udp_frame(_HEADER(session, number, len(messages)) + b"".join(_BLOCK(len(m)) + m for m in messages), GROUP, **shape)


def add(locate, reference, price, shares=100, side="B"):
    return itch50.BY_CODE[b"A"].encode(stock_locate=locate, order_ref=reference, side=side, shares=shares, price=price)


class Started:
    """A card that takes frames, with ``symbols`` loaded."""

    def __init__(self, symbols=SYMBOLS):
        self.device = VirtualCard("small")
        self.card = Card(self.device)
        self.card.wait_ready()
        self.card.load_symbols(symbols)
        self.card.set_filters([GROUP])
        self.ring = EventRingReader(self.card, 10)
        self.card.start()
        self.device.idle(16)
        self.port = CommandPort(self.card)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.device.close()

    def send(self, *frames):
        """The records that come of frames."""
        self.device.send(FrameBatch.of(list(frames), np.arange(len(frames))))
        return self.after(100)

    def after(self, cycles):
        self.device.idle(cycles)
        return self.ring.poll()

    def push(self, kind, slot, *fields, **named):
        self.port.push(Command(kind, slot, *fields, **named))
        self.port.waiting.clear()

    def prepare(self, symbol, *, stale=False, track=True):
        """Write a symbol's registers, all but ``load``."""
        r = self.card.symbol
        r.locate, r.base, r.tick, r.flags = symbol.locate, symbol.base, 0, SYMBOL["flags"].mask("track") * track | SYMBOL["flags"].mask("stale") * stale

    def posts(self, count):
        """Writes that change nothing, so that the next one comes later."""
        for _ in range(count):
            self.device.post32(SYMBOL.address("flags"), SYMBOL["flags"].mask("track"))

    def stale(self, slot):
        return self.card.symbol.stale >> slot & 1


@pytest.mark.parametrize("session", SESSIONS)
def test_a_symbol_loaded_after_a_gap_is_stale(session):
    """A heartbeat tells of messages that nobody here has seen."""
    with Started() as t:
        t.send(frame(1, []))
        gap, = t.send(frame(5000, [], session))
        assert gap["kind"] == records.GAP and t.card.mold.messages == 0
        t.card.load_symbols(SYMBOLS)
        row, = t.send(frame(5000, [add(10, 77, 100_500)], session))
        assert row["flags"] & records.STALE and not row["flags"] & records.VALID and t.stale(0)


def test_a_restart_under_a_datagram_distrusts_its_books():
    for offset in range(10):
        with Started() as t:
            t.posts(offset)
            t.device.post32(MOLD.address("restart"), 1)
            t.send(frame(1, [add(10, 77 + k, 100_500 + 100 * k) for k in range(3)]))
            row = t.send(frame(1, [add(10, 200, 100_500)], SESSIONS[1]))[-1]
            bid = int.from_bytes(row["body"].tobytes()[:4], "little")
            assert bid == 100_500 or row["flags"] & records.STALE, f"restart at {offset}"


def test_a_load_beside_the_first_message_has_it_or_is_stale():
    seen = set()
    for offset in range(4, 12):
        for options in range(4):
            with Started(()) as t:
                t.prepare(SYMBOLS[0])
                t.posts(offset)
                t.device.post32(SYMBOL.address("load"), 0)
                rows = t.send(frame(1, [add(10, 77, 100_500)], options=b"\1" * 4 * options))
                assert len(rows) or t.stale(0), f"load at {offset}, {options} words of options"
                seen.add((len(rows), t.stale(0)))
    assert len(seen) > 1


def test_a_stale_load_outlives_an_arming():
    with Started() as t:
        for cycles in range(30):
            t.prepare(SYMBOLS[1], stale=True)
            t.push(commands.HOLD, 1)
            t.after(60)
            t.push(commands.ARM, 1)
            t.device.idle(cycles)
            t.card.symbol.load = 1
            row, = t.after(60)
            assert row["message"] == ord("+") and t.stale(1), f"load {cycles} cycles after the command"


def test_a_base_and_a_load_of_another_slot_both_happen():
    with Started() as t:
        for cycles in range(30):
            new = 250_000 + 100 * cycles
            t.prepare(SYMBOLS[2])
            t.card.symbol.load = 2
            t.after(50)
            t.card.symbol.base = 333_300
            t.push(commands.BASE, 1, price=new)
            t.device.idle(cycles)
            t.card.symbol.load = 2
            t.after(60)
            for slot, price in ((1, new), (2, 333_300)):
                t.push(commands.ADD, slot, 1000 + cycles, 0, 5, price)
                t.push(commands.DELETE, slot, 1000 + cycles)
                row = t.after(100)[0]
                assert not row["flags"] & records.BID_UNKNOWN and row["flags"] & records.BID, f"slot {slot}, load after {cycles} cycles"


def test_a_load_beside_a_record_begins_without_digest():
    with Started() as t:
        t.prepare(SYMBOLS[1])
        first, seen = None, set()
        for cycles in range(30):
            t.card.symbol.load = 1
            t.after(60)
            t.push(commands.ADD, 1, 5, 0, 5, 200_500)
            t.push(commands.DELETE, 1, 5)
            assert t.after(60)[-1]["digest"]
            t.push(commands.DELETE, 1, 999)                       # unknown: a record, no change
            t.device.idle(cycles)
            t.card.symbol.load = 1
            before, = t.after(60)
            t.push(commands.HOLD, 1)
            held, = t.after(60)
            first = before["digest"] if first is None else first   # the load came before the record: it begins at 0
            assert held["digest"] == 0 or held["digest"] == before["digest"] == first, f"load after {cycles} cycles"
            seen.add(held["digest"] == 0)
        assert len(seen) == 2


def test_what_no_slot_or_tick_is_for_is_refused():
    with Started() as t:
        refused = 0
        block = t.card.command
        block.reference, block.qty, block.price, block.side = 9, 7, 200_100, 0
        for slot, kind, qty in ((5, commands.ADD, 7), (255, commands.HOLD, 7), (1, commands.BASE, 3)):
            block.slot, block.qty, block.push = slot, qty, kind
            refused += 1
            assert len(t.after(40)) == 0 and block.refused == refused
        t.prepare(SYMBOLS[1])
        t.card.symbol.base, t.card.symbol.tick, t.card.symbol.load = 999_900, 3, 1
        t.card.symbol.tick, t.card.symbol.load = 0, 5
        row, = t.send(frame(1, [add(11, 1, 200_100)]))
        assert row["flags"] & records.VALID and row["slot"] == 1


def test_depth_that_meets_a_clear_is_whole():
    with Started() as t:
        lengths = set()
        for cycles in range(0, 240, 12):
            t.card.load_symbols(SYMBOLS)
            t.card.start()
            t.send(frame(1, [add(10, 77 + k, 100_000 + 100 * k) for k in range(0, 250, 7)]))
            t.card.stop()
            t.card.depth.start = 0
            t.device.idle(cycles)
            t.card.control.clear = 1
            t.device.idle(700)
            bids = [tuple(level) for level in _shown(t.card)]
            assert len(bids) in (0, 10) and all(level[1:] == (100, 1) for level in bids), f"clear {cycles} cycles after the request"
            lengths.add(len(bids))
            t.card.wait_ready()
        assert lengths == {0, 10}


def _shown(card):
    """The bids that the registers show now."""
    assert not card.depth.busy
    for k in range(card.depth.bids):
        card.depth.show = k
        yield card.depth.price, card.depth.qty, card.depth.orders


def test_depth_of_a_slot_that_was_just_loaded_is_empty():
    with Started() as t:
        assert [len(side) for side in read_depth(t.card, 3)[1:]] == [0, 0]
