"""net.moldudp64 against the twin's: message words, block headers, gaps, expected number and session, each in its cycle."""
import random
from itertools import pairwise, product

import pytest

from tickgate.spec import moldudp64 as mold
from tickgate_hdl.net.moldudp64 import MoldUdp64
from tickgate_sim.models.hop import play
from tickgate_sim.models.moldudp64 import COUNTERS, MoldScript
from tickgate_sim.models.vectors import FILTERS, blocks_of, cut_everywhere, every_run, fits_and_not, frame, random_packets
from tickgate_sim.models.wire import on_wire, packet


def play_frames(frames, *, seed=0, pause=0.0, restarts=None):
    """Play frames, or pairs of frame and bad FCS; returns the script, whose ``taken`` say what the twin made of each datagram."""
    frames = [f if isinstance(f, tuple) else (f, False) for f in frames]
    script = MoldScript(seed, on_wire(frames, random.Random(seed), pause=pause, idle=(1, 4)), FILTERS, restarts=restarts)
    play(MoldUdp64(), script)
    assert script.taken
    return script


def totals(script):
    """Counters that moved."""
    sums = {name: sum(t.counts[name] for t in script.taken) for name in COUNTERS}
    return {name: n for name, n in sums.items() if n}


@pytest.mark.parametrize("letters, size", [(range(13), 2), (range(7), 3), ((0, 1, 2, 5), 4)], ids=["pairs", "triples", "quadruples"])
@pytest.mark.parametrize("shift", range(4))
def test_blocks_of_all_lengths_in_all_orders_at_all_alignments(letters, size, shift):
    lengths = every_run(letters, size)
    assert len(lengths) == len(letters)**size + size - 1
    script = play_frames([frame(packet(blocks_of([8 + shift, *lengths], shift)), trailer=bytes(shift))], seed=shift, pause=0.2 * (shift % 2))
    assert totals(script) == {"packets": 1, "messages": len(lengths) + 1}


@pytest.mark.parametrize("length", [0, 1])
@pytest.mark.parametrize("shift", range(4))
def test_long_runs_of_the_shortest_blocks(length, shift):
    """Two a word: the inner ones count too, in numbers, duplicates and as the last one promised."""
    packets = [(1, 60, None), (31, 60, None), (91, 60, 33), (91, 60, 34), (120, 7, 9), (140, 40, 41)]
    frames = [frame(packet(blocks_of([4 + shift, *[length] * (many - 1)], many), number, count=count)) for number, many, count in packets]
    script = play_frames(frames, seed=shift)
    assert totals(script) == {"packets": 6, "messages": 60 + 30 + 33 + 1 + 2 + 40, "duplicates": 30 + 33 + 5, "overruns": 2, "gaps": 1, "missing": 13}
    assert sum(b.is_inner for t in script.taken for b in t.blocks) > 50


def test_an_overlap_may_end_at_any_block():
    """Of two that are judged at once the first may be old and the second new, and the other way round it is one packet later."""
    lengths = [9, 0, 0, 1, 0, 3, 0, 1, 1, 0, 2, 0, 0, 0, 12, 0]
    frames = [frame(packet(blocks_of(lengths, 1), 1000 - old)) for old in range(len(lengths) + 2)]
    script = play_frames(frames, restarts=dict.fromkeys(range(len(frames)), 1000))
    assert [t.counts["duplicates"] for t in script.taken] == [min(old, len(lengths)) for old in range(len(frames))]


