"""The virtual card around a core that writes down every word it gets (``standin``)."""
import random
from dataclasses import dataclass, replace

import numpy as np
import pytest

from tickgate.device import Device, DeviceError, FrameSink, word_cycle
from tickgate.spec.clocks import GEARBOX_PERIOD, ns_of_cycle
from tickgate.spec.presets import PRESETS
from tickgate_sim.virtual import VirtualCard, build, device

SCRATCH, BASE_LOW, BASE_HIGH, NOISE, SILENT, REFUSING = 0x000, 0x004, 0x008, 0x00C, 0xFF8, 0xFFC   # registers of the stand-in
WORD = np.dtype([("time_ns", "<u8"), ("data", "<u4"), ("first", "u1"), ("last", "u1"), ("count", "u1"), ("error", "u1"), ("rest", "V48")])


@dataclass
class Batch:
    data: np.ndarray
    offset: np.ndarray
    length: np.ndarray
    time_ns: np.ndarray
    bad_fcs: np.ndarray | None = None


def batch(frames, times=None, bad=None):
    length = np.array([len(f) for f in frames], np.int32)
    return Batch(np.frombuffer(b"".join(frames), np.uint8), np.cumsum(length) - length, length,
                 np.zeros(len(frames), np.int64) if times is None else np.array(times, np.int64), None if bad is None else np.array(bad, bool))


def random_frames(seed, count, most=200):
    r = random.Random(seed)
    print(f"seed {seed}")
    return [r.randbytes(r.choice((1, 2, 3, 4, 5, 60, 61, 62, 63, r.randint(1, most)))) for _ in range(count)]


