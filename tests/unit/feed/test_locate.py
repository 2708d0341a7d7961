"""The locate table alone: loaded, forgotten and loaded again, and that old contents of its memories do not matter."""
import pytest

from tickgate_hdl.feed.locate import LocateTable
from tickgate_sim.models.hop import Script, play
from tickgate_sim.models.itch import LocateModel


class LocateScript(Script):
    """Rounds of a few loads, then, from the next cycle on, questions, most of them one a cycle; answers come ``LATENCY`` cycles later and stay."""

    resting = {"load": 0, "ask": 0}
    questions = 40

    def __init__(self, seed, *, symbols, rounds=15):
        super().__init__(seed, rounds * (5 + 3 * self.questions + LocateTable.LATENCY))
        self.symbols, self.model, cycle = symbols, LocateModel(), 0
        base = self.rng.getrandbits(16)
        self.locates = [0, 1, 0xFFFF, base, *(base ^ 1 << bit for bit in range(16)), *(self.rng.getrandbits(16) for _ in range(symbols))]
        self.answers = []
        for _ in range(rounds):
            for _ in range(self.rng.randrange(1, 6)):
                self._load(cycle)
                cycle += 1
            for _ in range(self.questions):
                locate = self.rng.choice([*self.locates, *self.model.slot_of])
                slot = self.model.slot_of.get(locate)
                self.answers.append(slot)
                self.drive(cycle, {"ask": 1, "locate": locate})
                pause = self.rng.choice((0, 0, 0, 1, 2))
                for stays in range(1 + pause):
                    self.expect(cycle + LocateTable.LATENCY + stays, {"tracked": 0} if slot is None else {"tracked": 1, "slot": slot})
                cycle += 1 + pause
            cycle += LocateTable.LATENCY

    def _load(self, cycle):
        """Any locate into any slot; one that is in another slot is forgotten there."""
        slot, locate, tracked = self.rng.randrange(self.symbols), self.rng.choice(self.locates), int(self.rng.random() < 0.8)
        if self.model.slot_of.get(locate, slot) != slot:
            slot, tracked = self.model.slot_of[locate], 0
        self.drive(cycle, {"load": 1, "load_slot": slot, "load_symbol.locate": locate, "load_symbol.tracked": tracked})
        self.model.load(slot, locate, tracked)


@pytest.mark.parametrize("symbols", [1, 2, 4, 16, 64])
def test_answers_are_those_of_the_last_loads(symbols):
    print(f"seed {symbols}")
    script = LocateScript(symbols, symbols=symbols)
    play(LocateTable(symbols=symbols), script)
    assert script.answers.count(None) > 50 and len(set(script.answers)) > min(symbols, 8)


def test_nothing_is_tracked_before_a_load():
    """Locate 0 neither, which empty memories hold in slot 0."""
    script = Script(0, 40)
    for cycle in range(30):
        script.drive(cycle, {"load": 0, "ask": 1, "locate": (0, cycle)[cycle % 2]})
        script.expect(cycle + LocateTable.LATENCY, {"tracked": 0})
    for cycle in range(30, 40):
        script.drive(cycle, {"load": 0, "ask": 0})
    play(LocateTable(symbols=4), script)
