"""Devices by name, and the times of words."""
from importlib.metadata import EntryPoint

import numpy as np
import pytest

from tickgate.device import Device, DeviceError, installed, open_device, registry, word_cycle
from tickgate.spec.clocks import GEARBOX_PERIOD


class Card:
    name = "fake"

    def __init__(self, option):
        self.option = option

    def read32(self, address): ...
    def write32(self, address, value): ...
    def allocate(self, size): ...
    def close(self): ...
    def __enter__(self): ...
    def __exit__(self, *exc): ...


@pytest.fixture
def devices(monkeypatch):
    """Entry points by name, in the place of those that are installed."""
    points = {}
    monkeypatch.setattr(registry, "entry_points", lambda group: [EntryPoint(name, value, group) for name, value in points.items()])
    return points


def test_opens_by_name_and_hands_the_option_on(devices):
    devices["fake"] = f"{__name__}:Card"
    with_option, without = open_device("fake:a:b"), open_device("fake")
    assert isinstance(with_option, Device) and type(with_option).__name__ == "Card"
    assert (with_option.option, without.option) == ("a:b", "")


def test_unknown_device_names_those_that_are_there(devices):
    devices |= {"zeta": "z:open", "alpha": "a:open"}
    assert installed() == ["alpha", "zeta"]
    with pytest.raises(DeviceError, match=r"^no device 'vritual'; installed: alpha, zeta$"):
        open_device("vritual:demo")


def test_nothing_installed_says_so(devices):
    with pytest.raises(DeviceError, match="installed: none"):
        open_device("virtual")


def test_missing_package_names_the_extra(devices):
    devices["virtual"] = "package_that_nobody_has:open_device"
    with pytest.raises(DeviceError, match=r"^device 'virtual' needs the Python package 'package_that_nobody_has': pip install 'tickgate\[sim\]'$"):
        open_device("virtual")


def test_a_class_without_registers_is_no_device():
    assert not isinstance(object(), Device)


def test_words_skip_the_gearbox_cycle():
    for start in range(2 * GEARBOX_PERIOD):
        if start % GEARBOX_PERIOD == GEARBOX_PERIOD - 1:
            continue                                   # no frame can start there
        expected = [c for c in range(start, start + 200) if c % GEARBOX_PERIOD != GEARBOX_PERIOD - 1]
        got = word_cycle(np.full(150, start, np.int64), np.arange(150))
        assert got.tolist() == expected[:150]
        assert word_cycle(start, 149) == expected[149]
