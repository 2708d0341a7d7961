"""Which of Verilator's warnings do not count. All others are errors, for the virtual card and for the benches alike."""

ALLOWED = (
    "-Wno-WIDTHEXPAND",      # Amaranth's operators widen their operands, and yosys writes that down without saying so
    "-Wno-WIDTHTRUNC",       # bit_select becomes a shift of the whole
    "-Wno-CASEINCOMPLETE",   # the default is assigned before the case
    "-Wno-UNSIGNED",         # comparisons of generic parts with a constant 0
)
