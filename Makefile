# Every target sets up what it needs (scripts/setup.sh); a second run starts at once. Variables, given as `make sim CAPTURE=day.itch.gz`:
#   PYTHON   Python 3.11 or newer to use (python3.13, python3.12, python3.11 or python3, the first on PATH)
#   CAPTURE  sim: the capture to replay (the shipped sample)
#   SYMBOLS  sim: AAPL,MSFT or top:16         PRESET  sim: size of the core (demo)
#   LIMIT    sim: ITCH messages to replay     WAVES   sim: 1 writes build/sim/waves.fst
#   TESTS    test, test-slow: files or folders (tests)
#   JOBS     test, test-slow: processes (auto)
#   PROOFS   formal: book, book/table        CHECK    emit, synth, latency: 1 only checks that the pages are fresh

PRESET ?= demo
TESTS ?= tests
JOBS ?= auto

BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest -n $(JOBS) --dist loadfile

# Amaranth writes the same Verilog everywhere only with its own yosys and a fixed order of sets.
export AMARANTH_USE_YOSYS := builtin
export PYTHONHASHSEED := 0

.PHONY: help setup sim test test-slow rtl formal synth latency lint emit lock bench clean

help:  ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' $(MAKEFILE_LIST) | while IFS='	' read -r name what; do printf '  make %-10s %s\n' "$$name" "$$what"; done
	@sed -n '/^#   /s/^# //p' $(MAKEFILE_LIST)

setup:
	@scripts/setup.sh "$(PYTHON)"

sim: setup  ## replay a capture through the virtual card and compare every record with the twin
	@mkdir -p build/sim
	@capture="$(CAPTURE)"; : "$${capture:=$$($(BIN)/python -c 'from tickgate.capture import sample_path; print(sample_path())')}"; \
	$(if $(filter 1,$(WAVES)),TICKGATE_WAVES=build/sim/waves.fst) $(BIN)/tickgate replay "$$capture" --preset "$(PRESET)" \
	    $(if $(SYMBOLS),--symbols "$(SYMBOLS)") $(if $(LIMIT),--limit "$(LIMIT)") --json build/sim/summary.json --report build/sim/report.html

test: setup  ## all tests but the slow ones
	@$(PYTEST) $(TESTS)

test-slow: setup  ## the slow tests: minutes to hours, see CONTRIBUTING.md for how to shorten them
	@$(PYTEST) -m slow $(TESTS)

rtl: setup  ## the RTL benches alone: cocotb and Verilator on each hop
	@$(PYTEST) tests/rtl

synth: setup  ## every hop through yosys: resources, logic levels, estimate of the clock, gates; docs/synth.md, build/synth/summary.json
	@$(BIN)/python -m tickgate_sim.synth $(if $(CHECK),--check)

formal: setup  ## proofs of the gateware, and for each the faults that it must find; docs/proofs.md, build/formal/summary.json (PROOFS=book/table: some)
	@$(BIN)/python -m tickgate_sim.formal $(if $(PROOFS),$(PROOFS),--page docs/proofs.md)

latency: setup  ## cycles of every book message, idle and at line rate, on the virtual cards full and wide; docs/latency.md, build/latency/summary.json
	@$(BIN)/python -m tickgate_sim.latency $(if $(CHECK),--check)

lint: setup  ## ruff on everything
	@$(BIN)/ruff check .

emit: setup  ## write the generated files anew from tickgate.spec: C header, register and message pages
	@$(BIN)/python -m tickgate.spec.emit $(if $(CHECK),--check)

lock: setup  ## resolve the dependencies anew and write requirements/dev.lock
	@scripts/lock.sh "$(PYTHON)"

bench: setup  ## measure the fast twin beside its peers: docs/bench.md, build/bench/summary.json
	@$(BIN)/python -m pip install -q --disable-pip-version-check --no-build-isolation -c requirements/dev.lock -e ".[bench]"
	@$(BIN)/python -m bench.run

clean:  ## remove what was built; the environment in .venv stays
	rm -rf build
