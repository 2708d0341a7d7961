"""net.narrow: 8-byte words in, the same frames out in 4-byte words with their times; what finds no room is dropped, cut and counted as it says."""
import random

import pytest

from tickgate_hdl.net.narrow import NARROW, WIDE, Narrow
from tickgate_sim.stream import run

TIME = 7            # ns a cycle: any that lets 16 bits of it wrap


def words_of(frame, bad, rng):
    """Fields of each 8-byte word; what says nothing is random."""
    for at in range(0, len(frame), WIDE):
        part, last = frame[at:at + WIDE], at + WIDE >= len(frame)
        yield {"data": int.from_bytes(part + rng.randbytes(WIDE - len(part)), "little"), "first": int(at == 0), "last": int(last),
               "count": len(part) if last else rng.randrange(WIDE + 1), "error": int(bad) if last else rng.randrange(2)}


def play(frames, rng, *, pause=0.0, idle=(3, 3), depth_bits=6):
    """Sends pairs of frame and bad FCS. Returns for each the cycles of its words, all words that came out as (cycle, fields, time), and cycles of overflow."""
    line, sent = [None] * 3, []
    for frame, bad in frames:
        cycles = []
        for word in words_of(frame, bad, rng):
            while rng.random() < pause:
                line.append(None)
            cycles.append(len(line))
            line.append(word)
        sent.append(cycles)
        line += [None] * rng.randint(*idle)
    line += [None] * ((2 << depth_bits) + 50)
    dut, out, overflows = Narrow(depth_bits=depth_bits), [], []

    async def bench(ctx):
        for cycle, word in enumerate(line):
            ctx.set(dut.frames.valid, word is not None)
            if word is not None:
                ctx.set(dut.frames.p, word)
            ctx.set(dut.time_ns, cycle * TIME)
            *_, valid, fields, time, overflow = await ctx.tick().sample(dut.out.valid, dut.out.p, dut.out_time_ns, dut.overflow)
            if valid:
                out.append((cycle, fields, time))
            if overflow:
                overflows.append(cycle)

    run(dut, bench, max_cycles=len(line) + 1)
    return sent, out, overflows


def assemble(out):
    """(bytes, error, words) of each frame that came out."""
    words = []
    for cycle, fields, time in out:
        assert bool(fields.first) == (not words), f"cycle {cycle}: first is {fields.first} after {len(words)} words"
        words.append((cycle, fields, time))
        if fields.last:
            assert 1 <= fields.count <= NARROW
            data = b"".join(f.data.to_bytes(NARROW, "little") for _, f, _ in words)
            yield data[:len(data) - NARROW + fields.count], bool(fields.error), words
            words = []
    assert not words, "a frame has no end"


def random_frames(rng, count, sizes):
    return [(rng.randbytes(rng.choice(sizes)), rng.random() < 0.2) for _ in range(count)]