def words_of(frames, bad, start):
    """What the stand-in must have written."""
    rows = []
    for frame, error, cycle in zip(frames, bad, start, strict=True):
        words = -(-len(frame) // 4)
        for k in range(words):
            part = frame[4 * k:4 * k + 4]
            time = int(ns_of_cycle(word_cycle(int(cycle), k)))
            rows.append((time, int.from_bytes(part, "little"), k == 0, k == words - 1, len(part), error and k == words - 1, bytes(48)))
    return np.array(rows, WORD)


def slot(cycle):
    """Data words that the wire could carry before this cycle; the cycle itself must be one that can."""
    assert (cycle % GEARBOX_PERIOD != GEARBOX_PERIOD - 1).all()
    return cycle // GEARBOX_PERIOD * (GEARBOX_PERIOD - 1) + cycle % GEARBOX_PERIOD


class Ring:
    """The stand-in's host writes."""

    def __init__(self, card, words=1 << 16):
        self.card, self.buffer = card, card.allocate(64 * words)
        card.write32(BASE_LOW, self.buffer.address & 0xFFFFFFFF)
        card.write32(BASE_HIGH, self.buffer.address >> 32)

    def words(self):
        return self.buffer.array[:64 * self.card.records].view(WORD)


@pytest.fixture
def card(design):
    with VirtualCard(design=design) as card:
        yield card


def test_is_a_device_that_takes_frames(card):
    assert isinstance(card, Device) and isinstance(card, FrameSink)
    assert card.name == "virtual:small"
    assert (card.cycle, card.evaluated) == (0, 0)


def test_registers_keep_what_was_written(card):
    for value in (0, 0xFFFFFFFF, 0x12345678):
        card.write32(SCRATCH, value)
        assert card.read32(SCRATCH) == value
    for address, value in ((2, 0), (-4, 0), (1 << 32, 0), (SCRATCH, 1 << 32), (SCRATCH, -1)):
        with pytest.raises(ValueError):
            card.write32(address, value)


def test_posted_writes_go_while_frames_do_and_before_anything_else(card):
    ring = Ring(card)
    second = card.allocate(64 << 12)
    frames = random_frames(21, 40)
    for value in (1, 2, 3):
        card.post32(SCRATCH, value)
    before = card.cycle
    start = card.send(batch(frames))
    card.idle(8)
    assert start[0] == before                                       # no frame waits for them
    assert (ring.words() == words_of(frames, [False] * 40, start)).all() and card.read32(SCRATCH) == 3
    card.post32(SCRATCH, 4)                                         # a read, or a write, comes after them
    assert card.read32(SCRATCH) == 4
    card.post32(SCRATCH, 5)
    card.write32(SCRATCH, 6)
    assert card.read32(SCRATCH) == 6
    # in the middle of the frames: the words from some cycle on go where the posted base says
    sent = card.records
    for value in range(10):
        card.post32(SCRATCH, value)
    card.post32(BASE_LOW, second.address & 0xFFFFFFFF)
    card.send(batch(random_frames(22, 10)))
    card.idle(8)
    moved = int((second.array.view(WORD)["time_ns"] != 0).sum())
    assert 0 < moved < card.records - sent
    card.post32(SCRATCH, 7)
    card.reset()
    assert card.read32(SCRATCH) != 7                                # forgotten
    for wrong in (lambda: card.post32(SCRATCH, 1 << 32), lambda: card.post32(2, 0)):
        with pytest.raises(ValueError):
            wrong()


def test_register_that_never_answers_is_an_error_not_a_hang(card):
    for access in (lambda: card.read32(SILENT), lambda: card.write32(SILENT, 1)):
        before = card.cycle
        with pytest.raises(DeviceError, match="0xff8 got no answer in 1,000 cycles"):
            access()
        assert card.cycle == before + 1000


def test_register_that_refuses_is_an_error(card):
    for access in (lambda: card.read32(REFUSING), lambda: card.write32(REFUSING, 1)):
        with pytest.raises(DeviceError, match="of register 0xffc was refused"):
            access()


def test_seed_sets_registers_that_nothing_resets(design):
    values = []
    for seed in (1, 2, 1):
        with VirtualCard(design=design, seed=seed) as card:
            values.append(card.read32(NOISE))
    assert values[0] == values[2] != values[1]


@pytest.mark.parametrize("seed", [1, 2])
def test_minimum_spacing_is_24_bytes_in_the_mean(card, seed):
    ring, frames = Ring(card), random_frames(seed, 400)
    bad = [k % 3 == 0 for k in range(len(frames))]
    start = card.send(batch(frames, bad=bad))
    card.idle(8)
    assert np.array_equal(ring.words(), words_of(frames, bad, start))
    # the wire never rests: frame k begins in the word that byte k's sum of frames and gaps falls into
    wire = np.cumsum([0] + [len(f) + 24 for f in frames[:-1]])
    assert np.array_equal(slot(start) - slot(start[:1]), wire // 4)


def test_capture_spacing_waits_for_the_time_and_skips_the_rest(card):
    ring, frames, r = Ring(card), random_frames(7, 300), random.Random(7)
    times = np.cumsum([r.choice((0, 5, 40, 300, 5_000, 10_000_000)) for _ in frames]) + 1_577_800_000_000_000_000
    before = card.cycle
    start = card.send(batch(frames, times), spacing="capture")
    card.idle(8)
    assert np.array_equal(ring.words(), words_of(frames, [False] * len(frames), start))
    due = np.array([-(-(int(t) - int(times[0]) + before * 512 // 165) * 165 // 512) for t in times])
    due += due % GEARBOX_PERIOD == GEARBOX_PERIOD - 1
    assert start[0] == due[0] and (start >= due).all()
    gap = np.diff(slot(start)) - [-(-len(f) // 4) for f in frames[:-1]]
    late = start[1:] > due[1:]
    assert late.any() and not late.all()
    assert (gap >= 5).all() and np.isin(gap[late], (5, 6)).all()           # late only because of the frame before it
    assert card.cycle > 100_000_000 and card.evaluated < 150 * len(frames)


@pytest.mark.parametrize("wait_ns", [200, 1_000_000])
def test_a_pause_pays_for_short_gaps_before_it(card, wait_ns):
    """63 bytes shorten their gap by 3, the most; 61 bytes after that may do it by 1 again only when a pause was between."""
    Ring(card)
    closely = card.send(batch([bytes(63), bytes(61), bytes(61)]))
    card.reset()
    Ring(card)
    paused = card.send(batch([bytes(63), bytes(61), bytes(61)], [0, wait_ns, wait_ns]), spacing="capture")
    assert np.diff(slot(closely)).tolist() == [16 + 5, 16 + 6]
    assert np.diff(slot(paused))[1] == 16 + 5


def test_capture_time_goes_on_in_the_next_batch(card):
    Ring(card)
    frames, times = [bytes(60)] * 4, [50_000, 51_000, 52_000, 900_000]
    whole = card.send(batch(frames, times), spacing="capture")
    card.reset()
    Ring(card)
    parts = [card.send(batch(frames, times), first=k, spacing="capture", max_records=1) for k in range(4)]
    assert [len(p) for p in parts] == [3, 2, 1, 1] or all(len(p) for p in parts)
    assert abs(int(parts[3][0] - parts[0][0]) - int(whole[3] - whole[0])) <= 1


@pytest.mark.parametrize("days", [400, 36_500])
def test_capture_times_beyond_the_clock_are_refused(card, days):
    Ring(card)
    span = days * 86_400 * 10**9
    for times in ([0, span], [span, 0]):
        with pytest.raises(DeviceError, match=rf"reaches 323 days, and a frame is {days:,} days from the first one: use minimum spacing"):
            card.send(batch([bytes(60)] * 2, times), spacing="capture")
        card.send(batch([bytes(60)] * 2, times))
        card.reset()
        Ring(card)
    start = card.send(batch([bytes(60)] * 2, [0, 300 * 86_400 * 10**9]), spacing="capture")
    assert abs(int(ns_of_cycle(int(start[1] - start[0]))) - 300 * 86_400 * 10**9) < 100


def test_stops_between_frames_when_the_host_has_enough(card):
    ring, frames = Ring(card), [bytes([k]) * 40 for k in range(50)]         # 10 words, so 10 records each
    everything, sent, starts = batch(frames), 0, []
    while sent < len(frames):
        before = card.records
        part = card.send(everything, first=sent, max_records=35)
        assert len(part) and card.records - before < 35 + 10
        sent += len(part)
        starts.append(part)
    assert len(starts) > 10
    card.idle(8)
    assert np.array_equal(ring.words(), words_of(frames, [False] * 50, np.concatenate(starts)))
    assert len(card.send(everything, first=50)) == 0


@pytest.mark.parametrize("stall", [0.5, 0.9])
def test_stalls_of_host_memory_lose_nothing(design, stall):
    frames = random_frames(3, 40, most=80)
    with VirtualCard(design=design, stall=stall, seed=5) as card:
        ring = Ring(card)
        start = card.send(batch(frames))
        words = sum(-(-len(f) // 4) for f in frames)
        assert card.records < 0.9 * words                                   # it does fall behind
        card.idle(30 * words)
        assert np.array_equal(ring.words(), words_of(frames, [False] * 40, start))


def test_writes_outside_of_memory_are_errors(design):
    with VirtualCard(design=design) as card:
        ring = Ring(card, words=15)
        card.send(batch([bytes(60)]))
        card.idle(8)
        assert card.records == 15                                           # to the last line
        with pytest.raises(DeviceError, match=f"1 of 16 host writes .* the first at {ring.buffer.address + 15 * 64:#x}"):
            card.send(batch([bytes(4)] * 100))
            card.idle(8)
    with VirtualCard(design=design) as card:
        card.write32(BASE_LOW, card.allocate(4096).address + 32 & 0xFFFFFFFF)
        card.write32(BASE_HIGH, 1)
        with pytest.raises(DeviceError, match="missed allocated memory or their alignment"):
            card.send(batch([bytes(60)]))
            card.idle(8)


def test_buffers_are_apart_zeroed_and_page_aligned(card):
    buffers = [card.allocate(size) for size in (1, 4096, 64 << 12)]
    assert [len(b.array) for b in buffers] == [1, 4096, 64 << 12]
    for b, after in zip(buffers, buffers[1:], strict=False):
        assert b.address + len(b.array) < after.address
    assert all(b.array.ctypes.data % 4096 == b.address % 4096 == 0 and not b.array.any() for b in buffers)
    with pytest.raises(ValueError):
        card.allocate(0)


@pytest.mark.parametrize("wrong", [
    {"length": np.array([0, 4])}, {"offset": np.array([0, 6])}, {"offset": np.array([-1, 4])}, {"length": np.array([4])}, {"time_ns": np.array([0])}])
def test_batches_that_contradict_themselves_are_refused(card, wrong):
    with pytest.raises(ValueError):
        card.send(replace(batch([bytes(4), bytes(5)]), **wrong))
    with pytest.raises(ValueError, match="minimum or capture"):
        card.send(batch([bytes(4)]), spacing="maximum")


def test_reset_starts_time_again_and_keeps_memory(card):
    ring = Ring(card)
    card.write32(SCRATCH, 5)
    card.send(batch([bytes(range(60))]))
    card.idle(8)
    card.reset()
    assert (card.cycle, card.records, card.read32(SCRATCH)) == (0, 0, 0)
    assert ring.buffer.array[8:12].tolist() == [0, 1, 2, 3]


def test_closed_card_says_so(design):
    card = VirtualCard(design=design)
    card.close()
    card.close()
    for use in (lambda: card.read32(0), lambda: card.send(batch([bytes(4)])), lambda: card.cycle):
        with pytest.raises(DeviceError, match="virtual:small is closed"):
            use()


def test_entry_point_takes_preset_and_waves_from_the_environment(monkeypatch):
    asked = []
    monkeypatch.setattr(device, "VirtualCard", lambda preset, waves: asked.append((preset, waves)))
    monkeypatch.delenv("TICKGATE_WAVES", raising=False)
    device.open_device()
    monkeypatch.setenv("TICKGATE_WAVES", "w.fst")
    device.open_device("small")
    assert asked == [("demo", None), ("small", "w.fst")]


def test_unknown_preset_and_stall_are_refused(design):
    with pytest.raises(DeviceError, match=f"^no preset 'huge'; there are: {', '.join(PRESETS)}$"):
        VirtualCard("huge")
    with pytest.raises(ValueError, match="stall"):
        VirtualCard(design=design, stall=1)


def test_waves_are_an_fst(design, tmp_path):
    try:
        build._check_trace_headers()
    except DeviceError as error:
        pytest.skip(str(error))
    path = tmp_path / "new" / "waves.fst"
    with VirtualCard(design=replace(design, traced=True), waves=path) as card:
        Ring(card)
        card.send(batch([bytes(60)] * 20, range(0, 20_000_000, 1_000_000)), spacing="capture")
        before = card.cycle
        card.reset()                                                        # time in the file goes on
        card.idle(100)
    raw = path.read_bytes()
    assert raw[0] == 0 and int.from_bytes(raw[1:9], "big") == 329           # header block of an FST
    assert int.from_bytes(raw[17:25], "big") >= ns_of_cycle(before + 100) * 1000 > 19_000_000 * 1000   # ps
    with pytest.raises(DeviceError, match="waves"):
        VirtualCard(design=replace(design, traced=True), waves=path / "below_a_file")
