"""net.datagram in Verilog against the twin's net: every drop cause, every cut, and long random streams with random gaps."""
import random

import cocotb

from tickgate_hdl.net.datagram import DatagramReceiver
from tickgate_sim.models.datagram import DatagramScript
from tickgate_sim.models.hop import Isolated, play_rtl
from tickgate_sim.models.vectors import FILTERS, WRONG, cut_everywhere, frame, random_frames, random_udp
from tickgate_sim.models.wire import on_wire
from tickgate_sim.rtl import simulate

FOUR_FILTERS = (*FILTERS, (0xEFFFFFFF, 0xFFFF))


async def play(dut, frames, rng, *, enable=lambda cycle: 1, **pace):
    script = DatagramScript(rng.random(), on_wire(frames, rng, **pace), FOUR_FILTERS, enable=enable)
    await play_rtl(dut, DatagramReceiver(), script)
    return script.causes


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def every_cause_and_every_cut(dut):
    rng = random.Random(cocotb.RANDOM_SEED)
    frames, wanted = [], []
    for cause, wrongs in WRONG.items():
        for wrong in wrongs:
            frames.append(frame(**{**random_udp(rng, FILTERS[1]), "slack": 0, **wrong}))
            wanted.append(cause)
    for _ in range(12):
        frames += cut_everywhere(frame(rng.randbytes(5), **random_udp(rng, FILTERS[2])))
    causes = await play(dut, [(f, rng.random() < 0.1) for f in frames], rng, idle=(0, 1))
    assert causes[:len(wanted)] == wanted and causes.count("datagrams") > 12


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def random_streams(dut):
    rng = random.Random(cocotb.RANDOM_SEED + 1)
    spells = [rng.random() < 0.9 for _ in range(1000)]
    causes = []
    for pause in (0, 0.1, 0.5):
        causes += await play(dut, random_frames(rng, 200), rng, enable=lambda cycle: spells[cycle // 40], pause=pause, idle=(0, 3))
    assert causes.count("datagrams") > 100 and {*WRONG, "short_frame", "not_ready"} <= set(causes)


def test_datagram_receiver_rtl():
    simulate(Isolated(DatagramReceiver()), __file__, name="DatagramReceiver")
