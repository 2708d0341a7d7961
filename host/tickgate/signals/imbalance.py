"""Depth imbalance."""
import numpy as np


def depth_imbalance(bid_qty, ask_qty, decay=1.0):
    """How much more is bid than offered over some levels, from -1 (all offered) to 1 (all bid).

    ``bid_qty``, ``ask_qty``: shares[rows, levels], best level first, 0 where there is none. ``decay`` (above 0, at most 1): weight of a level against the one
    before it::

        I = sum of decay^k (qb(k) - qa(k)) / sum of decay^k (qb(k) + qa(k)),  k = 0 the best level

    NaN where a side has no level. Raises ``ValueError`` for another ``decay``.
    """
    if not 0 < decay <= 1:
        raise ValueError(f"decay must be above 0 and at most 1, not {decay}")
    bid_qty, ask_qty = np.asarray(bid_qty, np.float64), np.asarray(ask_qty, np.float64)
    weight = decay ** np.arange(bid_qty.shape[1])
    bid, ask = bid_qty @ weight, ask_qty @ weight
    there = (bid_qty[:, 0] > 0) & (ask_qty[:, 0] > 0)
    return np.where(there, (bid - ask) / np.where(there, bid + ask, 1), np.nan)
