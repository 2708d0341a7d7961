"""Synthesis without a vendor tool: yosys maps every hop to the U280's primitives, and an estimate says how fast it may run. ``make synth``."""
