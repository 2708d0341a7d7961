"""book and book/publish: what each message does, every fault, the ladder's edges, the digest."""
import zlib

import pytest

from tickgate.spec.clocks import ns_of_cycle
from tickgate.spec.presets import PRESETS, Preset
from tickgate.spec.records import FLAGS
from tickgate.twin import Golden, Symbol
from tickgate_sim.streams import udp_frame

BASE, TICK, TICKS = 1_000_000, 100, 256
END = BASE + TICK * TICKS
BIG = (1 << 32) - 1


def names(row):
    """Flags that are set."""
    return {name for name, (bit, _) in FLAGS.items() if row["flags"] >> bit & 1}


@pytest.fixture
def do(bench, make_message):
    """Short forms of the book messages; each sends one and gives its record."""
    class Do:
        golden, count = bench.golden, staticmethod(bench.count)

        def one(self, code, **fields):
            return bench.send(make_message(code, **fields))[0]

        def add(self, ref, side, shares, price, **more):
            return self.one("A", order_ref=ref, side=side, shares=shares, price=price, **more)

        def execute(self, ref, shares):
            return self.one("E", order_ref=ref, executed_shares=shares)

        def cancel(self, ref, shares):
            return self.one("X", order_ref=ref, cancelled_shares=shares)

        def delete(self, ref, **more):
            return self.one("D", order_ref=ref, **more)

        def replace(self, old, new, shares, price):
            return self.one("U", original_order_ref=old, new_order_ref=new, shares=shares, price=price)

        def queue(self, side=0):
            return [depth.queue for depth in self.golden.book(1)[side]]

    return Do()


def top(row):
    return row["bid_px"], row["bid_qty"], row["ask_px"], row["ask_qty"]


def order(row):
    return row["detail"], row["order_px"], row["order_qty"], "SELL" in names(row)


def test_add_and_best(do):
    assert top(do.add(1, "B", 10, BASE + 500)) == (BASE + 500, 10, 0, 0)
    assert top(do.add(2, "B", 5, BASE + 400)) == (BASE + 500, 10, 0, 0)
    assert top(do.add(3, "B", 7, BASE + 500)) == (BASE + 500, 17, 0, 0)
    row = do.add(4, "S", 3, BASE + 900)
    assert top(row) == (BASE + 500, 17, BASE + 900, 3)
    assert order(row) == (0, BASE + 900, 3, True)
    assert names(row) == {"VALID", "BID", "ASK", "SELL"}
    assert top(do.one("F", order_ref=5, side="S", shares=4, price=BASE + 800)) == (BASE + 500, 17, BASE + 800, 4)
    assert do.queue() == [[(1, 10), (3, 7)], [(2, 5)]]
    assert do.queue(1) == [[(5, 4)], [(4, 3)]]
    assert do.count("book") == {"updates": 5}


@pytest.mark.parametrize("mark", ["A", "s", "\x01", "b", "\0"])
def test_the_side_is_one_bit(do, mark):
    row = do.add(1, mark, 10, BASE)
    assert names(row) == {"VALID"} | ({"ASK", "SELL"} if ord(mark) & 1 else {"BID"})


def test_queue_positions(do):
    for ref in (1, 2, 3):
        do.add(ref, "B", 10, BASE)
    do.execute(1, 4), do.cancel(2, 3)
    assert do.queue() == [[(1, 6), (2, 7), (3, 10)]]
    do.replace(1, 9, 6, BASE)
    assert do.queue() == [[(2, 7), (3, 10), (9, 6)]]
    row = do.execute(2, 7)
    assert order(row) == (0, BASE, 7, False)
    assert do.queue() == [[(3, 10), (9, 6)]]


def test_delete_tells_what_was_left(do):
    do.add(1, "S", 10, BASE)
    do.execute(1, 4)
    row = do.delete(1)
    assert order(row) == (0, BASE, 6, True)
    assert names(row) == {"VALID", "SELL"}
    assert do.golden.live == 0


def test_execute_at_another_price_takes_from_the_orders_own(bench, make_message):
    bench.send(make_message("A", order_ref=1, side="S", shares=10, price=BASE))
    book, trade = bench.send(make_message("C", order_ref=1, executed_shares=4, printable="N", execution_price=BASE + 777))
    assert top(book) == (0, 0, BASE, 6)
    assert order(book) == (0, BASE, 4, True)
    assert (trade["kind"], trade["qty"], trade["px"], chr(trade["detail"]), names(trade), trade["slot"]) == ("trade", 4, BASE + 777, "N", set(), 1)
    assert trade["digest"] == book["digest"]
    assert bench.golden.origins()["wire_offset"].tolist() == [64 + 22, 64 + 35]


