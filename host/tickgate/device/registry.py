"""Devices by name. Packages bring them as entry points of the group ``tickgate.devices``, so that software needs no HDL package."""
from importlib.metadata import entry_points

from .protocol import Device, DeviceError

GROUP = "tickgate.devices"

#: Extras of this distribution that bring what its own devices need.
EXTRAS = {"virtual": "sim"}


def installed():
    """Names of the devices that are declared here, sorted; what one of them needs may still be missing."""
    return sorted({point.name for point in entry_points(group=GROUP)})


def open_device(spec: str) -> Device:
    """Opens a device: ``NAME`` or ``NAME:OPTION``, such as ``virtual`` or ``virtual:demo``; what the option means is the device's own affair.

    Raises ``DeviceError`` when there is no such device, a package it needs is missing, or it cannot be opened.
    """
    name, _, option = spec.partition(":")
    points = [point for point in entry_points(group=GROUP) if point.name == name]
    if not points:
        raise DeviceError(f"no device {name!r}; installed: {', '.join(installed()) or 'none (the package is not installed: pip install .)'}")
    try:
        opener = points[0].load()
    except ImportError as error:
        what = f"pip install 'tickgate[{EXTRAS[name]}]'" if name in EXTRAS else "see the page of the package that brings the device"
        raise DeviceError(f"device {name!r} needs the Python package {error.name or str(error)!r}: {what}") from error
    return opener(option)
