"""net: each cause of a drop, and everything that must not be one."""
import random

import pytest

from tickgate_sim.streams import udp_frame

GROUP = (0xE9360C65, 26477)
C_TAG, S_TAG = (0x8100, 7), (0x88A8, 0xFFFF)


def only(bench, *names):
    """The counters of net that moved, each by one."""
    assert bench.count("net") == dict.fromkeys(("frames", *names), 1)


@pytest.mark.parametrize("tags", [(), (C_TAG,), (S_TAG, C_TAG), (C_TAG, C_TAG)], ids=len)
@pytest.mark.parametrize("words", [5, 6, 15])
def test_vlan_tags_and_options_are_looked_through(bench, make_message, tags, words):
    options = random.Random(words).randbytes(4 * (words - 5))
    got = bench.send(make_message("A", order_ref=5, side="B", shares=7, price=1_000_100), tags=tags, options=options, trailer=b"\xEE" * 9)
    assert [(r["kind"], r["bid_px"], r["bid_qty"]) for r in got] == [("top_of_book", 1_000_100, 7)]
    origin, = bench.golden.origins()
    start = 14 + 4 * len(tags) + 4 * words + 8 + 20 + 2
    assert origin.tolist() == (0, start, 36, start + 35)
    only(bench, "datagrams")


@pytest.mark.parametrize("cause, wrong", [
    ("not_ipv4", {"ethertype": 0x0806}), ("not_ipv4", {"ethertype": 0x86DD}), ("not_ipv4", {"tags": (C_TAG, C_TAG, C_TAG)}),
    ("bad_header", {"version": 5}), ("bad_header", {"words": 4}), ("bad_header", {"words": 0}), ("bad_header", {"checksum_error": 1}),
    ("bad_header", {"checksum_error": 0x8000}), ("bad_header", {"options": bytes(8), "checksum_error": 4}),
    ("fragment", {"flags_fragment": 0x2000}), ("fragment", {"flags_fragment": 1}), ("fragment", {"flags_fragment": 0x1000}),
    ("not_udp", {"protocol": 6}), ("bad_length", {"udp_length": 7}), ("bad_length", {"udp_length": 0}), ("bad_length", {"udp_length": 29}),
    ("bad_header", {"checksum_error": 1, "flags_fragment": 1, "protocol": 6}), ("fragment", {"flags_fragment": 1, "protocol": 6, "udp_length": 0}),
    ("not_udp", {"protocol": 1, "udp_length": 0}),
])
def test_each_cause_counts_once_and_the_first_decides(bench, cause, wrong):
    assert bench.send(count=0, **wrong) == []
    only(bench, cause)
    assert not bench.count("mold")


@pytest.mark.parametrize("flags", [0x4000, 0x8000, 0xC000])
def test_other_flags_are_no_fragment(bench, flags):
    bench.send(flags_fragment=flags)
    only(bench, "datagrams")


def test_udp_may_be_shorter_than_ip_says(bench):
    bench.send(slack=13)
    only(bench, "datagrams")
    assert bench.count("mold") == {"heartbeats": 1}


def test_filters(make_bench, make_message):
    other = (0x0A000001, 1)
    bench = make_bench(filters=(None, GROUP, other))
    sources = [bench.send(make_message("D"), destination=to)[0]["source"] for to in (GROUP, other)]
    assert sources == [1, 2]
    for to in ((GROUP[0], 1), (other[0], GROUP[1]), (GROUP[0] ^ 1, GROUP[1]), (GROUP[0], GROUP[1] ^ 0x8000)):
        assert bench.send(make_message("D"), destination=to) == []
    assert bench.count("net") == {"frames": 6, "datagrams": 2, "filtered": 4}


def test_bad_fcs_counts_whatever_becomes_of_the_frame(bench):
    assert bench.send(ethertype=0x0806, bad_fcs=True) == []
    only(bench, "not_ipv4", "bad_fcs")


@pytest.mark.parametrize("tags, words", [((), 5), ((C_TAG,), 5), ((S_TAG, C_TAG), 5), ((), 8), ((), 3)])
def test_a_frame_of_any_length(make_bench, make_message, tags, words):
    """Cut at every byte: what is counted, and that the message works exactly when its last needed byte came."""
    probe = make_bench()
    options = bytes(4 * max(0, words - 5))
    frame = udp_frame(probe.payload([make_message("E", order_ref=5, executed_shares=3)]), GROUP, tags=tags, options=options, words=words)
    header_end = 14 + 4 * len(tags) + 4 * max(words, 5) + 8
    needed = header_end + 20 + 2 + 23
    seen = set()
    for length in range(len(frame) + 1):
        bench = make_bench()
        got = [(r["kind"], r["detail"]) for r in bench.raw(frame[:length])]
        cause, = bench.count("net").keys() - {"frames"}
        seen.add(cause)
        if length < header_end:
            assert (cause, got) == ("short_frame", [])
        elif words < 5:
            assert (cause, got) == ("bad_header", [])
        else:
            assert cause == "datagrams"
            mold = bench.count("mold")
            fault = [("top_of_book", 1)] if length >= needed else []
            assert got == fault + ([("gap", ord("F"))] if length < len(frame) else [])
            assert mold.get("runts", 0) == (length < header_end + 20)
            # the block's own word and the next one decide whether the cut is seen in time to drop it
            judged = 4 * ((header_end + 20) // 4 + 2)
            assert mold.get("overruns", 0) == (header_end + 20 <= length <= judged)
            assert mold.get("messages", 0) == (length > judged)
            assert mold.get("suspect", 0) == (length < len(frame))
    assert len(seen) == 2