def test_headers():
    """First session, gaps by message, heartbeat and end, a new session at 1, above and at 0, old numbers."""
    ten = blocks_of([11] * 10, "ten")
    steps = [((ten, 1), {}), ((ten[:2], 11), {}), ((ten, 20), {"gaps": 1, "missing": 7}), (([], 30), {"heartbeats": 1}),
             (([], 33), {"heartbeats": 1, "gaps": 1, "missing": 3}), (([], 32), {"heartbeats": 1}), (([], 33, b"0000000001", mold.END_OF_SESSION), {"ends": 1}),
             (([], 40, b"0000000001", mold.END_OF_SESSION), {"ends": 1, "gaps": 1, "missing": 7}), ((ten, 31), {}), ((ten, 36), {}),
             ((ten, 1, b"0000000002"), {"sessions": 1}), ((ten, 1, b"1000000002"), {"sessions": 1}), ((ten, 11, b"1000000002"), {}),
             (([], 7, b"1000000003"), {"sessions": 1, "heartbeats": 1, "missing": 6}), (([], 0, b"1000000004"), {"sessions": 1, "heartbeats": 1}),
             ((ten, 0, b"1000000004"), {}), ((ten, 1 << 63, b"1000000005"), {"sessions": 1, "missing": (1 << 48) - 1}),
             ((ten, 1, b"1000000005"), {}), ((ten, 5), {"sessions": 1, "missing": 4})]
    frames = []
    for (messages, number, *rest), _ in steps:
        session, count = (*rest, *(b"0000000001", None)[len(rest):])
        count = count if messages or count else mold.HEARTBEAT
        payload = packet(messages or [b"D" * 19], number, session=session, count=count)     # blocks after a heartbeat or an end are not read
        frames.append(frame(payload, FILTERS[1 + number % 2]))
    script = play_frames(frames)
    for t, (step, moved) in zip(script.taken, steps):
        wanted = {name: moved.get(name, 0) for name in ("gaps", "missing", "sessions", "heartbeats", "ends")}
        assert {name: t.counts[name] for name in wanted} == wanted, step


def test_a_session_differs_in_any_byte():
    session = b"ABCDEFGHIJ"
    frames = [frame(packet([], 1, session=session))]
    for k in range(10):
        session = session[:k] + bytes([session[k] ^ 1]) + session[k + 1:]
        frames += [frame(packet([], 1, session=session))] * 2
    assert totals(play_frames(frames)) == {"heartbeats": 21, "sessions": 10}


@pytest.mark.parametrize("bits", [16, 31, 32, 48, 63, 64])
def test_numbers_wrap(bits):
    """Packets, an overlap, a duplicate and a gap across 2^bits."""
    base = (1 << bits) - 6
    four = blocks_of([11, 0, 0, 3], bits)
    numbers = [base, base + 2, base + 4, base + 4, base + 8, base + 13] if bits < 64 else [base, base + 2]
    frames = [frame(packet(four, number)) for number in numbers]
    if bits == 64:
        frames.append(frame(packet(four, base + 4)))              # the last of its four is number 1: after 2^64 - 1 comes 0
    script = play_frames(frames, restarts={0: base - 1})
    assert script.taken[0].counts["gaps"] == 1
    assert script.taken[-1].expected == (base + (17 if bits < 64 else 8)) % (1 << 64)


def test_duplicates_of_long_ago():
    """More of them than a packet can count."""
    frames = [frame(packet(blocks_of([0] * 30, 1), number)) for number in (1, (1 << 16) - 9, (1 << 16) + 7, 1 << 40, (1 << 62) + 5)]
    script = play_frames(frames, restarts={0: (1 << 16) + 10, 3: (1 << 62) + 10})
    assert [t.counts["duplicates"] for t in script.taken] == [30, 19, 14, 30, 5]


def test_restart_forgets_session_and_number():
    two = blocks_of([4, 4], 2)
    frames = [frame(packet(two, n, session=s)) for n, s in ((1, b"0000000001"), (7, b"0000000002"), (7, b"0000000002"), (5, b"0000000002"), (1, b"0000000001"))]
    script = play_frames(frames, restarts={1: 7, 2: 7, 3: 1, 4: 1})
    assert totals(script) == {"packets": 5, "messages": 10, "gaps": 1, "missing": 4}


def test_runts():
    """Too short by the UDP length, whatever is in the frame; of 20 bytes it is a packet whose blocks are missing."""
    frames = []
    for size in range(mold.HEADER.size + 1):
        payload = packet([b"D" * 19], 1 + size)
        frames += [frame(payload[:size], trailer=bytes(30)), (frame(payload[:size]), True), frame(payload)]
    assert totals(play_frames(frames)) == {"runts": 40, "packets": 2 + 21, "messages": 21, "overruns": 2, "suspect": 21}


