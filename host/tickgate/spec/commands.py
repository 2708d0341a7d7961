"""Commands of the host: what it may do to a book while the feed runs.

Each gives one record, in the order in which it took effect among the messages: ``source`` HOST, ``number`` its own. The first three do what the ITCH
message of their letter does; the others give a ``status`` record.
"""
from typing import NamedTuple

#: `source` of their records; net's filters are numbered below it.
HOST = 7

#: name -> kind, `message` of the record, what it does.
COMMANDS = {
    "add": (1, "A", "an order rests, as by A"),
    "take": (2, "X", "shares leave an order, as by X"),
    "delete": (3, "D", "an order goes, as by D"),
    "hold": (4, "-", "the symbol is stale; what went wrong with it before is forgotten"),
    "base": (5, "=", "new base (`price`) and tick (`qty`, code) of an empty ladder"),
    "arm": (6, "+", "the symbol is stale no more, unless something went wrong since it was held"),
}
ADD, TAKE, DELETE, HOLD, BASE, ARM = (kind for kind, _, _ in COMMANDS.values())
LETTERS = {kind: letter for kind, letter, _ in COMMANDS.values()}


class Command(NamedTuple):
    """One command. Fields that its kind does not need are 0; of a base ``price`` is the base (1e-4 USD) and ``qty`` the code of the tick size."""

    kind: int
    slot: int
    reference: int = 0
    side: int = 0
    qty: int = 0
    price: int = 0


REFUSED = 1         # `detail` of a base: the book was not empty, nothing was changed
NUMBER_BITS = 31    # as many as a record has
QUEUE = 16          # commands that wait on the card
