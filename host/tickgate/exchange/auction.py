"""The price of a cross."""
from typing import NamedTuple


class Clearing(NamedTuple):
    """A cross as it would be: price (1e-4 USD, 0 when nothing trades), shares that trade, and shares left over at that price (above 0: of buyers)."""

    price: int
    shares: int
    imbalance: int


def clearing(orders, reference):
    """The ``Clearing`` of orders: at the price of most volume; of several the one that leaves least over; then nearest to ``reference`` (0: none); then lowest.

    Candidates are the orders' limits, and the reference when all of them are market orders.
    """
    market, limits = [0, 0], ({}, {})
    for order in orders:
        if order.market:
            market[order.sell] += order.shares
        else:
            limits[order.sell][order.price] = limits[order.sell].get(order.price, 0) + order.shares
    prices = sorted(limits[0].keys() | limits[1].keys()) or ([reference] if reference else [])
    demand, supply = market[0] + sum(limits[0].values()), market[1]
    best = None
    for price in prices:
        supply += limits[1].get(price, 0)                     # sellers at this price or lower; demand: buyers at this price or higher
        shares, left = min(demand, supply), demand - supply
        rank = (shares, -abs(left), -abs(price - reference) if reference else 0)
        if best is None or rank > best[0]:
            best = rank, Clearing(price, shares, left)
        demand -= limits[0].get(price, 0)
    if best is None or not best[1].shares:
        return Clearing(0, 0, market[0] + sum(limits[0].values()) - market[1] - sum(limits[1].values()))
    return best[1]


def priority(orders, sell):
    """One side's orders as they trade in a cross: market orders first, then by price, visible before hidden, then by age."""
    return sorted((o for o in orders if o.sell == sell),
                  key=lambda o: (not o.market, 0 if o.market else o.price if sell else -o.price, not o.visible, o.reference))
