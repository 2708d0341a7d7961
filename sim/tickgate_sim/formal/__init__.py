"""Proofs of gateware with nothing but Python packages: Amaranth writes RTLIL, yosys an and-inverter graph, and ABC (inside the same yosys) proves or refutes.

A proof is a function that gets a ``Bench``, puts a part on it and says what always holds; ``@proof`` declares it. Proofs live below ``tests/formal``, a
folder a hop. Every input of the part is free in every cycle unless the function drives it, registers begin at their init values.

    make formal                                  all proofs, their covers and their mutants; build/formal/summary.json, docs/proofs.md
    python -m tickgate_sim.formal stream book/ladder --mutants 0      some of them

Engines: ``pdr`` (property directed reachability) and ``ind`` (induction over ``depth`` cycles) prove for all times; ``bmc3`` tries every input for
``depth`` cycles from reset. ``pdr`` suits control, ``ind`` arithmetic without feedback.
Against proofs of nothing there are two guards. Every ``cover`` must be reached, under the same assumptions. Every mutant, a text of the gateware's
source that is replaced before the proof runs, must be refuted.
"""
from .bench import Bench, FormalError, proof

__all__ = ["Bench", "FormalError", "proof"]