@pytest.mark.parametrize("tags, pause", [(0, 0.0), (1, 0.3)])
def test_cut_at_every_byte(tags, pause):
    """What is known of the frame's end when a block is judged decides; then every packet misses what its frame did not bring."""
    messages = blocks_of([3, 0, 0, 1, 7, 0, 9, 1, 2, 0, 6, 0], "cut")
    whole = frame(packet(messages, 1), tags=((0x8100, 1),) * tags)
    cuts = [(f, k % 3 == 0) for k, f in enumerate(cut_everywhere(whole, least=42 + 4 * tags))]
    good = frame(packet(messages, 1 + len(messages)))
    script = play_frames([f for cut in cuts for f in (cut, good)], pause=pause, restarts=dict.fromkeys(range(0, 2 * len(cuts), 2), 1))
    assert [t.counts["gaps"] for t in script.taken[1:-1:2]] == [int(t.expected < 1 + len(messages)) for t in script.taken[:-2:2]]
    assert totals(script)["runts"] == 20 and totals(script)["overruns"] > 20


@pytest.mark.parametrize("shift", range(4))
def test_long_blocks_cut_at_their_end(shift):
    """Frames that end within two words of where a block begins whose length has small low bits: it is not taken for a short one."""
    frames = [f for length in (16, 17, 18, 20, 32, 256) for f in cut_everywhere(frame(packet(blocks_of([8 + shift, length], shift))), least=74 + shift)]
    script = play_frames(frames, restarts=dict.fromkeys(range(len(frames)), 1))
    assert {t.counts["messages"] for t in script.taken} == {1, 2} and totals(script)["suspect"] > len(frames) // 2


@pytest.mark.parametrize("last", [0, 1, 5])
def test_a_block_that_just_fits_and_one_that_does_not(last):
    """The last block of each length at each lane: whole, one to four bytes beyond the payload (there in the frame or not), and far beyond."""
    frames, fit = zip(*fits_and_not(last))
    script = play_frames(frames, restarts=dict.fromkeys(range(len(frames)), 1))
    assert [(t.counts["messages"], t.counts["overruns"]) for t in script.taken] == [(2, 0) if good else (1, 1) for good in fit]


@pytest.mark.parametrize("trailers", [(0, 2), (1, 3, 8)], ids=str)
def test_more_and_less_promised_than_sent(trailers):
    frames, counts = [], []
    for trailer, lengths in product(trailers, ((), (0,), (1,), (3, 0), (8,), (9, 0, 0), (10, 1), (11,), (12, 12))):
        for count in sorted({1, len(lengths), len(lengths) + 1, len(lengths) + 2, mold.MAXIMUM_COUNT}):
            frames.append(frame(packet(blocks_of(lengths, count), 1, count=count), trailer=b"\0" * trailer))
            counts.append((min(count, len(lengths)), int(count > len(lengths))))
    script = play_frames(frames, restarts=dict.fromkeys(range(len(frames)), 1))
    assert [(t.counts["messages"], t.counts["overruns"]) for t in script.taken] == counts


def test_frames_of_others_between():
    """Their words come until net has judged them, and are none of ours."""
    frames = []
    for number in range(1, 20):
        ours = packet([b"D" * 19], number)
        frames += [frame(ours), frame(packet([b"D" * 19], number + 1), destination=(1, 1)), frame(ours, protocol=6), frame(ours)[:42 + number]]
    script = play_frames(frames, pause=0.1)
    assert totals(script)["messages"] == 19


@pytest.mark.parametrize("seed", range(4))
def test_random_packets(seed):
    print(f"seed {seed}")
    rng = random.Random(f"mold {seed}")
    number = rng.choice((1, 5, (1 << 32) - 20))
    script = play_frames(random_packets(rng, 50, number), seed=seed, pause=rng.choice((0, 0, 0.3)), restarts={0: number})
    assert len(script.taken) > 20 and totals(script).keys() >= {"messages", "duplicates", "overruns", "gaps", "suspect"}


def test_every_run_is_every_run():
    runs = every_run([0, 1, 2], 2)
    assert set(pairwise(runs)) == set(product(range(3), repeat=2))
