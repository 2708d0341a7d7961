"""``make bench``: the fast twin beside what else can be installed, on the same files, interleaved, a process each.

Writes build/bench/summary.json (every figure measured) and docs/bench.md. ``ROUNDS``: how often each program runs; ``MESSAGES``: of the files.
"""
import json
import os
import platform
import statistics
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from .generate import day

ROOT = Path(__file__).resolve().parents[1]
BUILD, PAGE = ROOT / "build" / "bench", ROOT / "docs" / "bench.md"
MESSAGES, SEED = int(os.environ.get("MESSAGES", 5_000_000)), 1
SLOW = 200_000            # messages for programs that take a microsecond each and more
PEERS = ("itch-book", "itchcpp", "itchfeed", "meatpy")

#: Task: file, and its programs: function of ``contestants``, distribution, whether it gets the short file.
TASKS = {
    "count": ("500", [("tickgate_count", "tickgate", False), ("itch_book_count", "itch-book", False), ("itchcpp_count", "itchcpp", True),
                      ("itchfeed_count", "itchfeed", True), ("meatpy_count", "meatpy", True)]),
    "l3": ("500", [("tickgate_l3", "tickgate", False), ("itch_book_l3", "itch-book", False)]),
    "l3_rows": ("500", [("tickgate_rows", "tickgate", False), ("itch_book_bbo", "itch-book", False)]),
    "l3_wide": ("8000", [("tickgate_l3", "tickgate", False), ("itch_book_l3", "itch-book", False)]),
    "l2": ("500", [("tickgate_l2", "tickgate", False)]),
}
RATIOS = {"count_vs_best_pypi": "count", "l3_vs_itch_book": "l3", "l3_rows_vs_itch_book_bbo": "l3_rows", "l3_wide_vs_itch_book": "l3_wide"}
TITLES = {"count": "count messages by type, 500 symbols", "l3": "L3 book, 500 symbols", "l3_rows": "L3 book with best-bid-and-offer rows, 500 symbols",
          "l3_wide": "L3 book, 8,000 symbols", "l2": "L2 book, 500 symbols"}


def files():
    """The synthetic days, made when they are not there: path by name."""
    BUILD.mkdir(parents=True, exist_ok=True)
    made = {}
    for name, symbols, messages in (("500", 500, MESSAGES), ("8000", 8000, MESSAGES), ("500 short", 500, SLOW)):
        made[name] = BUILD / f"{symbols}_symbols_{messages}_messages_seed_{SEED}.itch"
        if not made[name].exists():
            print(f"making {made[name].name}", file=sys.stderr)
            part = made[name].with_suffix(".part")
            part.write_bytes(day(messages, symbols, SEED))
            part.replace(made[name])
    return made


