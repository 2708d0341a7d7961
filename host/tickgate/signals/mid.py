"""Middles between bid and ask. The size-weighted one is often called microprice; Stoikov's microprice is another thing (``microprice``)."""
import numpy as np


def _there(bid_px, bid_qty, ask_px, ask_qty):
    return (bid_qty > 0) & (ask_qty > 0) & (bid_px < ask_px)


def mid(bid_px, bid_qty, ask_px, ask_qty):
    """``(Pb + Pa) / 2``, in 1e-4 USD; NaN where a side is empty or the book is locked or crossed."""
    bid_px, bid_qty, ask_px, ask_qty = (np.asarray(x, np.float64) for x in (bid_px, bid_qty, ask_px, ask_qty))
    return np.where(_there(bid_px, bid_qty, ask_px, ask_qty), (bid_px + ask_px) / 2, np.nan)


def weighted_mid(bid_px, bid_qty, ask_px, ask_qty):
    """``(Pb qa + Pa qb) / (qb + qa)``, in 1e-4 USD: the more is bid, the nearer to the ask. NaN where a side is empty or the book is locked or crossed."""
    bid_px, bid_qty, ask_px, ask_qty = (np.asarray(x, np.float64) for x in (bid_px, bid_qty, ask_px, ask_qty))
    there = _there(bid_px, bid_qty, ask_px, ask_qty)
    return np.where(there, (bid_px * ask_qty + ask_px * bid_qty) / np.where(there, bid_qty + ask_qty, 1), np.nan)
