"""One event as several rows, for formats that tell a trade apart from what its order loses."""
import numpy as np


def expand(events, parts):
    """``(index, part)`` of the rows: ``parts`` maps an action to the names of its rows in order; actions that it lacks have none.

    ``index``: of which event each row is, ascending; ``part``: its name, an array of ``S``.
    """
    longest = max(map(len, parts.values()))
    names = np.full((256, longest), b"", "S8")
    for action, those in parts.items():
        names[ord(action), :len(those)] = [part.encode() for part in those]
    table = names[events["action"]]
    index, column = np.nonzero(table != b"")
    return index, table[index, column]
