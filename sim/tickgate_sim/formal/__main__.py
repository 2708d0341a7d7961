"""``python -m tickgate_sim.formal``: find proofs, run them and their mutants on all cores, write summary and page."""
import argparse
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from .bench import FormalError, Mutant, Proof
from .engine import BUILD, ROOT, run, shown

ROOMS = ROOT / "tests" / "formal"


def find(names=()):
    """Proofs by name, ``hop/part/function``; all, or those whose names begin with one of ``names``. Only their files are imported."""
    wanted = [f"{n.strip('/')}/" for n in names]
    found = {}
    for path in sorted(ROOMS.glob("*/*.py")):
        part = f"{path.parent.name}/{path.stem}"
        if wanted and not any(f"{part}/".startswith(w) or w.startswith(f"{part}/") for w in wanted):
            continue
        spec = importlib.util.spec_from_file_location(f"formal_{path.parent.name}_{path.stem}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for attribute, value in vars(module).items():
            name = f"{part}/{attribute}"
            if isinstance(value, Proof) and (not wanted or any(f"{name}/".startswith(w) for w in wanted)):
                found[name] = replace(value, name=name)
    for n, w in zip(names, wanted):
        if not any(f"{name}/".startswith(w) for name in found):
            raise FormalError(f"no proof is named {n}")
    return found


class _Mutated(importlib.abc.MetaPathFinder):
    """Loads one module with a text replaced."""

    def __init__(self, mutant):
        self.mutant = mutant

    def find_spec(self, name, path, target=None):
        if name != self.mutant.module:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        source = Path(spec.origin).read_text()
        if source.count(self.mutant.old) != 1:
            raise FormalError(f"mutant of {name}: its text occurs {source.count(self.mutant.old)} times, not once: {self.mutant.old}")
        code = compile(source.replace(self.mutant.old, self.mutant.new), spec.origin, "exec")
        spec.loader.get_code = lambda _name: code
        return spec


def run_apart(proof, number=None):
    """``run`` in a process of its own: only so can a mutant be what all of it imports. Adds ``name`` and, of a mutant, ``mutant``."""
    task = {"name": proof.name, "number": number, "mutant": None if number is None else list(vars(proof.mutants[number]).values())}
    python = [str(ROOT / folder) for folder in ("host", "hdl", "sim")]
    done = subprocess.run([sys.executable, "-m", "tickgate_sim.formal", "--task", json.dumps(task)], capture_output=True, text=True,
                          env={**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": os.pathsep.join(python)})
    if done.returncode:
        result = {"status": (done.stderr.strip().splitlines() or ["it ended without a word"])[-1], "depth": 0, "seconds": 0}
    else:
        result = json.loads(done.stdout.splitlines()[-1])
    return {"name": proof.name, "engine": f"abc {proof.engine}", "mode": proof.mode} | ({} if number is None else {"mutant": number}) | result


def passes(result):
    """A proof holds, a mutant does not."""
    return result["status"] == "refuted" if "mutant" in result else result["status"] in ("proved", "bounded")


def pages(proofs, results):
    """Text of docs/proofs.md."""
    lines = [PAGE]
    for hop in dict.fromkeys(name.split("/")[0] for name in proofs):
        lines += ["", f"## {hop}", "| proof | says | engine | cycles | seconds | mutants refuted |", "|---|---|---|---|---|---|"]
        for name, p in proofs.items():
            if name.startswith(f"{hop}/"):
                mine = [r for r in results if r["name"] == name]
                own = next(r for r in mine if "mutant" not in r)
                refuted = [r for r in mine if r.get("status") == "refuted"]
                bound = "all" if own["status"] == "proved" else own["depth"]
                lines.append(f"| {name.partition('/')[2]} | {p.says} | abc {p.engine} | {bound} | {own['seconds']:.0f} | {len(refuted)} of {len(p.mutants)} |")
    return "\n".join(lines) + "\n"


PAGE = """# Proofs

Written by `make formal`; do not edit. Each row is a function below `tests/formal` that says what always holds of a part, whatever its inputs do within
the assumptions that its text names. `cycles`: all, or how many from reset on. A mutant is a fault put into the gateware's source; the proof must
refute it. Parts are small here (`tests/formal` has the sizes), the text of the gateware is the same. What each proof says by property, and which
states it reaches, so that it is no proof of nothing, is in its function. Seconds are of the machine it was written on."""


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m tickgate_sim.formal", description="Prove the gateware.")
    parser.add_argument("names", nargs="*", help="proofs, by the beginning of their names: book, book/table; all")
    parser.add_argument("--mutants", type=int, choices=(0, 1), default=1, help="also refute the mutants of each (1)")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="processes (cores)")
    parser.add_argument("--summary", type=Path, default=BUILD / "summary.json", help="where the results go")
    parser.add_argument("--page", type=Path, help="also write docs/proofs.md, or another file of this form")
    parser.add_argument("--task", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    try:
        if options.task:
            task = json.loads(options.task)
            if task["mutant"]:
                sys.meta_path.insert(0, _Mutated(Mutant(*task["mutant"])))
            print(json.dumps(run(find([task["name"]])[task["name"]], task["number"])))
            return 0
        return _all(options)
    except FormalError as error:
        print(f"formal: {error}", file=sys.stderr)
        return 2


def _all(options):
    if options.page and (options.names or not options.mutants):
        raise FormalError("the page is of all proofs and mutants")
    proofs = find(options.names)
    tasks = [(p, k) for p in proofs.values() for k in (None, *range(len(p.mutants) if options.mutants else 0))]
    results, began = [], time.monotonic()
    with ThreadPoolExecutor(options.jobs) as pool:
        for result in pool.map(lambda task: run_apart(*task), tasks):
            results.append(result)
            what = result["name"] + (f" mutant {result['mutant']}" if "mutant" in result else "")
            more = "" if "false" not in result else f" in cycle {result['cycle']}: {', '.join(result['false'])} ({result['trace']})"
            print(f"{'ok' if passes(result) else 'FAILED':7}{what}: {result['status']}{more}, {result['seconds']:.1f} s", flush=True)
    for r in results:
        r["seconds"] = round(r["seconds"], 1)
    own = [{key: r[key] for key in ("name", "engine", "mode", "depth", "seconds", "status")} |
           ({"mutants": [{key: m[key] for key in ("mutant", "status", "false", "seconds") if key in m} for m in results
                         if m["name"] == r["name"] and "mutant" in m]} if options.mutants else {}) for r in results if "mutant" not in r]
    options.summary.parent.mkdir(parents=True, exist_ok=True)
    options.summary.write_text(json.dumps(own, indent=1) + "\n")
    failed = [r for r in results if not passes(r)]
    print(f"{len(own)} proofs, {len(results) - len(own)} mutants, {len(failed)} failed, {time.monotonic() - began:.0f} s: {shown(options.summary)}")
    if options.page and not failed:
        options.page.write_text(pages(proofs, results))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
