"""Trades, trading state, Reg SHO, halts and market phase."""
import pytest

from tickgate.spec.records import FLAGS, state_of
from tickgate.twin import Symbol

STALE, SELL = (1 << FLAGS[name][0] for name in ("STALE", "SELL"))


def test_trade_of_a_hidden_order(bench, make_message):
    buy, sell = bench.send(make_message("P", side="B", shares=300, price=1_234_500), make_message("P", side="S", shares=0xFFFFFFFF, price=0xFFFFFFFF))
    assert (buy["kind"], buy["flags"], buy["qty"], buy["px"], chr(buy["detail"]), buy["slot"]) == ("trade", 0, 300, 1_234_500, "Y", 1)
    assert (sell["flags"], sell["qty"], sell["px"]) == (SELL, 0xFFFFFFFF, 0xFFFFFFFF)
    assert bench.golden.origins()["wire_offset"].tolist() == [64 + 35, 64 + 46 + 35]


def test_cross_has_eight_bytes_of_shares(bench, make_message):
    row, = bench.send(make_message("Q", 22, shares=(1 << 64) - 2, cross_price=77, cross_type="O"))
    assert (row["kind"], row["flags"], row["qty"], row["px"], chr(row["detail"]), row["slot"]) == ("trade", 0, (1 << 64) - 2, 77, "O", 2)
    assert bench.golden.origins()["wire_offset"].tolist() == [64 + 39]


def test_trades_of_a_stale_symbol_say_so(make_bench, make_message):
    bench = make_bench(symbols=[Symbol(3, 11, 0, 100, stale=True)])
    assert [r["flags"] for r in bench.send(make_message("P", side="S"), make_message("Q"), make_message("H"))] == [STALE | SELL, STALE, STALE]
    assert bench.golden.stale == {3}


def test_trade_of_an_execution_comes_even_when_its_order_is_not_known(bench, make_message):
    book, trade = bench.send(make_message("C", order_ref=1, executed_shares=4, printable="Y", execution_price=5))
    assert (book["detail"], trade["qty"], trade["px"], chr(trade["detail"]), trade["flags"]) == (1, 4, 5, "Y", STALE)


@pytest.mark.parametrize("code, trading", [("T", 1), ("Q", 2), ("H", 3), ("P", 4), ("?", 0), ("t", 0), ("\0", 0)])
def test_trading_state(bench, make_message, code, trading):
    bench.send(make_message("H", trading_state="H"))
    row, = bench.send(make_message("H", trading_state=code))
    assert (row["kind"], row["slot"], row["state"], chr(row["detail"]), row["flags"]) == ("status", 1, state_of(trading, 0, 0), code, 0)
    assert bench.golden.origins()["wire_offset"].tolist() == [64 + 19]
    assert bench.send(make_message("D", 22))[0]["state"] == 0


@pytest.mark.parametrize("code, reg_sho", [("0", 0), ("1", 1), ("2", 2), ("3", 0), (" ", 0)])
def test_reg_sho(bench, make_message, code, reg_sho):
    bench.send(make_message("Y", reg_sho_action="1"))
    row, = bench.send(make_message("Y", reg_sho_action=code))
    assert (row["state"], chr(row["detail"])) == (state_of(0, reg_sho, 0), code)


def test_operational_halt_hides_the_trading_state(bench, make_message):
    def state(code, **fields):
        row, = bench.send(make_message(code, **fields))
        return row["state"], chr(row["detail"])

    assert state("H", trading_state="T") == (1, "T")
    assert state("h", market_code="B", halt_action="H") == (1, "H")     # another market's
    assert state("h", market_code="Q", halt_action="H") == (5, "H")
    assert state("H", trading_state="P") == (5, "P")
    assert state("h", market_code="Q", halt_action="?") == (5, "?")
    assert state("h", market_code="X", halt_action="T") == (5, "T")
    assert state("h", market_code="Q", halt_action="T") == (4, "T")
    assert bench.golden.origins()["wire_offset"].tolist() == [64 + 20]


@pytest.mark.parametrize("code, phase", [("O", 1), ("S", 2), ("Q", 3), ("M", 4), ("E", 5), ("C", 6), ("x", 3), ("\0", 3)])
def test_phase(bench, make_message, code, phase):
    bench.send(make_message("S", 0, event_code="Q"))
    row, = bench.send(make_message("S", 0, event_code=code))
    assert (row["kind"], row["slot"], row["state"], chr(row["detail"]), row["flags"], row["digest"]) == ("status", 0xFFFF, phase << 5, code, 0, 0)
    assert bench.golden.origins()["wire_offset"].tolist() == [64 + 11]
    assert [r["state"] for r in bench.send(make_message("D"), make_message("W", 0, breached_level="2"))] == [phase << 5, phase << 5]
    gap, = bench.send(count=0, number=100)
    assert gap["state"] == phase << 5


def test_whole_state(bench, make_message):
    rows = bench.send(make_message("S", 0, event_code="C"), make_message("Y", reg_sho_action="2"), make_message("H", trading_state="P"),
                      make_message("A", order_ref=1, side="B", shares=1, price=1_000_000), make_message("P"))
    assert [r["state"] for r in rows] == [6 << 5, 6 << 5 | 2 << 3, 6 << 5 | 2 << 3 | 4, 6 << 5 | 2 << 3 | 4, 6 << 5 | 2 << 3 | 4]
    assert rows[3]["digest"] == rows[4]["digest"] != 0
    assert rows[1]["digest"] == 0