@pytest.mark.parametrize("came, kinds", [(36, ["top_of_book", "trade", "gap"]), (35, ["top_of_book", "gap"]), (23, ["top_of_book", "gap"]), (22, ["gap"])],
                         ids=str)
def test_a_cut_execution_does_what_it_still_can(bench, make_message, came, kinds):
    bench.send(make_message("A", order_ref=1, side="S", shares=10, price=BASE))
    got = bench.send(make_message("C", order_ref=1, executed_shares=4, execution_price=BASE), b"?" * 11, cut=64 + came)
    assert [r["kind"] for r in got] == kinds
    assert bench.golden.book(1).asks[0].quantity == (6 if len(kinds) > 1 else 10)


@pytest.mark.parametrize("came, left", [(34, []), (27, []), (19, []), (18, [(1, 10)])])
@pytest.mark.parametrize("old", [1, 2])
def test_a_cut_replace_costs_the_old_order(bench, make_message, came, left, old):
    bench.send(make_message("A", order_ref=1, side="S", shares=10, price=BASE))
    got = bench.send(make_message("U", original_order_ref=old, new_order_ref=2, shares=3, price=BASE), b"?" * 11, cut=64 + came)
    assert [r["kind"] for r in got] == ["gap"]
    assert [depth.queue for depth in bench.golden.book(1).asks] == ([left] if left else [] if old == 1 else [[(1, 10)]])
    assert bench.count("book") == {"updates": 1}


def test_unknown_reference(do):
    do.add(1, "S", 10, BASE)
    for row, want in ((do.execute(2, 5), (1, 0, 5, False)), (do.cancel(2, 6), (1, 0, 6, False)), (do.delete(2), (1, 0, 0, False)),
                      (do.replace(2, 3, 7, BASE + 100), (1, BASE + 100, 7, False))):
        assert order(row) == want
        assert names(row) == {"STALE", "ASK"}
        assert top(row) == (0, 0, BASE, 10)
    assert do.golden.stale == {1}
    assert do.count("book") == {"updates": 5, "unknown_reference": 4}


def test_a_reference_belongs_to_its_symbol(bench, make_message):
    def add(locate, price):
        return bench.send(make_message("A", locate, order_ref=1, side="B", shares=1, price=price))[0]

    assert add(11, BASE)["detail"] == 0
    assert bench.send(make_message("D", 22, order_ref=1))[0]["detail"] == 1
    assert add(22, 10_000)["detail"] == 0
    assert add(11, BASE)["detail"] == 2
    assert bench.golden.live == 2


def test_duplicate_reference(do):
    do.add(1, "B", 10, BASE)
    row = do.add(1, "S", 4, BASE + 100)
    assert order(row) == (2, BASE + 100, 4, True)
    assert names(row) == {"STALE", "BID", "SELL"}
    assert top(row) == (BASE, 10, 0, 0)
    assert do.delete(1)["detail"] == 0
    assert do.add(1, "S", 4, BASE + 100)["detail"] == 0


def test_overfill_takes_the_order(do):
    do.add(1, "B", 10, BASE)
    do.add(2, "B", 1, BASE)
    row = do.execute(1, 11)
    assert order(row) == (3, BASE, 11, False)
    assert top(row) == (BASE, 1, 0, 0)
    assert names(row) == {"STALE", "BID"}
    assert do.golden.stale == {1}
    assert do.cancel(1, 1)["detail"] == 1
    assert do.count("book")["overfill"] == 1


@pytest.mark.parametrize("new, fault", [(1, 2), (2, 2)])
def test_replace_by_a_live_reference_loses_the_old_order(do, new, fault):
    do.add(1, "B", 10, BASE)
    do.add(2, "B", 3, BASE)
    row = do.replace(1, new, 8, BASE + 100)
    assert order(row) == (fault, BASE + 100, 8, False)
    assert top(row) == (BASE, 3, 0, 0)
    assert do.queue() == [[(2, 3)]]
    assert do.golden.live == 1


def test_shares_of_zero_and_more_than_32_bits(do):
    assert top(do.add(1, "B", 0, BASE)) == (BASE, 0, 0, 0)
    assert names(do.execute(1, 0)) == {"VALID"}          # none of none: as many as it has, so it goes
    do.add(2, "S", BIG, BASE)
    assert top(do.add(3, "S", 5, BASE)) == (0, 0, BASE, BIG)
    assert do.golden.book(1).asks[0].quantity == BIG + 5
    assert top(do.execute(2, BIG - 1)) == (0, 0, BASE, 6)
    row = do.execute(2, 0)
    assert order(row) == (0, BASE, 0, True)
    assert do.golden.book(1).asks[0].count == 2


