"""Latency idle and at line rate, on every pattern that a book likes least; and the page of it."""
import pytest

from tickgate.spec.presets import PRESETS
from tickgate_sim.latency.__main__ import section, wrong
from tickgate_sim.latency.declared import top_of_book
from tickgate_sim.latency.measured import Row, frames, measure
from tickgate_sim.latency.patterns import PATTERNS


def test_budget():
    """The numbers that the design is held to."""
    assert top_of_book(PRESETS["full"]) == {"A": 4, "F": 4, "D": 8, "E": 8, "C": 8, "X": 8, "U": 6}
    assert top_of_book(PRESETS["wide"]) == {"A": 10, "F": 10, "D": 14, "E": 14, "C": 14, "X": 14, "U": 12}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_same_at_line_rate(pattern):
    row, = measure("small", 1500, [pattern])
    assert row.offered >= 500 and row.lost == 0
    assert wrong(PRESETS["small"], [row]) == [] and row.change == 0 and row.packed


def test_wrong_is_told():
    row = Row("x", 10, 5.25, 1, {"A": (4, 4), "D": (8, 8)}, {"A": (4, 5), "D": (8, 8)})
    assert row.change == 1
    assert wrong(PRESETS["small"], [row]) == ["x: 1 records lost", "x: A takes 4 to 5 cycles at line rate, declared are 4"]


def test_frames_hold_all_messages():
    made = frames([bytes([k]) * 19 for k in range(100)], 1, 420)
    assert len(made) == 5 and len(frames([b"x" * 19] * 3, 1, 0)) == 3 and sum(f.count(b"\0\x13") for f in made) >= 100


def test_page_says_the_sums():
    text = section(PRESETS["small"], [Row("x", 10, 5.25, 0, {"A": (4, 4)}, {"A": (4, 4)})])
    assert "**4** (12.4 ns)" in text and "**8** (24.8 ns)" in text and "| x | 10 | 5.25 | 0 | A 4 | 0 |" in text