def run(function, path):
    """One measurement, or None when the program is not installed here."""
    done = subprocess.run([sys.executable, "-m", "bench.contestants", function, str(path)], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        if "ModuleNotFoundError" in last:
            return None
        raise SystemExit(f"bench: {function} on {path.name}: {last}")
    return json.loads(done.stdout)


def measure(rounds):
    """Every program's figures by task, in turn, so that a noisy moment of the machine meets all of them."""
    paths, raw = files(), {}
    for round_ in range(rounds):
        for task, (name, programs) in TASKS.items():
            for function, distribution, is_slow in programs:
                result = run(function, paths[f"{name} short" if is_slow else name])
                if result is not None:
                    raw.setdefault(task, {}).setdefault(distribution, []).append(result)
        print(f"round {round_ + 1} of {rounds}", file=sys.stderr)
    return raw


def check(raw):
    """Programs with the same task on the same file must have found the same."""
    for task, programs in raw.items():
        found = {}
        for distribution, results in programs.items():
            for result in results:
                if result["check"] is not None:
                    found.setdefault(result["messages"], {}).setdefault(result["check"], set()).add(distribution)
        for messages, checks in found.items():
            if len(checks) > 1:
                raise SystemExit(f"bench: {task} of {messages} messages: results differ: {checks}")


def median_ns(results, what):
    return statistics.median(r[what] * 1e9 / r["messages"] for r in results)


def summarise(raw, rounds):
    """What is written to summary.json."""
    ns = {task: {distribution: {"ns_per_message": round(median_ns(results, "seconds"), 2), "cpu_ns_per_message": round(median_ns(results, "cpu"), 2)}
                 for distribution, results in programs.items()} for task, programs in raw.items()}
    ratios, clock_ratios = {}, {}
    for name, task in RATIOS.items():
        for out, what in ((ratios, "cpu_ns_per_message"), (clock_ratios, "ns_per_message")):
            others = [figures[what] for distribution, figures in ns[task].items() if distribution != "tickgate"]
            if others:
                out[name] = round(min(others) / ns[task]["tickgate"][what], 2)
    return {"messages": MESSAGES, "rounds": rounds, "ns": ns, "ratios": ratios, "ratios_by_the_clock": clock_ratios, "versions": versions(),
            "method": "medians of CPU time a message, fresh processes, interleaved; ratios > 1: the twin is faster", "raw": raw}


def versions():
    found = {"python": platform.python_version(), "processor": processor(), "cores": os.cpu_count()}
    for name in ("tickgate", "numba", "numpy", *PEERS):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return found


def processor():
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def page(summary):
    """docs/bench.md."""
    text = [HEAD.format(**summary)]
    text.append("| what | program | CPU ns a message | clock ns a message | CPU time of the twin × |\n|---|---|---|---|---|")
    for task, programs in summary["ns"].items():
        own = programs["tickgate"]["cpu_ns_per_message"]
        for distribution, figures in programs.items():
            times = "" if distribution == "tickgate" else f"{figures['cpu_ns_per_message'] / own:.1f}"
            text.append(f"| {TITLES[task]} | {distribution} {summary['versions'][distribution] or ''} | {figures['cpu_ns_per_message']:.1f} | "
                        f"{figures['ns_per_message']:.1f} | {times} |")
    text.append("\n| ratio | aim | by CPU time | by the clock |\n|---|---|---|---|")
    for name, ratio in summary["ratios"].items():
        text.append(f"| `{name}` | {AIMS[name]} | {ratio} | {summary['ratios_by_the_clock'][name]} |")
    missing = [name for name in PEERS if summary["versions"][name] is None]
    text.append("\n" + (f"Not installed here and left out: {', '.join(missing)}.\n" if missing else "")
                + "Versions: " + ", ".join(f"{k} {v}" for k, v in summary["versions"].items() if v) + ".")
    return "\n".join(text) + "\n"


AIMS = {"count_vs_best_pypi": 100, "l3_vs_itch_book": 2.5, "l3_rows_vs_itch_book_bbo": 3, "l3_wide_vs_itch_book": 3}
HEAD = """# How fast the twin is

Written by `make bench`, which measures anew; `build/bench/summary.json` has every single figure. No test looks at a time.

Method: two synthetic days of {messages:,} messages (`bench/generate.py`, seed 1; 500 and 8,000 symbols, a few of which have most of the messages) are
made once. Every program runs {rounds} times in a fresh process, all in turn. The file is in memory before the watch starts; start-up, imports and the
loading of compiled code are outside of it, growing the book's arrays is inside. Medians; CPU time decides, since other work on the machine
stretches the clock. Programs that need a microsecond a message and more get the first 200,000 messages of such a day.
What the programs find must agree: messages by type, and the best-bid-and-offer rows (those left out that repeat their symbol's row before).
Both keep all their rows as arrays; `itch-book` is fed 4 MiB at a time, as its own command does, the twin at once.

The peers are what a Python user can install: `itch-book` (C++ core; it has no count of its own, what is measured is its message statistics,
for which it builds its books), `itchcpp` (C++ parser, an object a message), `itchfeed` and `meatpy` (Python).
Memory on a day with 100 million order references is what `python -m bench.references` prints: it follows the live orders.
"""


def main():
    rounds = int(os.environ.get("ROUNDS", 5))
    raw = measure(rounds)
    check(raw)
    summary = summarise(raw, rounds)
    (BUILD / "summary.json").write_text(json.dumps(summary, indent=1) + "\n")
    PAGE.write_text(page(summary), encoding="utf-8")
    for name, ratio in summary["ratios"].items():
        print(f"{name} {ratio} (aim {AIMS[name]})")


if __name__ == "__main__":
    main()