def test_a_level_of_no_shares_is_the_best(do):
    do.add(1, "B", 5, BASE)
    assert top(do.add(2, "B", 0, BASE + 100)) == (BASE + 100, 0, 0, 0)
    assert top(do.delete(2)) == (BASE, 5, 0, 0)


@pytest.mark.parametrize("bid, ask, crossed", [(100, 200, False), (200, 200, True), (300, 200, True)])
def test_crossed(do, bid, ask, crossed):
    assert "CROSSED" not in names(do.add(1, "B", 1, BASE + bid))
    row = do.add(2, "S", 1, BASE + ask)
    assert names(row) == {"VALID", "BID", "ASK", "SELL"} | ({"CROSSED"} if crossed else set())


@pytest.mark.parametrize("side", "BS")
@pytest.mark.parametrize("price", [BASE, BASE + TICK, END - TICK])
def test_inside(do, side, price):
    row = do.add(1, side, 5, price)
    assert names(row) >= {"VALID"}
    assert (row["ask_px"] if side == "S" else row["bid_px"]) == price
    assert "outside" not in do.count("book")


NEAR = [("B", END), ("B", END + 1), ("B", BIG), ("B", BASE + 1), ("B", END - 1), ("S", BASE - 1), ("S", BASE - TICK), ("S", 0),
        ("S", BASE + TICK + 50), ("S", END - 1)]
FAR = [("S", END), ("S", END + 1), ("S", BIG), ("B", BASE - 1), ("B", BASE - TICK), ("B", 0)]


@pytest.mark.parametrize("side, price", NEAR)
def test_near(do, side, price):
    word, best = ("BID", "bid_px") if side == "B" else ("ASK", "ask_px")
    sell = {"SELL"} if side == "S" else set()
    do.add(1, side, 5, BASE + TICK * 9)
    row = do.add(2, side, 7, price)
    assert names(row) == {f"{word}_UNKNOWN"} | sell
    assert top(row) == (0, 0, 0, 0)
    assert order(row)[:3] == (0, price, 7)
    row = do.execute(2, 3)
    assert order(row) == (0, 0, 3, side == "S")
    row = do.delete(2)
    assert order(row) == (0, 0, 4, side == "S")
    assert names(row) == {"VALID", word} | sell
    assert row[best] == BASE + TICK * 9
    assert do.count("book")["outside"] == 1


@pytest.mark.parametrize("side, price", FAR)
def test_far(do, side, price):
    word = "BID" if side == "B" else "ASK"
    sell = {"SELL"} if side == "S" else set()
    assert names(do.add(1, side, 5, price)) == {f"{word}_UNKNOWN"} | sell
    assert names(do.add(2, side, 7, BASE + TICK)) == {"VALID", word} | sell
    row = do.replace(2, 3, 1, price)
    assert names(row) == {f"{word}_UNKNOWN"} | sell
    assert do.golden.book(1).far[side == "S"].queue == [(1, 5), (3, 1)]
    do.delete(1)
    row = do.delete(3)
    assert names(row) == {"VALID"} | sell
    assert do.count("book") == {"updates": 5, "outside": 2}


def test_table_full_and_the_room_of_a_replace(make_bench, make_message):
    """One bucket a subtable, for references that differ only above the bits that are hashed: 5 x 2 places."""
    bench = make_bench()

    def ref(k):
        return (k + 1) << 40 | 3

    def add(k, **more):
        return bench.send(make_message("A", order_ref=ref(k), side="B", shares=1, price=BASE, **more))[0]

    for k in range(10):
        assert add(k)["detail"] == 0
    row = add(10)
    assert order(row) == (4, BASE, 1, False)
    assert names(row) == {"STALE", "BID"}
    assert row["bid_qty"] == 10
    row = bench.send(make_message("U", original_order_ref=ref(0), new_order_ref=ref(11), shares=1, price=BASE + 100))[0]
    assert order(row) == (4, BASE + 100, 1, False)      # the old order still took its place
    assert top(row) == (BASE, 9, 0, 0)
    assert add(0)["detail"] == 0
    assert bench.send(make_message("D", 22, order_ref=ref(1)))[0]["detail"] == 1
    assert bench.send(make_message("A", 22, order_ref=ref(1), side="B", shares=1, price=10_000))[0]["detail"] == 4   # buckets are shared
    assert bench.count("book")["table_full"] == 3


