"""The ``tickgate`` command: ``main`` begins and ends it, ``cli`` has the commands, ``replay`` does the main job, the other modules each do one part of it."""
from importlib import metadata


def version():
    """Version of the distribution, or ``unknown`` where it runs from its sources without being installed."""
    try:
        return metadata.version("tickgate")
    except metadata.PackageNotFoundError:
        return "unknown"
