"""``Card`` over a device that is a dictionary of registers and a log of what was written."""
from types import SimpleNamespace

import pytest

from tickgate.card import Card, CardError
from tickgate.spec import registers as spec
from tickgate.spec.presets import PRESETS

ADDRESS = {f"{b.name}.{r.name}": (a, r) for b in spec.BLOCKS for a, r in b.offsets()}
OWNER = {a + 4 * k: (name, k) for name, (a, r) in ADDRESS.items() for k in range(r.words)}


class FakeDevice:
    """Registers as a dictionary; ``written`` has every write as (name, word, value), in order."""

    name = "fake"

    def __init__(self, preset=PRESETS["demo"], **values):
        self.words, self.written, self.reads = {}, [], []
        self.set("id.magic", spec.MAGIC)
        self.set("id.version", spec.VERSION)
        for r in spec.ID.registers[2:]:
            self.set(f"id.{r.name}", getattr(preset, r.name))
        self.set("control.ready", 1)
        for name, value in values.items():
            self.set(name.replace("__", "."), value)

    def set(self, name, value):
        address, register = ADDRESS[name]
        for k in range(register.words):
            self.words[address + 4 * k] = value >> 32 * k & 0xFFFFFFFF

    def read32(self, address):
        self.reads.append(OWNER[address])
        if address == ADDRESS["feed.type_count"][0]:
            self.set("feed.type_count", self.types.get(self.words[ADDRESS["feed.type_select"][0]], 0))
        return self.words.get(address, 0)

    def write32(self, address, value):
        self.written.append((*OWNER[address], value))
        self.words[address] = value


def symbol(slot, locate, base=1000, tick=100, stale=False):
    return SimpleNamespace(slot=slot, locate=locate, base=base, tick=tick, stale=stale)


def test_identity():
    for preset in PRESETS.values():
        assert Card(FakeDevice(preset)).preset == preset
    other = Card(FakeDevice(id__tables=3)).preset
    assert other.tables == 3 and other not in PRESETS.values()


@pytest.mark.parametrize("values, message", [
    (dict(id__magic=spec.LINK_DOWN), "link is down"),
    (dict(id__magic=0x1234), "no Tickgate core here, its first register reads 0x00001234"),
    (dict(id__version=spec.VERSION + 1), f"version {spec.VERSION + 1}, this software knows version {spec.VERSION}"),
    (dict(id__tick_bits=9), "tick_bits must be"),
])
def test_what_is_not_a_card_is_refused(values, message):
    with pytest.raises(CardError, match=message) as error:
        Card(FakeDevice(**values))
    assert "card fake" in str(error.value) and "\n" not in str(error.value)


def test_attributes_read_and_write_words_in_order():
    device = FakeDevice(net__frames=0xABC_12345678)
    card = Card(device)
    device.reads.clear()
    assert card.net.frames == 0xABC_12345678
    assert device.reads == [("net.frames", 0), ("net.frames", 1)]  # the low word keeps the high one
    card.ring.base = 0x5_00000040
    assert device.written == [("ring.base", 0, 0x40), ("ring.base", 1, 5)]  # the high word takes both
    assert card.ring.base == 0x5_00000040
    assert "base" in dir(card.ring) and "[bytes]" in type(card.ring).base.__doc__


def test_every_register_has_its_attribute():
    card = Card(FakeDevice())
    for block in spec.BLOCKS:
        for r in block.registers:
            part = getattr(card, block.name)
            if r.access in ("ro", "count"):
                with pytest.raises(CardError, match=f"{block.name}.{r.name} cannot be written"):
                    setattr(part, r.name, 0)
            else:
                setattr(part, r.name, (1 << r.width) - 1)
                with pytest.raises(CardError, match=f"does not fit {r.width} bits"):
                    setattr(part, r.name, 1 << r.width)
            if r.access == "wo":
                with pytest.raises(CardError, match="cannot be read"):
                    getattr(part, r.name)
    with pytest.raises(AttributeError):
        card.net.frame = 1  # a slip of the pen must not go unnoticed


