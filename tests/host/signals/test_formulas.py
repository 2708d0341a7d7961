"""The formulas of ``tickgate.signals``, against the words of their sources."""
import math
import random

import numpy as np
import pytest

from tickgate.signals import Microprice, depth_imbalance, mid, order_flow_imbalance, weighted_mid


def one(function, *quotes):
    return function(*([x] for x in quotes))[0]


def flow(before, after):
    return order_flow_imbalance([[x] for x in before], [[x] for x in after])[0]


@pytest.mark.parametrize(("before", "after", "expected"), [
    ((100_000, 100, 100_200, 100), (100_100, 30, 100_200, 100), 30),     # the bid rises: all of it is new; quantities alone would say -70
    ((100_100, 30, 100_200, 100), (100_000, 100, 100_200, 100), -30),    # the bid falls: the old one is gone
    ((100_000, 100, 100_200, 100), (100_000, 70, 100_200, 100), -30),
    ((100_000, 100, 100_200, 100), (100_000, 100, 100_200, 160), -60),   # more is offered
    ((100_000, 100, 100_200, 100), (100_000, 100, 100_100, 40), -40),    # the ask falls: new supply
    ((100_000, 100, 100_200, 100), (100_000, 100, 100_300, 40), 100),    # the ask rises: the old supply is gone
    ((100_000, 100, 100_200, 100), (100_100, 30, 100_300, 40), 130),
    ((100_000, 100, 100_200, 100), (100_000, 100, 100_200, 100), 0),
    ((100_000, 4_294_967_295, 100_200, 1), (100_100, 4_294_967_295, 100_200, 1), 4_294_967_295)])
def test_order_flow_imbalance(before, after, expected):
    assert flow(before, after) == expected


def test_order_flow_imbalance_is_odd_under_the_mirror():
    """Bid and ask changed, prices turned round: the sign changes, nothing else."""
    seed = 3
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    quotes = [np.array([rng.integers(90, 100, 500), rng.integers(1, 9, 500), rng.integers(100, 110, 500), rng.integers(1, 9, 500)]) for _ in range(2)]
    mirrored = [[-ask_px, ask_qty, -bid_px, bid_qty] for bid_px, bid_qty, ask_px, ask_qty in quotes]
    values = order_flow_imbalance(*quotes)
    assert (order_flow_imbalance(*mirrored) == -values).all() and len(set(values)) > 10


@pytest.mark.parametrize("empty", [1, 3])
def test_empty_side_is_no_number(empty):
    quotes = [100_000, 100, 100_200, 100]
    hole = list(quotes)
    hole[empty] = 0
    assert math.isnan(flow(quotes, hole)) and math.isnan(flow(hole, quotes)) and flow(quotes, quotes) == 0
    assert math.isnan(one(mid, *hole)) and math.isnan(one(weighted_mid, *hole))
    assert Microprice().states(*([x] for x in hole))[0] == -1
    assert math.isnan(depth_imbalance([[hole[1], 50]], [[hole[3], 50]])[0])


def test_depth_imbalance():
    assert depth_imbalance([[300, 0, 50]], [[100, 0, 0]])[0] == pytest.approx(250 / 450)
    assert depth_imbalance([[300, 80, 0]], [[100, 40, 400]], 0.5)[0] == pytest.approx((300 + 40 - 100 - 20 - 100) / (300 + 40 + 100 + 20 + 100))
    for decay in (0, -1, 1.1):
        with pytest.raises(ValueError, match="decay must be above 0 and at most 1"):
            depth_imbalance([[1]], [[1]], decay)


def test_mids():
    assert one(mid, 100_000, 1, 100_100, 5) == 100_050
    assert one(weighted_mid, 100_000, 300, 100_100, 100) == 100_075     # more is bid: nearer to the ask
    for bid in (100_100, 100_200):
        assert math.isnan(one(mid, bid, 1, 100_100, 1)) and math.isnan(one(weighted_mid, bid, 1, 100_100, 1))


