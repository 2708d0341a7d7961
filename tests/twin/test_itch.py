"""feed/itch: which messages count as what, and which go on."""
import pytest

from tickgate.spec import itch50

BOOK = [chr(c) for c in itch50.BOOK_TYPES]
EFFECT = {c.decode() for c in itch50.NEEDED}
QUIET = sorted({m.code.decode() for m in itch50.MESSAGES} - EFFECT)


def test_every_type_counts_and_only_some_go_on(bench, make_message):
    codes = [m.code.decode() for m in itch50.MESSAGES]
    got = bench.send(*[make_message(code) for code in codes])
    want = [(code, kind) for code in codes for kind, types in (("top_of_book", "AFECXDU"), ("trade", "PCQ"), ("status", "SWHYh")) if code in types]
    assert [(chr(r["message"]), r["kind"]) for r in got] == want
    assert bench.golden.type_count == {ord(c): 1 for c in codes}
    assert not bench.count("feed")


@pytest.mark.parametrize("code, kinds", [("A", ["top_of_book"]), ("C", ["top_of_book", "trade"]), ("D", ["top_of_book"]), ("P", ["trade"]), ("L", []),
                                         ("\x00", []), ("z", [])])
def test_lengths(make_bench, code, kinds):
    for length in range(1, 60):
        bench = make_bench()
        got = bench.send((code.encode() + bytes([0, 11]) + bytes(57))[:length])
        layout = itch50.BY_CODE.get(code.encode())
        short = length < 11 or layout is not None and length < layout.size
        want = {"short": 1} if short else {"unknown": 1} if layout is None else {"longer": 1} if length > layout.size else {}
        assert bench.count("feed") == want
        assert bench.golden.type_count == ({ord(code): 1} if length >= 11 else {})
        if code in BOOK and short:
            row, = got
            assert (row["kind"], chr(row["detail"]), row["first"], row["count"], chr(row["message"]), row["number"]) == ("gap", "M", 1, 0, code, 1)
            assert bench.golden.origins().tolist() == [(0, 42 + 20 + 2, length, 42 + 19)]
            assert bench.golden.stale == {1, 2}
        else:
            assert [r["kind"] for r in got] == ([] if short else kinds)


def test_a_short_book_message_is_told_once_a_datagram(bench, make_message):
    short = make_message("X", order_ref=1)[:22]
    good = make_message("A", order_ref=1, side="B", shares=1, price=1_000_000)
    got = bench.send(good, b"D", short, good)
    assert [(r["kind"], chr(r["message"]), r["number"]) for r in got] == [("top_of_book", "A", 1), ("gap", "D", 2), ("top_of_book", "A", 4)]
    assert not got[0]["flags"] & 1 << 5
    assert got[2]["flags"] & 1 << 5
    assert [r["kind"] for r in bench.send(short)] == ["gap"]
    assert bench.count("feed") == {"short": 3}


def test_short_messages_that_no_book_needs_are_only_counted(bench, make_message):
    assert bench.send(make_message("P")[:43], make_message("L")[:20], b"HY") == []
    assert bench.count("feed") == {"short": 3}


def test_longer_messages_are_used(bench, make_message):
    got = bench.send(make_message("A", order_ref=1, side="S", shares=1, price=1_000_000) + b"\xFF" * 5, make_message("D", order_ref=1) + b"\xFF")
    assert [r["detail"] for r in got] == [0, 0]
    assert bench.count("feed") == {"longer": 2}


@pytest.mark.parametrize("locate", [0, 10, 11 << 8, 11 | 1 << 15, 0xFFFF])
def test_symbols_that_are_not_loaded(make_bench, make_message, locate):
    bench = make_bench()
    got = bench.send(*[make_message(code, locate) for code in sorted(EFFECT)])
    assert [chr(r["message"]) for r in got] == ["S", "W"]
    assert bench.count("feed") == {"other": len(EFFECT) - 2}
    assert bench.send(*[make_message(code, locate) for code in QUIET]) == []
    assert bench.count("feed") == {"other": len(EFFECT) - 2}
    assert not bench.count("book")