def test_wide_references(make_bench, make_message):
    bench = make_bench(preset=Preset(name="narrow", symbols=4, tick_bits=8, index_bits=8, reference_bits=40))
    top_reference, wide = (1 << 40) - 1, 1 << 40

    def send(code, **fields):
        return bench.send(make_message(code, **fields))[0]

    assert send("A", order_ref=top_reference, side="S", shares=9, price=BASE)["detail"] == 0
    assert order(send("A", order_ref=wide, side="S", shares=8, price=BASE)) == (5, BASE, 8, True)
    assert order(send("D", order_ref=wide | top_reference)) == (5, 0, 0, False)
    assert order(send("E", order_ref=1 << 63, executed_shares=3)) == (5, 0, 3, False)
    assert order(send("U", original_order_ref=wide, new_order_ref=1, shares=2, price=BASE + 100)) == (5, BASE + 100, 2, False)
    row = send("U", original_order_ref=top_reference, new_order_ref=wide, shares=2, price=BASE + 100)
    assert order(row) == (5, BASE + 100, 2, True)
    assert names(row) == {"STALE", "SELL"}
    assert bench.count("book") == {"updates": 6, "wide_reference": 5}


def test_digest_by_hand(do):
    first = do.add(1, "B", 10, BASE + 500)
    text = (BASE + 500).to_bytes(4, "little") + (10).to_bytes(4, "little") + bytes(8) + bytes([0b011, 0])
    assert first["digest"] == zlib.crc32(text)
    second = do.delete(7)
    text += text[:16] + bytes([0b100010, 0])
    assert second["digest"] == zlib.crc32(text)
    other = do.add(1, "S", 1, 10_000, locate=22)
    assert other["digest"] == zlib.crc32(bytes(8) + (10_000).to_bytes(4, "little") + (1).to_bytes(4, "little") + bytes([0b10000101, 0]))


def test_sequence_origins_and_take(bench, make_message):
    bench.golden.frame(b"not ours")
    first = bench.send(make_message("D", order_ref=1), make_message("A", 22, order_ref=1, side="B", shares=1, price=1), trailer=b"x")
    assert [r["sequence"] for r in first] == [0, 1]
    assert [r["number"] for r in first] == [1, 2]
    assert bench.golden.origins().tolist() == [(1, 64, 19, 64 + 18), (1, 85, 36, 85 + 35)]
    assert len(bench.golden.take()) == len(bench.golden.origins()) == 0
    assert bench.send(make_message("D", order_ref=1))[0]["sequence"] == 2


def test_cycles_give_times(bench, make_message):
    def frame():
        bench.number += 1
        return udp_frame(bench.payload([make_message("D", order_ref=1)], number=bench.number - 1), (0xE9360C65, 26477))

    assert bench.raw(frame())[0]["t_wire_ns"] == 0
    assert bench.raw(frame(), cycles=1000)[0]["t_wire_ns"] == ns_of_cycle(1000 + (64 + 18) // 4)
    words = [7 * k for k in range(30)]
    assert bench.raw(frame(), cycles=words)[0]["t_wire_ns"] == ns_of_cycle(7 * ((64 + 18) // 4))


def test_describe(do):
    do.add(1, "B", 10, BASE + 500)
    do.add(2, "S", 3, END + 5)
    for k in range(7):
        do.add(10 + k, "S", 1, BASE + 600 + 100 * k)
    text = do.golden.describe(1, levels=2)
    assert text.splitlines()[0].startswith("slot 1 AAA locate 11 base 100.0000 tick 0.0100: not stale, state 0x00, digest 0x")
    assert [line.split()[:2] for line in text.splitlines()[1:]] == [["ask", "outside,"], ["ask", "5"], ["ask", "100.0700"], ["ask", "100.0600"],
                                                                     ["bid", "100.0500"]]
    assert "1:10" in text


@pytest.mark.parametrize("symbols, filters, cause", [
    ([Symbol(4, 1, 0, 100)], [], "slot 4, the small preset has 4"),
    ([Symbol(0, 1, 0, 100), Symbol(0, 2, 0, 100)], [], "two symbols have the same slot"),
    ([Symbol(0, 1, 0, 100), Symbol(1, 1, 0, 100)], [], "two symbols have the same locate"),
    ([], [(1, 1)] * 5, "5 filters, the small preset has 4"),
])
def test_what_does_not_fit(symbols, filters, cause):
    with pytest.raises(ValueError, match=cause):
        Golden(PRESETS["small"], symbols, filters)


@pytest.mark.parametrize("wrong", [dict(slot=-1), dict(locate=1 << 16), dict(base=-1), dict(base=1 << 32), dict(tick=10)])
def test_symbols_out_of_range(wrong):
    with pytest.raises(ValueError, match=f"symbol 0: {next(iter(wrong))}|symbol -1: slot"):
        Symbol(**{**dict(slot=0, locate=1, base=0, tick=100), **wrong})