def check_whole(frames, sent, out, overflows):
    """All frames came out as they went in, each word with the time of its arrival; a cycle stays free behind each frame."""
    got = list(assemble(out))
    assert [(data, error) for data, error, _ in got] == frames and not overflows
    for cycles, (_, _, words) in zip(sent, got):
        assert [time for _, _, time in words] == [cycles[k * NARROW // WIDE] * TIME for k in range(len(words))]
    ends = {cycle for cycle, fields, _ in out if fields.last}
    assert not ends & {cycle - 1 for cycle, _, _ in out}
    return got


@pytest.mark.parametrize("seed, pause", [(1, 0.0), (2, 0.0), (3, 0.5), (4, 0.8)])
def test_frames_come_out_whole(seed, pause):
    """Of every length, alone and in bursts that the queue holds, with and without pauses."""
    print(f"seed {seed}")
    rng = random.Random(seed)
    for idle in ((40, 90), (3, 20)):
        frames = random_frames(rng, 30, range(1, 100)) if idle[0] > 20 else random_frames(rng, 12, (1, 7, 8, 9, 12, 13, 16, 60, 61, 64))
        got = check_whole(frames, *play(frames, rng, pause=pause, idle=idle))
        assert len(got) == len(frames)


def test_latency_when_nothing_waits():
    """The first word's halves one and two cycles after it, and the last half of a frame of n words, one a cycle, 2n cycles and one more after the first."""
    rng = random.Random(5)
    frames = [(rng.randbytes(size), False) for size in (4, 8, 12, 16, 64, 100)]
    sent, out, overflows = play(frames, rng, idle=(40, 40))
    for (frame, _), cycles, (_, _, words) in zip(frames, sent, check_whole(frames, sent, out, overflows)):
        came = [cycle - cycles[0] for cycle, _, _ in words]
        halves = -(-len(frame) // NARROW)
        assert came == [Narrow.LATENCY + k + (k > 1) for k in range(halves)]


def test_half_the_rate_for_ever():
    """Words at half the line's rate never fill the queue, however small it is."""
    rng = random.Random(6)
    line = [(rng.randbytes(64), False) for _ in range(60)]                       # 8 words, and 10 cycles until the next: 16 halves and one free
    sent, out, overflows = play(line, rng, idle=(10, 10), depth_bits=4)
    got = check_whole(line, sent, out, overflows)
    waits = [words[0][0] - cycles[0] for cycles, (_, _, words) in zip(sent, got)]
    assert max(waits[5:]) <= 4


#: The queue fills while one-word frames leave it, the slowest of all: two halves and a free cycle.
SLOWLY = (450, *[8] * 28, 700)


@pytest.mark.parametrize("seed, sizes", [(7, (64,)), (8, (400, 500)), (9, range(1, 600)), (10, (600, 1, 8)), (11, SLOWLY)])
def test_what_finds_no_room(seed, sizes):
    """Back to back at the full rate a frame comes out whole, cut at a word and with an error, or not at all. What is not whole is counted, and never while
    there is room; what is whole comes in order."""
    print(f"seed {seed}")
    rng, depth = random.Random(seed), 1 << 6
    if sizes == SLOWLY:                                           # in turn
        frames = [(rng.randbytes(size), False) for size in 4 * SLOWLY]
    else:
        frames = random_frames(rng, 40 if max(sizes) > 64 else 120, list(sizes))
    sent, out, overflows = play(frames, rng, depth_bits=6)
    place = {cycle: (n, word) for n, cycles in enumerate(sent) for word, cycle in enumerate(cycles)}     # of each word, by its cycle
    got = {}
    for data, error, words in assemble(out):
        n = place[words[0][2] // TIME][0]
        assert n > max(got, default=-1), "a frame came twice, or late"
        assert [place[time // TIME] for *_, time in words] == [(n, k * NARROW // WIDE) for k in range(len(words))]
        got[n] = data, error
    taken = sorted({time // TIME for *_, time in out})            # cycles of the words that were taken
    left = {}                                                     # by those, the cycle after which they do not wait any more
    for cycle, _, time in out:
        left.setdefault(time // TIME, cycle - 1)
    fates, wanted = [], []
    for n, (frame, bad) in enumerate(frames):
        data, error = got.get(n, (b"", False))
        fates.append("whole" if (data, error) == (frame, bad) else "cut" if data else "dropped")
        if fates[n] == "whole":
            continue
        assert not data or error and frame.startswith(data) and len(data) % WIDE == 0 and len(data) < len(frame)
        at = sent[n][max(0, len(data) // WIDE - 1)]               # its last word that was taken, or its first that was not
        waiting = sum(cycle < at <= left[cycle] for cycle in taken)
        assert waiting >= (depth - 3 if data else depth - depth // 8 - 1), f"frame {n} is {fates[n]} while {waiting} words wait"
        wanted.append(at + 1)
    assert overflows == wanted
    assert "whole" in fates and ("cut" in fates) == (max(sizes) > WIDE * depth // 8)
    assert "dropped" in fates or sizes == SLOWLY


@pytest.mark.parametrize("depth_bits", [3, 14])
def test_depths_that_cannot_be_are_refused(depth_bits):
    with pytest.raises(ValueError, match=f"not {depth_bits}"):
        Narrow(depth_bits=depth_bits)
