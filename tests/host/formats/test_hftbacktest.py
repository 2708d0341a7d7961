"""Event arrays: their rows, and what hftbacktest makes of them."""
import datetime
import json

import numpy as np
import pytest

from tickgate.capture.session import midnight_ns
from tickgate.formats.orders import Orders
from tickgate.spec.events import HFTBACKTEST, HFTBACKTEST_FLAGS, HFTBACKTEST_KINDS

KIND = {code: name for name, code in HFTBACKTEST_KINDS.items()}
BUY, SELL = 1 << HFTBACKTEST_FLAGS["buy"], 1 << HFTBACKTEST_FLAGS["sell"]


@pytest.fixture
def array(itch, run, tmp_path):
    assert run(itch, tmp_path / "x.npz", "--symbol", "ALFA")[0] == 0
    with np.load(tmp_path / "x.npz", allow_pickle=False) as file:
        metadata = json.loads(str(file["metadata"]))
        assert metadata["source"] == str(itch) and metadata["schema_version"] == "1"
        return file["data"]


def test_rows_make_the_same_orders(array, itch, read):
    assert array.dtype == HFTBACKTEST and len(array) > 500
    events, _ = read(itch)
    orders = Orders()
    orders.complete(events[events["locate"] == 1])
    live, traded = {}, 0
    for ev, exchange, local, px, qty, reference, *_ in array.tolist():
        kind, side = KIND[ev & 0xFF], ev & (BUY | SELL)
        assert local >= exchange and ev >> 30 == 3
        if kind == "add":
            assert reference not in live
            live[reference] = [side, px, qty]
        elif kind == "modify":
            assert qty < live[reference][2] and live[reference][:2] == [side, px]
            live[reference][2] = qty
        elif kind == "cancel":
            assert live.pop(reference)[:2] == [side, px]
        elif kind == "fill":
            assert live[reference][0] == side
        elif kind == "trade":
            traded += qty
        else:
            assert kind == "clear" and not live
    assert {r: [o[0] == BUY, round(o[1] * 10_000), o[2]] for r, o in live.items()} == {
        ref: [o[0] == ord("B"), o[1], o[3]] for (locate, ref), o in orders.live.items()}
    its = events[events["locate"] == 1]
    assert traded == its["quantity"][np.isin(its["action"], list(b"ECPQ"))].sum() > 0
    midnight = midnight_ns(datetime.date(2026, 3, 2))
    assert (np.diff(array["exch_ts"]) >= 0).all() and array["exch_ts"][-1] - midnight <= its["time_ns"].max() < 10 ** 14


def test_one_symbol(itch, refused, tmp_path):
    assert "holds one symbol, and there are ALFA, BRAVO" in refused(itch, tmp_path / "x.npz")


def test_the_library_builds_the_twins_book(array, itch, run, read, tmp_path):
    hftbacktest = pytest.importorskip("hftbacktest")
    from hftbacktest.data import validate_event_order
    from hftbacktest.types import event_dtype

    from .test_itch import books

    assert array.dtype == event_dtype
    validate_event_order(array)
    asset = (hftbacktest.BacktestAsset().data([str(tmp_path / "x.npz")]).linear_asset(1.0).constant_order_latency(0, 0).l3_fifo_queue_model()
             .no_partial_fill_exchange().trading_value_fee_model(0, 0).tick_size(0.0001).lot_size(1.0))
    backtest = hftbacktest.HashMapMarketDepthBacktest([asset])
    events, source = read(itch)
    events = events[events["locate"] == 1]
    _, book = books()
    its, at, compared, step = book(1), 0, 0, 20 * 60 * 10 ** 9
    origin = int(array["local_ts"][0])
    time = int(events["time_ns"][np.isin(events["action"], list(b"AEDX"))][0])
    assert origin == time + source.midnight_ns or origin == events["time_ns"][0] + source.midnight_ns
    now = origin
    while backtest.elapse(step) == 0:
        now += step
        while at < len(events) and events["time_ns"][at] + source.midnight_ns <= backtest.current_timestamp:
            event, at = events[at], at + 1
            action, reference, amount, price = chr(event["action"]), *(int(event[n]) for n in ("reference", "quantity", "price"))
            if action == "A":
                its.add(reference, int(event["side"] == ord("S")), amount, price)
            elif action in "ECX":
                its.reduce(reference, amount)
            elif action == "D":
                its.delete(reference)
            elif action == "U":
                its.replace(reference, int(event["new_reference"]), amount, price)
        snapshot, depth = its.snapshot(), backtest.depth(0)
        if snapshot.bids and snapshot.asks and snapshot.bids[0].price < snapshot.asks[0].price:
            assert (round(depth.best_bid * 10_000), round(depth.best_ask * 10_000)) == (snapshot.bids[0].price, snapshot.asks[0].price)
            assert (depth.best_bid_qty, depth.best_ask_qty) == (snapshot.bids[0].quantity, snapshot.asks[0].quantity)
            compared += 1
    backtest.close()
    assert compared > 5
