"""net.datagram against the twin's net: words, ends and counters of every frame, each in its cycle."""
import random

import pytest

from tickgate.spec import ethernet as eth
from tickgate_hdl.net.datagram import DatagramReceiver
from tickgate_sim.models.datagram import DatagramScript
from tickgate_sim.models.hop import play
from tickgate_sim.models.vectors import FILTERS, WRONG, cut_everywhere, frame, random_frames
from tickgate_sim.models.wire import on_wire

C_TAG, S_TAG = (0x8100, 0xABCD), (0x88A8, 0x0800)     # an S-tag that looks like IPv4's ethertype
USUAL = len(frame()) - 14 - 20                        # UDP length
FOUR_FILTERS = (*FILTERS, (0xEFFFFFFF, 0xFFFF))


def play_frames(frames, *, seed=0, filters=FOUR_FILTERS, enable=lambda cycle: 1, **pace):
    """Play frames, or pairs of frame and bad FCS; returns what became of each."""
    frames = [f if isinstance(f, tuple) else (f, False) for f in frames]
    script = DatagramScript(seed, on_wire(frames, random.Random(seed), **pace), filters, enable=enable)
    play(DatagramReceiver(filters=len(filters)), script)
    assert len(script.causes) == len(frames)
    return script.causes


@pytest.mark.parametrize("pause", [0.0, 0.3])
def test_tags_and_options_are_looked_through(pause):
    shapes = [{"tags": tags, "options": bytes(range(100, 100 + 4 * words))}
              for tags in ((), (C_TAG,), (S_TAG, C_TAG), (C_TAG, S_TAG)) for words in range(11)]
    causes = play_frames([frame(**shape) for shape in shapes], pause=pause, idle=(0, 2))
    assert causes == ["datagrams"] * len(shapes)


@pytest.mark.parametrize("cause", WRONG)
def test_each_cause_counts_once_and_the_first_decides(cause):
    """Every wrong frame right after a good one, whose verdict must not leak into it, and the other way round."""
    frames = [f for wrong in WRONG[cause] for f in (frame(), frame(**wrong))]
    assert play_frames(frames, idle=(0, 1)) == ["datagrams", cause] * len(WRONG[cause])


def test_right_lengths_and_flags():
    shapes = [{"flags_fragment": 0x4000}, {"flags_fragment": 0x8000}, {"flags_fragment": 0xC000}, {"slack": 13}, {"udp_length": 8},
              {"udp_length": USUAL - 3}, {"udp_length": USUAL + 5, "slack": 5}, {"payload": b""}, {"payload": bytes(1472)}]
    assert play_frames([frame(**shape) for shape in shapes], idle=(0, 3)) == ["datagrams"] * len(shapes)


def test_headers_of_extreme_sums():
    """Options that add nothing, almost nothing and as much as can be to the checksum."""
    frames = [frame(options=word.to_bytes(2, "big") * 20, flags_fragment=flags) for word in (0, 1, 0x7FFF, 0x8000, 0xFFFE, 0xFFFF)
              for flags in (0x4000, 0xC000, 0x8000)]
    assert play_frames(frames, idle=(0, 0)) == ["datagrams"] * len(frames)


def test_payload_size_decides_left_and_over():
    frames = [frame(payload=bytes(range(size)), trailer=b"\xEE" * trailer) for size in range(13) for trailer in range(5)]
    assert play_frames(frames, idle=(0, 0)) == ["datagrams"] * len(frames)


@pytest.mark.parametrize("shape", [{}, {"tags": (C_TAG,)}, {"tags": (S_TAG, C_TAG), "trailer": b"1234567"}, {"options": bytes(12)}, {"words": 3},
                                   {"ethertype": 0x0806}, {"tags": (C_TAG, C_TAG, C_TAG)}], ids=str)
def test_a_frame_cut_at_every_length(shape):
    """From no byte at all, back to back, so that each one's counters settle under the next ones."""
    frames = cut_everywhere(frame(payload=b"123456789", **shape))
    causes = play_frames(frames, idle=(0, 0))
    assert causes[0] == "short_frame" != causes[-1] and len(set(causes)) == 2


def test_single_words_back_to_back():
    rng = random.Random("single words")
    frames = [(rng.randbytes(rng.randrange(5)), rng.random() < 0.5) for _ in range(60)]
    assert set(play_frames([*frames, frame(), *frames, frame()], idle=(0, 0))) == {"short_frame", "datagrams"}


@pytest.mark.parametrize("count", [1, 4, 7])
def test_filters(count):
    """Every filter lets its own through; of equal ones the first in use decides; one that is off lets nothing through."""
    groups = [(0xE0000000 + k * 0x01010101, 1000 + k) for k in range(count)]
    frames = [frame(destination=group) for group in groups]
    assert play_frames(frames, filters=groups) == ["datagrams"] * count
    for k in range(count):
        same = [None if j < k else groups[0] for j in range(count)]
        assert play_frames(frames, filters=same) == ["datagrams"] + ["filtered"] * (count - 1)
    assert play_frames(frames, filters=[None] * count) == ["filtered"] * count


def test_bad_fcs_counts_whatever_becomes_of_the_frame():
    frames = [(f, bad) for f in (frame(), frame(ethertype=0x0806), frame(protocol=1), frame()[:30], frame()[:50], frame(trailer=b"12")) for bad in (1, 0, 1)]
    assert play_frames(frames, idle=(0, 2)).count("datagrams") == 9


def test_enable_is_taken_with_the_first_word():
    """It falls and rises in every word of a frame, and between frames."""
    one = frame(payload=b"12")
    words = -(-len(one) // 4)
    for phase in (0, 1):
        causes = play_frames([one] * (2 * words + 8), enable=lambda cycle, phase=phase: (cycle // (words + 2) + phase) % 2, idle=(1, 1))
        assert {"datagrams", "not_ready"} == set(causes)
    rng = random.Random("enable")
    flips = [rng.random() < 0.5 for _ in range(2000)]
    causes = play_frames([(one[:rng.choice((3, 20, 100))], rng.random() < 0.3) for _ in range(60)], enable=lambda cycle: flips[cycle], pause=0.1, idle=(0, 3))
    assert {"datagrams", "not_ready", "short_frame"} == set(causes)


@pytest.mark.parametrize("seed", range(3))
def test_random_frames(seed):
    print(f"seed {seed}")
    rng = random.Random(f"net {seed}")
    causes = play_frames(random_frames(rng, 60), seed=seed, pause=rng.choice((0, 0.2, 0.5)), idle=(0, 4))
    assert causes.count("datagrams") > 10 and len(set(causes)) > 5


@pytest.mark.parametrize("wrong, what", [({"lanes": 8}, "8"), ({"filters": 0}, "0"), ({"filters": 8}, "8")])
def test_sizes_that_cannot_be_are_refused(wrong, what):
    with pytest.raises(ValueError, match=f"not {what}"):
        DatagramReceiver(**wrong)


def test_tags_as_the_spec_says():
    """The bench's own frames hold what it is told."""
    assert eth.MAXIMUM_VLAN_TAGS == 2 and frame(tags=(C_TAG, S_TAG))[12:20] == b"\x81\0\xAB\xCD\x88\xA8\x08\0"