def quotes(seed, n):
    """A random walk whose mid follows the imbalance, now and then one-sided or wide."""
    rng, bid, spread, out = random.Random(seed), 1000, 1, []
    for _ in range(n):
        bid_qty, ask_qty = rng.randint(1, 9), rng.randint(1, 9)
        out.append((bid * 100, 0 if rng.random() < 0.01 else bid_qty, (bid + spread) * 100, ask_qty))
        if rng.random() < 0.4:
            bid += 1 if rng.random() < bid_qty / (bid_qty + ask_qty) else -1
        spread = rng.choice((1, 1, 1, 2, 5))
    return out


def test_microprice_is_the_sum_of_the_series():
    """Counted step by step and summed term by term."""
    seed, buckets, spreads, tick = 5, 3, 2, 100
    print(f"seed {seed}")
    rows = quotes(seed, 4000)

    def state(row):
        bid_px, bid_qty, ask_px, ask_qty = row
        spread = -(-(ask_px - bid_px) // tick)
        return None if not bid_qty or spread > spreads else (min(bid_qty * buckets // (bid_qty + ask_qty), buckets - 1), spread)

    names = [(i, s) for i in range(buckets) for s in range(1, spreads + 1)]
    place = {name: k for k, name in enumerate(names)}
    stays, moves, moved = np.zeros((6, 6)), np.zeros((6, 6)), np.zeros(6)
    for a, b in zip(rows, rows[1:]):
        if (x := state(a)) is None or (y := state(b)) is None:
            continue
        step = (b[0] + b[2]) / 2 - (a[0] + a[2]) / 2
        for x_, y_, step_ in ((x, y, step), ((buckets - 1 - x[0], x[1]), (buckets - 1 - y[0], y[1]), -step)):
            (stays if step_ == 0 else moves)[place[x_], place[y_]] += 1
            moved[place[x_]] += step_
    count = (stays + moves).sum(axis=1)
    leave = np.linalg.inv(np.eye(6) - stays / count[:, None])
    term, total = leave @ (moved / count), np.zeros(6)
    for _ in range(500):
        total += term
        term = leave @ (moves / count[:, None]) @ term
    assert abs(term).max() < 1e-9
    model = Microprice(buckets, spreads, tick)
    for k in range(0, len(rows), 700):                      # in pieces
        model.observe(*zip(*rows[k:k + 700]))
    model.fit()
    assert model.adjustment == pytest.approx(total, abs=1e-6) and abs(total).max() > 1
    assert model.adjustment[place[2, 1]] > 0 > model.adjustment[place[0, 1]]             # more is bid: the mid will rise
    assert model.adjustment == pytest.approx(-model.adjustment[model.mirror], abs=1e-9)
    bid_px, bid_qty, ask_px, ask_qty = (np.array(x) for x in zip(*rows))
    price = model.price(bid_px, bid_qty, ask_px, ask_qty)
    for k, row in enumerate(rows):
        x = state(row)
        assert math.isnan(price[k]) if x is None else price[k] == pytest.approx((row[0] + row[2]) / 2 + total[place[x]])
    assert np.isnan(price).sum() > 100


def test_microprice_without_a_move_has_no_value():
    model = Microprice(3, 2)
    assert np.isnan(model.fit().adjustment).all()
    model.observe([100_000] * 9, [1] * 9, [100_100] * 9, [1] * 9)
    assert np.isnan(model.fit().adjustment).all()
    model.observe([100_100], [1], [100_200], [1])
    assert not np.isnan(model.fit().adjustment).all()


def test_interrupted_rows_are_no_step():
    model = Microprice(3, 2)
    model.observe([100_000], [1], [100_100], [1])
    model.interrupt()
    model.observe([100_100], [1], [100_200], [1])
    assert not model.moves.any() and not model.stays.any()


def test_microprice_parameters():
    for arguments in ((0, 1, 1), (1, 0, 1), (1, 1, 0)):
        with pytest.raises(ValueError, match="must be at least 1"):
            Microprice(*arguments)
