"""net/moldudp64: numbers, sessions, and blocks that do not fit."""
import pytest

from tickgate.spec import moldudp64 as mold
from tickgate_sim.streams import udp_frame

GROUP = (0xE9360C65, 26477)


def quiet(n):
    """Messages that count and do nothing else."""
    return [b"?" + bytes(10)] * n


def gaps(rows):
    return [(chr(r["detail"]), r["first"], r["count"]) for r in rows if r["kind"] == "gap"]


def test_numbers_go_on(bench):
    assert bench.send(*quiet(3)) == [] == bench.send(*quiet(2))
    assert bench.count("mold") == {"packets": 2, "messages": 5}
    assert (bench.golden.expected, bench.golden.session) == (6, b"0000000001")


def test_a_gap_is_declared_at_once(bench):
    bench.send(*quiet(2))
    row, = bench.send(*quiet(3), number=10)
    assert gaps([row]) == [("G", 3, 7)]
    assert (row["slot"], row["flags"], row["message"], row["number"], row["digest"], row["source"]) == (0xFFFF, 1 << 5, 0, 3, 0, 0)
    assert bench.golden.origins().tolist() == [(1, -1, 0, 42 + 19)]
    assert bench.golden.stale == {1, 2}
    assert bench.count("mold") == {"packets": 2, "messages": 5, "gaps": 1, "missing": 7}
    assert bench.golden.expected == 13


@pytest.mark.parametrize("start, number, want", [(1, 1, []), (1, 5, [("G", 1, 4)]), (100, 100, []), (100, 99, [])])
def test_the_first_session_may_begin_anywhere(make_bench, start, number, want):
    bench = make_bench(start=start)
    assert gaps(bench.send(*quiet(1), number=number)) == want
    assert "sessions" not in bench.count("mold")
    assert bench.golden.expected == max(start, number + 1)


@pytest.mark.parametrize("number, missing", [(1, 0), (2, 1), (1 << 40, (1 << 40) - 1), (0, 0)])
def test_a_new_session(bench, number, missing):
    bench.send(*quiet(50))
    row, = bench.send(*quiet(2), number=number, session=b"0000000002")
    assert gaps([row]) == [("S", 1, missing)]
    assert row["number"] == 1
    assert bench.golden.origins()["wire_offset"].tolist() == [42 + 19]
    assert bench.golden.expected == number + 2
    assert bench.golden.stale == {1, 2}
    assert bench.count("mold") == {"packets": 2, "messages": 52, "sessions": 1, **({"missing": missing} if missing else {})}


def test_a_session_differs_in_its_last_byte_too(bench):
    bench.send(session=b"0000000001", count=0)
    assert gaps(bench.send(session=b"0000000003", count=0)) == [("S", 1, 0)]


def test_heartbeats_and_ends_advance_nothing_but_show_gaps(bench):
    assert bench.send(count=mold.HEARTBEAT, number=1) == []
    assert bench.send(count=mold.END_OF_SESSION, number=1) == []
    assert gaps(bench.send(count=mold.HEARTBEAT, number=4)) == [("G", 1, 3)]
    assert gaps(bench.send(count=mold.END_OF_SESSION, number=9)) == [("G", 4, 5)]
    assert bench.count("mold") == {"heartbeats": 2, "ends": 2, "gaps": 2, "missing": 8}
    assert bench.golden.expected == 9


def test_blocks_after_a_heartbeat_or_an_end_are_not_read(bench, make_message):
    bad = make_message("D", order_ref=1)
    assert bench.send(bad, number=1, count=0) == [] == bench.send(bad, number=1, count=0xFFFF)
    assert bench.golden.expected == 1


def test_duplicates_and_overlap(bench, make_message):
    add = [make_message("A", order_ref=k, side="B", shares=1, price=1_000_000) for k in range(5)]
    assert [r["detail"] for r in bench.send(*add[:3])] == [0, 0, 0]
    assert bench.send(*add[:3], number=1) == []
    assert [(r["number"], r["detail"], r["bid_qty"]) for r in bench.send(*add[1:], number=2)] == [(4, 0, 4), (5, 0, 5)]
    assert bench.count("mold") == {"packets": 3, "messages": 5, "duplicates": 5}
    assert bench.golden.type_count == {ord("A"): 5}


@pytest.mark.parametrize("size", range(20))
def test_runts(bench, size):
    assert bench.raw(udp_frame(bench.payload(quiet(1))[:size], GROUP, trailer=b"x" * 30)) == []
    assert bench.count("mold") == {"runts": 1}