def test_counters():
    device = FakeDevice(net__frames=7, ring__dropped_off=2**47, book__updates=3)
    counters = Card(device).counters()
    assert counters["net"]["frames"] == 7 and counters["ring"]["dropped_off"] == 2**47 and counters["book"]["updates"] == 3
    assert {(b, n) for b in counters for n in counters[b]} == {tuple(name.split(".")) for name, (_, r) in ADDRESS.items() if r.access == "count"}


def test_type_counts():
    device = FakeDevice()
    device.types = {ord("A"): 2**40 + 1, ord("D"): 3, 0xFF: 1}
    assert Card(device).type_counts() == {"A": 2**40 + 1, "D": 3, "\xff": 1}


def test_load_symbols_writes_everything_before_the_slot():
    device = FakeDevice()
    Card(device).load_symbols([symbol(3, 77, 123400, 100), symbol(0, 5, 0, 1, stale=True)])
    assert [(name, value) for name, _, value in device.written] == [
        ("symbol.locate", 77), ("symbol.base", 123400), ("symbol.tick", 0), ("symbol.flags", 1), ("symbol.load", 3),
        ("symbol.locate", 5), ("symbol.base", 0), ("symbol.tick", 2), ("symbol.flags", 3), ("symbol.load", 0)]


@pytest.mark.parametrize("wrong, message", [
    (symbol(16, 1), "slot 16: the card has 16"), (symbol(-1, 1), "slot -1"), (symbol(1, 8), "named twice"), (symbol(0, 9), "named twice"),
    (symbol(1, 1, tick=7), "tick must be one of"), (symbol(1, 1, base=1 << 32), "out of range"), (symbol(1, 1 << 16), "out of range"),
])
def test_wrong_symbols_change_nothing(wrong, message):
    device = FakeDevice()
    with pytest.raises(CardError, match=message):
        Card(device).load_symbols([symbol(0, 8), wrong])
    assert device.written == []


def test_set_filters():
    device = FakeDevice(net__port2=0x1FFFF)
    Card(device).set_filters([("233.54.12.111", 26477), (0xE9360C01, 1)])
    assert [(name, value) for name, _, value in device.written] == [
        ("net.port0", 0), ("net.group0", 0xE9360C6F), ("net.port0", 1 << 16 | 26477),
        ("net.port1", 0), ("net.group1", 0xE9360C01), ("net.port1", 1 << 16 | 1),
        ("net.port2", 0), ("net.port3", 0)]


@pytest.mark.parametrize("filters, message", [
    ([(1, 1)] * 5, "5 filters asked for, the card has 4"), ([("1.2.3", 1)], "not an IPv4 address"), ([(1 << 32, 1)], "not an IPv4 address"),
    ([("1.2.3.4", 65536)], "port out of range"),
])
def test_wrong_filters_change_nothing(filters, message):
    device = FakeDevice()
    with pytest.raises(CardError, match=message):
        Card(device).set_filters(filters)
    assert device.written == []


def test_start_and_stop():
    device = FakeDevice()
    card = Card(device)
    card.start(2**33 + 5)
    assert device.written == [("mold.start", 0, 5), ("mold.start", 1, 2), ("mold.restart", 0, 1), ("control.enable", 0, 1)]
    card.stop()
    assert device.written[-1] == ("control.enable", 0, 0)
    card.clear()
    assert device.written[-1] == ("control.clear", 0, 1)


def test_start_and_stop_see_whether_the_card_obeys():
    for stuck, act, message in ((0, "start", "does not take frames although"), (1, "stop", "takes frames although")):
        device = FakeDevice()
        card = Card(device)
        device.write32 = lambda address, value: None
        device.set("control.enable", stuck)
        with pytest.raises(CardError, match=message):
            getattr(card, act)()


def test_forget():
    device = FakeDevice()
    card = Card(device)
    card.forget({3, 1})
    assert [(name, value) for name, _, value in device.written] == [("symbol.flags", 2), ("symbol.load", 1), ("symbol.load", 3)]
    with pytest.raises(CardError, match="slot 16: the card has 16"):
        card.forget([2, 16])
    assert len(device.written) == 3


def test_a_card_that_does_not_get_ready():
    device = FakeDevice(control__ready=0)
    with pytest.raises(CardError, match="memories not clear after 0.01 s"):
        Card(device).wait_ready(0.01)
