"""Commands of the host to the books of the card, and which of them took effect."""
from collections import deque

from ..spec.commands import HOST, LETTERS, NUMBER_BITS, QUEUE
from ..spec.presets import TICK_SIZES
from ..spec.registers import COMMAND
from .errors import CardError
from .registers import registers_of

_FIELDS = ("slot", "side", "reference", "qty", "price")


class CommandPort:
    """Pushes ``tickgate.spec.commands.Command``s to ``card``, no more than its queue holds, and follows them by their records.

    ``posted``: writes go while the frames do (``FrameSink.post32``) instead of one by one. ``waiting``: pairs of number and command, pushed and without a
    record so far, oldest first. Commands that somebody else pushes are not expected.
    """

    def __init__(self, card, *, posted=False):
        self.card = card
        self._block = registers_of(COMMAND)(_Posted(card.device) if posted else card.device)
        self._number = card.command.pushed
        self._written = {}       # fields as the card has them: those that stay are not written again
        self.waiting = deque()

    @property
    def room(self):
        """How many commands may be pushed now."""
        return QUEUE - len(self.waiting)

    def push(self, command):
        """Queue a command; returns its number. Raises ``CardError`` when the queue has no room, and for what the card does not know."""
        if not self.room:
            raise CardError(f"command {command}: {QUEUE} wait already")
        if command.kind not in LETTERS or not 0 <= command.slot < self.card.preset.symbols or not 0 <= command.qty < 1 << 32:
            raise CardError(f"command {command}: no such kind or slot, or its quantity does not fit")
        for name in _FIELDS:
            value = getattr(command, name)
            if self._written.get(name) != value:
                setattr(self._block, name, value)
                self._written[name] = value
        self._block.push = command.kind
        number, self._number = self._number, (self._number + 1) % (1 << NUMBER_BITS)
        self.waiting.append((number, command))
        return number

    def took_effect(self, rows):
        """The commands among the card's records ``rows``: their own rows, and the commands, in order. Raises ``CardError`` when one is not the next."""
        own = rows[rows["source"] == HOST]
        commands = []
        for number in own["number"].tolist():
            if not self.waiting or self.waiting[0][0] != number:
                raise CardError(f"a record tells of command {number}, expected was {self.waiting[0][0] if self.waiting else 'none'}: records were lost")
            commands.append(self.waiting.popleft()[1])
        return own, commands


class _Posted:
    """A device whose writes are posted."""

    def __init__(self, device):
        self.write32 = device.post32


def tick_code(tick):
    """Code of a tick size, for a base."""
    return TICK_SIZES.index(tick)
