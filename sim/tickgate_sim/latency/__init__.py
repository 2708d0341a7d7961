"""Latency in cycles: what the hops declare, summed, and what the virtual card shows, idle and at line rate. ``make latency``."""
