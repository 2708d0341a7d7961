"""The hop ``book`` as Verilog: thousands of messages of every profile, each top of book to the cycle."""
import random
from dataclasses import replace

import cocotb

from tickgate.spec.presets import Preset
from tickgate.spec.records import TABLE_FULL
from tickgate_hdl.board.memory import verilog_sources
from tickgate_sim.models.book import BookScript, new_book
from tickgate_sim.models.hop import Isolated, play_rtl
from tickgate_sim.rtl import simulate
from tickgate_sim.streams import PROFILES, Maker, universe

NARROW = Preset(name="narrow", symbols=4, tick_bits=6, index_bits=5, reference_bits=40, tables=3, ways=2)    # 192 orders


async def messages_of(dut, profile, count, *, pause=0.0, cuts=0.0):
    seed = f"{profile} {random.Random(cocotb.RANDOM_SEED).getrandbits(32)}"
    symbols = universe(NARROW, seed)
    maker = Maker(seed, preset=NARROW, symbols=symbols, profile=replace(PROFILES[profile], crowd=min(PROFILES[profile].crowd, 300)))
    script = BookScript(NARROW, symbols, [maker.messages(count), maker.messages(count // 4)], seed, pause=pause, cuts=cuts)
    await play_rtl(dut, new_book(NARROW), script)
    assert sum(script.kinds.values()) > count // 2
    return script


@cocotb.test(timeout_time=200, timeout_unit="us")
async def best_levels_all_the_time(dut):
    await messages_of(dut, "storm", 600)


@cocotb.test(timeout_time=200, timeout_unit="us")
async def levels_far_apart(dut):
    await messages_of(dut, "sparse", 500)


@cocotb.test(timeout_time=200, timeout_unit="us")
async def runs_of_removals(dut):
    await messages_of(dut, "sweep", 700, pause=0.02)


@cocotb.test(timeout_time=400, timeout_unit="us")
async def everything_wrong(dut):
    script = await messages_of(dut, "faults", 800, pause=0.05, cuts=0.1)
    assert {kind[1] for kind in script.kinds if kind != "abandoned"} >= {0, 1, 2, 3, 5} and script.kinds["abandoned"] > 5


@cocotb.test(timeout_time=400, timeout_unit="us")
async def full_table(dut):
    script = await messages_of(dut, "full", 700)
    assert any(kind[1] == TABLE_FULL for kind in script.kinds)


@cocotb.test(timeout_time=400, timeout_unit="us")
async def full_buckets_and_a_slow_line(dut):
    await messages_of(dut, "collide", 400, pause=0.3, cuts=0.2)


def test_book_rtl():
    simulate(Isolated(new_book(NARROW)), __file__, name="Book", platform="verilator", sources=verilog_sources())
