"""``make synth``: every hop and the whole core through yosys, with gates. Writes docs/synth.md and build/synth/summary.json.

    python -m tickgate_sim.synth [--preset full] [--hops net,book] [--paths 5] [--check]

Without ``--hops`` all are done and the page is written; with them, or with another preset, they are only printed. Exit status: 0 when every gate holds,
1 when one does not, or with ``--check`` when the page is not what was found.
"""
import argparse
import json
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tickgate.spec.presets import PRESETS

from .flow import synthesise
from .parts import FAST_PATH, HOPS
from .report import PAGE, Hop, failures, page, summary

BUILD = Path("build/synth")
SLOWEST_FIRST = ("core", "book", "book/ladder", "book/table")


def _one(name, preset, paths):
    return Hop(name, name in FAST_PATH, *synthesise(name, PRESETS[preset], BUILD, paths))


def main(arguments=None):
    options = argparse.ArgumentParser(prog="python -m tickgate_sim.synth", description=__doc__.splitlines()[0])
    options.add_argument("--preset", default="full", choices=PRESETS)
    options.add_argument("--hops", help="some of " + ",".join(HOPS))
    options.add_argument("--paths", type=int, default=1, help="worst paths to show")
    options.add_argument("--check", action="store_true", help="fail when docs/synth.md is not what is found")
    options = options.parse_args(arguments)
    names = options.hops.split(",") if options.hops else list(HOPS)
    for name in names:
        if name not in HOPS:
            sys.exit(f"no hop {name!r}: there are {', '.join(HOPS)}")
    order = sorted(names, key=lambda name: SLOWEST_FIRST.index(name) if name in SLOWEST_FIRST else len(SLOWEST_FIRST))
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        futures = {name: pool.submit(_one, name, options.preset, options.paths) for name in order}
        hops = []
        for name in names:
            hops.append(hop := futures[name].result())
            print(hop.line(), flush=True)
            for path in hop.estimates["typical"].worst if options.paths > 1 else ():
                print(f"    {path.period} ps, {path.levels} levels: {path.start} -> {path.end}: {' '.join(path.cells)}")
    failed = failures(hops)
    for text in failed:
        print(f"GATE: {text}", file=sys.stderr)
    if not options.hops and options.preset == "full":
        BUILD.mkdir(parents=True, exist_ok=True)
        (BUILD / "summary.json").write_text(json.dumps(summary(hops, PRESETS[options.preset], failed), indent=1) + "\n")
        text = page(hops, PRESETS[options.preset])
        if options.check and PAGE.read_text() != text:
            failed.append("stale page")
            print(f"{PAGE} is stale: make synth writes it", file=sys.stderr)
        elif not options.check:
            PAGE.write_text(text)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
