"""Simulation of the core: the virtual card, random streams, and what the benches share."""
