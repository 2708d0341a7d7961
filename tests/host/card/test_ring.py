"""The event ring's reader against a card in Python that writes, drops and counts as the gateware does."""
import random
from types import SimpleNamespace

import numpy as np
import pytest

from tickgate.card import CardError, EventRingReader
from tickgate.spec.records import COMMON, LAP_BIT, NUMBER_MASK, SIZE


class FakeRing:
    """Ring registers as attributes, and ``push``: the card's side of the ring."""

    def __init__(self, start=0):
        self.base = self.size_log2 = self.enable = self.credit = 0
        self.written = start % 2**32
        self.records = start
        self.credits = []

    def __setattr__(self, name, value):
        if name == "credit" and "credits" in self.__dict__:
            self.credits.append(value)
        object.__setattr__(self, name, value)

    def push(self, memory, number):
        """One record; returns its bytes as the host should get them, or None when it is dropped."""
        sequence, self.records = self.records, self.records + 1
        size = 1 << self.size_log2
        if not self.enable or (self.written - self.credit) % 2**32 == size:
            return None
        body = random.Random(sequence).randbytes(COMMON["body"].size)
        wanted = COMMON.encode(kind=1, sequence=sequence, body=body, number=number)
        lap = not self.written & size
        at = self.base - memory.address + self.written % size * SIZE
        memory.array[at:at + SIZE] = np.frombuffer(COMMON.encode(kind=1, sequence=sequence, body=body, number=number | LAP_BIT * lap), np.uint8)
        self.written = (self.written + 1) % 2**32
        return wanted


class FakeDevice:
    name = "fake"

    def __init__(self, filled=0, address=0x1_0000_0000):
        self.filled, self.address = filled, address

    def allocate(self, size):
        self.memory = SimpleNamespace(array=np.full(size, self.filled, np.uint8), address=self.address)
        return self.memory


def make(size_log2, start=0, filled=0, **options):
    card = SimpleNamespace(device=FakeDevice(filled), ring=FakeRing(start))
    return card.ring, EventRingReader(card, size_log2, **options), card.device


def test_programs_the_card():
    ring, reader, device = make(4, start=5)
    assert (ring.base, ring.size_log2, ring.enable, ring.credit) == (device.memory.address, 4, 1, 5)
    with reader:
        pass
    assert ring.enable == 0


@pytest.mark.parametrize("size_log2", [0, 1, 4, 12])
@pytest.mark.parametrize("start, filled", [(0, 0), (3, 0xFF), (2**32 - 10, 0), (2**33 + 4096 + 2, 0x55)])
def test_every_record_in_order_over_many_laps(size_log2, start, filled):
    """Whatever the memory holds and in whichever lap the card is; random bursts, limits and overfull rings."""
    seed = f"{size_log2} {start}"
    print(f"seed {seed}")
    rng = random.Random(seed)
    ring, reader, device = make(size_log2, start, filled)
    size = 1 << size_log2
    assert len(reader.poll()) == 0
    wanted, got, dropped = [], [], 0
    while len(wanted) < 5 * size + 50:
        for _ in range(rng.choice((1, size // 2, size, size + 3))):
            raw = ring.push(device.memory, rng.randrange(NUMBER_MASK + 1))
            dropped += raw is None
            if raw is not None:
                wanted.append(raw)
        limit = rng.choice((None, 1, max(1, size // 3), 10 * size))
        rows = reader.poll(limit)
        assert rows.dtype == COMMON.dtype and len(rows) <= (limit or size)
        got += [row.tobytes() for row in rows]
        if rng.random() < 0.5:
            reader.give_credit()
    while len(rows := reader.poll(7)):
        got += [row.tobytes() for row in rows]
    assert got == wanted and dropped > 0
    reader.give_credit()
    trailing = ring.push(device.memory, 1)  # the holes before it are seen with it
    assert [row.tobytes() for row in reader.poll()] == [trailing]
    assert (reader.lost, reader.taken) == (dropped, len(wanted) + 1)


@pytest.mark.parametrize("start", range(18))
def test_a_place_is_new_only_once_the_card_has_written_it(start):
    ring, reader, device = make(3, start, filled=0xAA)
    for number in range(30):
        assert len(reader.poll()) == 0
        ring.push(device.memory, number)
        assert reader.poll()["number"].tolist() == [number]


def test_rows_are_copies():
    ring, reader, device = make(3)
    ring.push(device.memory, 9)
    rows = reader.poll()
    device.memory.array[:] = 0xEE
    assert rows["number"][0] == 9 and rows["sequence"][0] == 0


@pytest.mark.parametrize("every", [1, 3, 8])
def test_credit_comes_back_every_so_many_records(every):
    ring, reader, device = make(3, credit_every=every)
    ring.credits.clear()
    for k in range(64):
        assert ring.push(device.memory, k) is not None
        assert len(reader.poll()) == 1
    assert ring.credits == list(range(every, 65, every))


def test_an_overrun_ring_is_noticed():
    ring, reader, device = make(2)
    for k in range(3):
        ring.push(device.memory, k)
    assert len(reader.poll()) == 3
    ring.records = 1  # as if the card had been reset under the reader
    ring.push(device.memory, 9)
    with pytest.raises(CardError, match="sequence numbers 1 to 1 came where 3 was next"):
        reader.poll()


@pytest.mark.parametrize("size_log2, options, message", [
    (-1, {}, "size_log2 must be 0 to 24, not -1"), (25, {}, "not 25"), (3, dict(credit_every=9), "every 1 to 8 records, not every 9"),
    (3, dict(credit_every=0), "not every 0"),
])
def test_wrong_sizes(size_log2, options, message):
    with pytest.raises(CardError, match=message):
        make(size_log2, **options)


def test_memory_off_the_cache_line_is_refused():
    card = SimpleNamespace(device=FakeDevice(address=0x1020), ring=FakeRing())
    with pytest.raises(CardError, match="512 bytes at 0x1020"):
        EventRingReader(card, 3)