def test_a_runt_can_be_suspect_too(bench):
    row, = bench.raw(udp_frame(b"1234", GROUP, trailer=bytes(14)), bad_fcs=True)
    assert gaps([row]) == [("F", 1, 0)]
    assert bench.count("mold") == {"runts": 1, "suspect": 1}
    assert bench.golden.session is None


def test_zero_length_blocks(bench):
    assert bench.send(*[b""] * 9, b"?" * 11, b"", trailer=bytes(20)) == []
    assert bench.count("mold") == {"packets": 1, "messages": 11}
    assert bench.count("feed") == {"empty": 10, "unknown": 1}


@pytest.mark.parametrize("trailer", [0, 1, 2, 3, 40])
def test_more_promised_than_sent(bench, trailer):
    row, = bench.send(*quiet(3), count=5, trailer=b"\0" * trailer)
    assert gaps([row]) == [("L", 4, 0)]
    assert bench.golden.origins()["wire_offset"].tolist() == [42 + 20 + 39 + trailer - 1]
    assert bench.count("mold") == {"packets": 1, "messages": 3, "overruns": 1}


def test_less_promised_than_sent(bench):
    assert bench.send(*quiet(3), count=2) == []
    assert bench.count("mold") == {"packets": 1, "messages": 2}


@pytest.mark.parametrize("beyond", [1, 2, 3, 1000])
def test_a_block_beyond_the_payload_drops_the_rest(bench, make_message, beyond):
    good = make_message("D", order_ref=1)
    payload = bench.payload([good]) + mold.BLOCK.encode(length=19 + 21 + beyond) + make_message("D", order_ref=2) + bytes(21)
    payload = payload[:18] + b"\0\3" + payload[20:]
    got = bench.raw(udp_frame(payload, GROUP, trailer=bytes(2000)))
    assert [(r["kind"], r["message"]) for r in got] == [("top_of_book", ord("D")), ("gap", 0)]
    assert gaps(got) == [("L", 2, 0)]
    assert bench.count("mold") == {"packets": 1, "messages": 1, "overruns": 1}


def test_a_block_that_just_fits(bench):
    payload = bench.payload([b""], count=1)[:20] + mold.BLOCK.encode(length=50) + b"?" * 50
    assert bench.raw(udp_frame(payload, GROUP, trailer=b"x")) == []
    assert bench.count("mold") == {"packets": 1, "messages": 1}


def test_bad_fcs_keeps_the_messages_and_tells(bench, make_message):
    got = bench.send(make_message("A", order_ref=1, side="S", shares=9, price=1_000_000), trailer=b"1234", bad_fcs=True)
    assert [r["kind"] for r in got] == ["top_of_book", "gap"]
    assert not got[0]["flags"] & 1 << 5
    assert gaps(got) == [("F", 1, 0)]               # taken at its word until then, but not as come
    assert bench.golden.origins().tolist()[1] == (0, -1, 0, 42 + 20 + 38 + 4 - 1)
    assert bench.golden.stale == {1, 2} and bench.golden.expected == 1


def test_one_wrong_bit_does_not_make_the_feed_look_old(bench):
    bench.send(b"?" * 11)
    before = bench.golden.session
    got = bench.send(number=2 | 1 << 62, count=0, session=b"other 0001", bad_fcs=True)
    assert gaps(got) == [("S", 1, (2 | 1 << 62) - 1), ("F", 2, 0)]
    assert (bench.golden.session, bench.golden.expected) == (before, 2)
    assert bench.send(b"?" * 11, number=2) == [] and bench.golden.expected == 3


def test_what_a_cut_frame_did_not_bring_is_missed_next(bench):
    messages = [b"?" + bytes(40)] * 4
    got = bench.send(*messages, cut=42 + 20 + 43 + 43 + 20)
    assert gaps(got) == [("F", 1, 0)]               # the third was handed on before the frame ended, the fourth never began
    assert bench.count("mold") == {"packets": 1, "messages": 3, "overruns": 1, "suspect": 1}
    assert gaps(bench.send(b"?" * 11)) == [("G", 1, 4)]     # nothing in a cut frame counts as come


@pytest.mark.parametrize("base", [(1 << 31) - 2, 1 << 40])
def test_numbers_have_64_bits_and_records_show_31(make_bench, make_message, base):
    bench = make_bench(start=base)
    got = bench.send(*[make_message("D", order_ref=1)] * 4)
    assert [r["number"] for r in got] == [(base + k) % (1 << 31) for k in range(4)]
    row, = bench.send(number=base + 9, count=0)
    assert (row["first"], row["count"]) == (base + 4, 5)
