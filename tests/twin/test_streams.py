"""The random streams themselves: the same from the same seed, and going where they are meant to go."""
from dataclasses import replace

import pytest

from tickgate.spec import itch50
from tickgate.spec.presets import PRESETS
from tickgate.spec.records import RECORDS
from tickgate.twin import Golden
from tickgate.twin.moldudp64 import Message, MoldUDP64
from tickgate.twin.net import Net
from tickgate_sim.streams import FAULTS, PROFILES, Maker, Profile, frames, universe

GROUP = (0xE9360C65, 26477)
SMALL = PRESETS["small"]


def run(profile, seed, count, preset=SMALL, **how):
    symbols = universe(preset, seed)
    stream = frames(Maker(seed, preset=preset, symbols=symbols, profile=profile).messages(count), seed, filters=[GROUP], **how)
    golden = Golden(preset, symbols, [GROUP])
    for data, bad_fcs in stream.frames:
        golden.frame(data, bad_fcs)
    return golden, golden.take(), stream


@pytest.mark.parametrize("profile", PROFILES)
def test_from_the_seed_alone(profile):
    symbols = universe(SMALL, 1)
    assert symbols == universe(SMALL, 1) != universe(SMALL, 2)
    one, two, other = (Maker(seed, preset=SMALL, symbols=symbols, profile=profile) for seed in (1, 1, 2))
    parts = one.messages(100) + one.messages(1) + one.messages(199)
    assert parts == two.messages(300) != other.messages(300)
    first, again, other = (frames(parts, seed, filters=[GROUP], faults=0.3) for seed in (1, 1, 2))
    assert first == again != other


def test_every_type_at_every_alignment():
    symbols = universe(SMALL, 7)
    messages = Maker(7, preset=SMALL, symbols=symbols).messages(12_000)
    net, mold, seen = Net([GROUP]), MoldUDP64(1, SMALL.lanes), set()
    for data, bad_fcs in frames(messages, 7, filters=[GROUP]).frames:
        for item in mold.items(net.take(data, bad_fcs)):
            assert type(item) is Message
            if item.length and data[item.at:item.at + 1] in itch50.BY_CODE and item.length >= itch50.BY_CODE[data[item.at:item.at + 1]].size:
                seen.add((data[item.at], (item.at - 2) % 4))
    assert seen == {(m.code[0], lane) for m in itch50.MESSAGES for lane in range(4)}


def test_all_messages_arrive_unless_a_fault_is_asked_for():
    symbols = universe(SMALL, 3)
    messages = Maker(3, preset=SMALL, symbols=symbols).messages(2000)
    for how in ({}, {"plain": True}, {"per_packet": 1}, {"start": (1 << 31) - 100}):
        stream = frames(messages, 3, filters=[GROUP], **how)
        net, mold = Net([GROUP]), MoldUDP64(how.get("start", 1), SMALL.lanes)
        assert [data[i.at:i.at + i.length] for data, bad in stream.frames for i in mold.items(net.take(data, bad))] == messages
        assert not stream.log
        sizes = [len(data) for data, _ in stream.frames]
        assert max(sizes) <= 1600
        assert min(sizes) < 85                                  # one Delete a frame, back to back


CLEAN = ("storm", "sparse", "wide", "sweep", "mixed")


@pytest.mark.parametrize("profile", CLEAN)
def test_clean_profiles_stay_valid(profile):
    golden, rows, _ = run(profile, 4, 4000)
    assert not golden.stale
    book = golden.counters["book"]
    assert sum(n for name, n in book.items() if name not in ("updates", "outside")) == 0
    top = rows[rows["kind"] == 1]
    assert (top["flags"] & 1).mean() > 0.25
    assert {chr(c) for c in top["message"]} == set("AFECXDU")


def test_faults_are_reached():
    golden, rows, _ = run("faults", 5, 6000)
    book, feed = golden.counters["book"], golden.counters["feed"]
    assert min(book[name] for name in ("unknown_reference", "duplicate_reference", "overfill", "outside")) > 20
    assert min(feed[name] for name in ("empty", "unknown", "short", "longer", "other")) > 20
    assert {chr(d) for d in rows["detail"][rows["kind"] == 3]} == {"M"}
    top = rows[rows["kind"] == 1]
    met = {(chr(code), fault) for code, fault in zip(top["message"], top["detail"])}
    possible = (("AF", (0, 2)), ("ECX", (0, 1, 3)), ("D", (0, 1)), ("U", (0, 1, 2)))
    assert met == {(code, fault) for codes, faults in possible for code in codes for fault in faults}
    clipped = RECORDS["top_of_book"]["bid_qty"]
    assert any(row.tobytes()[clipped.offset:clipped.end] == b"\xFF" * clipped.size for row in top)


@pytest.mark.parametrize("profile", ["collide", "full"])
def test_the_order_table_is_filled(profile):
    golden, _, _ = run(profile, 6, 8000)
    assert golden.counters["book"]["table_full"] > 20


def test_wide_references_are_reached():
    golden, _, _ = run("faults", 8, 3000, preset=replace(SMALL, reference_bits=40))
    assert golden.counters["book"]["wide_reference"] > 20


def test_ladders_are_used_whole():
    golden, _, _ = run("wide", 9, 6000)
    used = {slot: {d.price for d in (*golden.book(slot).bids, *golden.book(slot).asks)} for slot in golden.slots}
    assert max(len(prices) for prices in used.values()) > SMALL.ticks // 3


@pytest.mark.parametrize("fault, moved", {
    "gap": ("mold", "missing"), "duplicate": ("mold", "duplicates"), "overlap": ("mold", "duplicates"), "heartbeat": ("mold", "heartbeats"),
    "heartbeat_gap": ("mold", "gaps"), "end_of_session": ("mold", "ends"), "new_session": ("mold", "sessions"), "runt": ("mold", "runts"),
    "cut": ("mold", "suspect"), "bad_fcs": ("net", "bad_fcs"), "count_high": ("mold", "overruns"), "count_low": ("mold", "missing"),
    "long_block": ("mold", "overruns"), "wrong_block": ("mold", "overruns"), "other_traffic": ("net", "filtered")}.items())
def test_each_fault_of_the_line(fault, moved):
    golden, _, stream = run("storm", 10, 2000, faults=0.3, kinds={fault: 1})
    assert {name for _, name in stream.log} == {fault}
    assert len(stream.log) > 20
    assert golden.counters[moved[0]][moved[1]] > 5
    assert golden.counters["mold"]["messages"] > 500


def test_other_traffic_meets_every_drop():
    golden, _, _ = run("storm", 11, 4000, faults=0.5, kinds={"other_traffic": 1})
    net = golden.counters["net"]
    assert min(net[name] for name in ("not_ipv4", "bad_header", "fragment", "not_udp", "filtered", "bad_length", "short_frame", "bad_fcs")) > 5
    assert net["not_ready"] == 0


def test_every_fault_is_tested_here():
    tested = next(mark for mark in test_each_fault_of_the_line.pytestmark if mark.name == "parametrize").args[1]
    assert {fault for fault, _ in tested} == set(FAULTS)


def test_names_that_are_not_there():
    with pytest.raises(ValueError, match="no profile 'calm'; there are storm"):
        Maker(1, preset=SMALL, symbols=universe(SMALL, 1), profile="calm")
    with pytest.raises(ValueError, match="no action dance"):
        Profile(doc="", weights={"dance": 1})
    with pytest.raises(ValueError, match="message 0 has 2000 bytes"):
        frames([bytes(2000)], 1, filters=[GROUP])
