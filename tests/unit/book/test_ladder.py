"""The ladders against lists: the best level after every operation, whatever was taken away, at the shortest distances."""
import pytest

from tickgate_hdl.book.ladder import Ladder
from tickgate_sim.models.book_ladder import LadderScript
from tickgate_sim.models.hop import play


def ladder(seed, operations, *, symbols, tick_bits, **shape):
    print(f"seed {seed}")
    script = LadderScript(seed, operations, symbols=symbols, tick_bits=tick_bits, **shape)
    play(Ladder(symbols=symbols, tick_bits=tick_bits, count_bits=7), script)
    return script.done


@pytest.mark.parametrize("name, shape", [
    ("dense", dict(ranks=range(16), depth=30)),                                         # levels with many orders, next to each other
    ("few", dict(ranks=[0, 5, 15], best=0.6)),                                          # three levels: every removal touches b, n or m
    ("groups", dict(ranks=[0, 4, 8, 12, 15], best=0.7, adding=0.4)),                    # the next level is never in the same group
])
def test_small(name, shape):
    done = ladder(f"ladder {name}", 200, symbols=2, tick_bits=4, **shape)
    assert done["replace"] > 10 and done["refused"] and done["remove", "part"] and done["remove", "overfill"]


def test_sweeps_across_groups():
    """Runs of removals of the best with the shortest spacing: each must find the next level while the one before still writes."""
    done = ladder("ladder sweep", 120, symbols=1, tick_bits=6, ranks=range(0, 64, 3), adding=0.8, best=1.0, late=0.0)
    assert done["remove", "whole"] > 20


def test_outside():
    """Near and far orders come and go on both sides."""
    done = ladder("ladder outside", 200, symbols=2, tick_bits=4, ranks=[1, 2, 9], outside=0.5, adding=0.5, depth=6)
    assert done["add", "near"] > 10 and done["add", "far"] > 10 and done["miss"]


def test_needs_an_even_number_of_tick_bits():
    for tick_bits in (5, 2, 14):
        with pytest.raises(ValueError, match=f"even, 4 to 12, not {tick_bits}"):
            Ladder(symbols=1, tick_bits=tick_bits, count_bits=4)
