"""Deep memory against a list of words: banks, latency, both ports at once, clearing."""
import pytest

from tickgate_hdl.board.memory import DeepMemory, verilog_sources
from tickgate_sim.models.hop import Script, play


class MemoryScript(Script):
    """Random accesses, many to the same few words; every read of both ports is compared."""

    resting = {"clear": 0, "a_write": 0}

    def __init__(self, seed, cycles, *, bank_bits, row_bits, width, latency, ahead):
        super().__init__(seed, cycles + ahead + latency)
        rng, words, clears = self.rng, [0] * (1 << bank_bits + row_bits), 0
        busy = [rng.randrange(len(words)) for _ in range(3)]     # where the ports meet
        for cycle in range(cycles):
            a, b = (rng.choice((rng.choice(busy), rng.randrange(len(words)))) for _ in "ab")
            write, value, clear, row = rng.random() < 0.5, rng.getrandbits(width), rng.random() < 0.1, rng.randrange(1 << row_bits)
            self.drive(cycle, {"a_write": int(write), "clear": int(clear), **({"a_bank": a >> row_bits} if ahead else {"clear_row": row})})
            port = a
            if ahead:
                cycle += 1
                if clear:
                    port, value = a & -1 << row_bits | row, 0
                elif write:
                    port = rng.getrandbits(bank_bits) << row_bits | a % (1 << row_bits)
            self.drive(cycle, {"a_address": port, "a_in": value, "b_address": b})
            # what was there before this cycle; of a word that is being written nothing is promised
            meets = {"a_out": write or clear and port % (1 << row_bits) == row, "b_out": write and a == b or clear and b % (1 << row_bits) == row}
            self.expect(cycle + latency, {name: words[at] for name, at in (("a_out", port), ("b_out", b)) if not meets[name]})
            if clear:
                clears += 1
                for bank in range(1 << bank_bits):
                    words[bank << row_bits | row] = 0
            elif write:
                words[a] = value
        assert clears


@pytest.mark.parametrize("bank_bits", [0, 1, 2])
@pytest.mark.parametrize("latency, ahead", [(1, False), (2, False), (3, False), (3, True)])
def test_equals_list(bank_bits, latency, ahead):
    seed = f"memory {bank_bits} {latency} {ahead}"
    print(f"seed {seed}")
    shape = dict(bank_bits=bank_bits, row_bits=3, width=9, latency=latency, ahead=ahead)
    play(DeepMemory(**shape), MemoryScript(seed, 600, **shape))


def test_latency_must_be_a_cycle():
    with pytest.raises(ValueError, match="at least 1 cycle, not 0"):
        DeepMemory(bank_bits=0, row_bits=3, width=8, latency=0)


def test_verilog_sources_are_there():
    assert [path.name for path in verilog_sources()] == ["tickgate_memory.v"] and all(path.is_file() for path in verilog_sources())
