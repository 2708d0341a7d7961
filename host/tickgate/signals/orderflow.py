"""Order-flow imbalance.

Source: R. Cont, A. Kukanov, S. Stoikov, "The Price Impact of Order Book Events", Journal of Financial Econometrics 12 (2014), section 2.
"""
import numpy as np


def order_flow_imbalance(before, after):
    """What the best quotes' change from ``before`` to ``after`` adds to buying pressure, in shares; positive: demand grew or supply shrank.

    Both are ``(bid_px, bid_qty, ask_px, ask_qty)``, arrays of one length, quantity 0 where a side is empty. With b the bid, a the ask, P price, q quantity,
    n the row and [x] 1 where x holds, else 0::

        e(n) = [Pb(n) >= Pb(n-1)] qb(n) - [Pb(n) <= Pb(n-1)] qb(n-1) - [Pa(n) <= Pa(n-1)] qa(n) + [Pa(n) >= Pa(n-1)] qa(n-1)

    The imbalance of an interval is the sum of its rows. NaN where one of the four sides is empty. (The change of the two quantities alone, or buys minus
    sells, are other things that go by this name.)
    """
    (bid_px0, bid_qty0, ask_px0, ask_qty0), (bid_px1, bid_qty1, ask_px1, ask_qty1) = ([np.asarray(x, np.int64) for x in side] for side in (before, after))
    flow = ((bid_px1 >= bid_px0) * bid_qty1 - (bid_px1 <= bid_px0) * bid_qty0
            - (ask_px1 <= ask_px0) * ask_qty1 + (ask_px1 >= ask_px0) * ask_qty0)
    there = (bid_qty0 > 0) & (bid_qty1 > 0) & (ask_qty0 > 0) & (ask_qty1 > 0)
    return np.where(there, flow, np.nan)
