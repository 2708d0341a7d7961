"""The ``tickgate`` command: ``main`` reads the command line, ``replay`` does the main job, the other modules each do one part of it."""
from importlib import metadata


def version():
    """Version of the distribution, or ``unknown`` where it runs from its sources without being installed."""
    try:
        return metadata.version("tickgate")
    except metadata.PackageNotFoundError:
        return "unknown"
