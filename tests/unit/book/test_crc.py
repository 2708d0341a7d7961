"""The digest's CRC against ``zlib``, for records and for other sizes."""
import random
import zlib
from functools import reduce
from operator import xor

import pytest
from amaranth import Module, Signal
from amaranth.sim import Simulator

from tickgate.spec.records import DIGEST_BYTES
from tickgate_hdl.book.crc import crc_of_data, crc_of_old


@pytest.mark.parametrize("size, parts", [(1, 1), (1, 2), (4, 3), (len(DIGEST_BYTES), 2)])
def test_equals_zlib(size, parts):
    """Every bit of the data and of the old value, and random ones."""
    print(f"seed crc {size}")
    rng = random.Random(f"crc {size}")
    m, given, new = Module(), Signal(8 * size + 32), Signal(32)
    data, old = given[:8 * size], given[8 * size:]
    m.d.comb += new.eq(reduce(xor, crc_of_old(old, size, parts) + crc_of_data(data, parts)))
    cases = [0, (1 << len(given)) - 1, *(1 << bit for bit in range(len(given))), *(rng.getrandbits(len(given)) for _ in range(20))]

    async def bench(ctx):
        for case in cases:
            ctx.set(given, case)
            raw = case.to_bytes(size + 4, "little")
            assert ctx.get(new) == zlib.crc32(raw[:size], int.from_bytes(raw[size:], "little")), hex(case)

    sim = Simulator(m)
    sim.add_testbench(bench)
    sim.run()
