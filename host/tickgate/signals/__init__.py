"""Signals of an order book, each with its formula: functions on arrays of integers (prices in 1e-4 USD, shares), floating-point results.

A row without a value (an empty side, a stale book) is NaN, never a number.
"""
from .imbalance import depth_imbalance
from .microprice import Microprice
from .mid import mid, weighted_mid
from .orderflow import order_flow_imbalance

__all__ = ["Microprice", "depth_imbalance", "mid", "order_flow_imbalance", "weighted_mid"]
