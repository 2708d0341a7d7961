"""net.moldudp64 in Verilog against the twin's: short blocks in all orders at all alignments, cuts, and long random streams with random gaps."""
import random

import cocotb

from tickgate.spec import moldudp64 as mold
from tickgate.spec.presets import PRESETS
from tickgate_hdl.net.moldudp64 import MoldUdp64
from tickgate_sim.models.hop import Isolated, play_rtl
from tickgate_sim.models.moldudp64 import COUNTERS, MoldScript
from tickgate_sim.models.vectors import FILTERS, blocks_of, cut_everywhere, every_run, fits_and_not, frame, random_packets
from tickgate_sim.models.wire import on_wire, packet
from tickgate_sim.rtl import simulate
from tickgate_sim.streams import PROFILES, Maker, frames, universe


async def play(dut, sent_frames, rng, *, restarts=None, pause=0.0):
    """Play pairs of frame and bad FCS; returns the sums of all counters."""
    script = MoldScript(rng.random(), on_wire(sent_frames, rng, pause=pause, idle=(1, 3)), FILTERS, restarts=restarts)
    await play_rtl(dut, MoldUdp64(), script)
    return {name: sum(t.counts[name] for t in script.taken) for name in COUNTERS}


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def blocks_in_all_orders_at_all_alignments(dut):
    rng = random.Random(cocotb.RANDOM_SEED)
    lengths = every_run(range(9), 3)
    packets = [frame(packet(blocks_of([8 + shift, *lengths], rng.random()))) for shift in range(4)]
    counts = await play(dut, [(p, False) for p in packets], rng, restarts=dict.fromkeys(range(4), mold.FIRST_SEQUENCE))
    assert counts["messages"] == 4 * (len(lengths) + 1) > 4 * 9**3


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def ends_of_payload_and_frame(dut):
    rng = random.Random(cocotb.RANDOM_SEED + 1)
    sent_frames = [(f, False) for last in range(9) for f, _ in fits_and_not(last)]
    for _ in range(4):
        payload = packet(blocks_of([rng.choice((0, 0, 1, 1, 2, 3, 6, 7, 8, 13)) for _ in range(12)], rng.random()))
        sent_frames += [(f, rng.random() < 0.2) for f in cut_everywhere(frame(payload), least=42)]
    counts = await play(dut, sent_frames, rng, restarts=dict.fromkeys(range(len(sent_frames)), mold.FIRST_SEQUENCE))
    assert min(counts[name] for name in ("messages", "runts", "overruns", "suspect")) > 60


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def random_streams(dut):
    rng = random.Random(cocotb.RANDOM_SEED + 2)
    for pause in (0, 0.1, 0.5):
        await play(dut, random_packets(rng, 100), rng, pause=pause)
    preset, seed = PRESETS["small"], rng.random()
    for profile in PROFILES:
        messages = Maker(seed, preset=preset, symbols=universe(preset, seed), profile=profile).messages(120)
        stream = frames(messages, seed, filters=FILTERS[1:], faults=0.4, per_packet=15)
        counts = await play(dut, stream.frames, rng, pause=rng.choice((0, 0.1)))
        assert counts["messages"] > 50


def test_mold_udp64_rtl():
    simulate(Isolated(MoldUdp64()), __file__, name="MoldUdp64")
