"""Registers: banks made from the tables of ``tickgate.spec.registers``, behind one AXI4-Lite slave."""
