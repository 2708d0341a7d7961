"""feed.itch in Verilog against the twin's feed: every bit, length and cut of every type at every alignment, and random streams with random gaps."""
import random
from dataclasses import replace

import cocotb

from tickgate.spec import itch50
from tickgate.spec.presets import PRESETS
from tickgate_hdl.board.memory import verilog_sources
from tickgate_hdl.feed.itch import ItchParser
from tickgate_sim.models.hop import Isolated, play_rtl
from tickgate_sim.models.itch import ItchScript
from tickgate_sim.models.vectors import FILTERS, LOCATE, Packets, every_run, message_bits, message_cuts, message_lengths, random_message
from tickgate_sim.models.wire import LANES, on_wire
from tickgate_sim.rtl import simulate
from tickgate_sim.streams import PROFILES, Maker, frames, universe

PRESET = replace(PRESETS["small"], reference_bits=48)
SIZES = {name: getattr(PRESET, name) for name in ("index_bits", "reference_bits", "tables")}
COUNTED = [0] * 256       # by type, in all tests together: the counters are a memory and outlive the reset
TYPES = [m.code for m in itch50.MESSAGES]


def parser():
    return ItchParser(symbols=PRESET.symbols, **SIZES)


async def play(dut, sent_frames, rng, *, loads=((1, LOCATE, 1),), pause=0.0):
    sent_frames = [f if isinstance(f, tuple) else (f, False) for f in sent_frames]
    script = ItchScript(rng.random(), on_wire(sent_frames, rng, pause=pause, idle=(1, 3), start=12), FILTERS, loads={0: loads}, **SIZES,
                        type_count=COUNTED)
    await play_rtl(dut, parser(), script)
    COUNTED[:] = script.twin.type_count
    assert script.numbers, "no message was handed on"
    return script


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def every_type_before_every_other(dut):
    rng, codes = random.Random(cocotb.RANDOM_SEED), every_run(TYPES, 2)
    for lane in range(LANES):
        packets, before = Packets(rng.random()), list(COUNTED)
        for k in range(0, len(codes), 30):     # one again, so that each pair is in a packet
            packets.add([random_message(rng, code) for code in codes[k:k + 31]], lane)
        script = await play(dut, packets.frames, rng)
        assert min(script.twin.type_count[code[0]] - before[code[0]] for code in TYPES) >= len(TYPES)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def every_bit_and_every_length(dut):
    rng = random.Random(cocotb.RANDOM_SEED + 1)
    for lane in range(LANES):
        await play(dut, message_bits(lane, step=4).frames, rng)
        for locate, codes in ((LOCATE, list(itch50.NEEDED)[lane % 2::2]), (77, rng.sample(TYPES, 3))):
            await play(dut, message_lengths(codes, locate, lane).frames, rng)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def cuts(dut):
    """Every type at two of the alignments."""
    rng = random.Random(cocotb.RANDOM_SEED + 2)
    for lane in range(LANES):
        for code in list(itch50.NEEDED)[(lane + cocotb.RANDOM_SEED) % 2::2]:
            await play(dut, message_cuts(code, lane).frames, rng, pause=rng.choice((0, 0, 0.2)))


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def random_streams(dut):
    rng = random.Random(cocotb.RANDOM_SEED + 3)
    for profile in PROFILES:
        seed = rng.random()
        symbols = universe(PRESET, seed)
        messages = Maker(seed, preset=PRESET, symbols=symbols, profile=profile).messages(120)
        stream = frames(messages, seed, filters=FILTERS[1:], faults=0.2, per_packet=20)
        await play(dut, stream.frames, rng, loads=[(s.slot, s.locate, 1) for s in symbols], pause=rng.choice((0, 0.1, 0.4)))


def test_itch_parser_rtl():
    simulate(Isolated(parser()), __file__, name="ItchParser", sources=verilog_sources(), platform="verilator")
