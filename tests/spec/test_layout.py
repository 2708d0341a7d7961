"""Tables are checked when they are made, and everything that derives from one agrees."""
import json
import random

import numpy as np
import pytest
from amaranth import Module, Signal
from amaranth.sim import Simulator

from tickgate.spec import ethernet, itch50, moldudp64, records
from tickgate.spec.layout import Field, Layout, LayoutError
from tickgate_hdl.stream.layout import field, struct

LAYOUTS = [ethernet.ETHERNET, ethernet.VLAN, ethernet.IPV4, ethernet.UDP, moldudp64.HEADER, moldudp64.BLOCK,
           *itch50.MESSAGES, records.COMMON, *records.RECORDS.values()]


def number(name, offset, size, unit="things", **rest):
    return Field(name, offset, size, unit=unit, **rest)


@pytest.mark.parametrize("size, fields, message", [
    (4, (number("a", 0, 2), number("b", 3, 1)), "field b starts at 3, the one before it ends at 2: gap"),
    (4, (number("a", 0, 2), number("b", 1, 3)), "field b starts at 1, the one before it ends at 2: overlap"),
    (4, (number("a", 1, 3),), "field a starts at 1, the one before it ends at 0: gap"),
    (4, (number("a", 0, 2), number("b", 2, 1)), "fields end at 3, size is 4"),
    (4, (number("a", 0, 2), number("b", 2, 3)), "fields end at 5, size is 4"),
    (4, (number("a", 0, 2), number("b", 2, 2, unit="")), "field b: a number needs its unit"),
    (4, (number("a", 0, 2), number("a", 2, 2)), "field a is declared twice"),
    (4, (Field("a", 0, 4, "float", "USD"),), "field a: unknown kind 'float'"),
])
def test_a_table_that_contradicts_itself_is_refused(size, fields, message):
    with pytest.raises(LayoutError, match=message) as error:
        Layout("broken", size, fields)
    assert str(error.value).startswith("layout broken: ")


def test_byte_order_must_be_known():
    with pytest.raises(LayoutError, match="byte order must be big or little, not 'middle'"):
        Layout("broken", 1, (number("a", 0, 1),), order="middle")


def test_a_record_must_fill_its_body():
    with pytest.raises(LayoutError, match="must fill bytes 32 to 55"):
        records._record("trade", number("qty", 32, 8), doc="")


def draw(rng, layout):
    """Random values for every field; extremes are as likely as anything else."""
    values = {}
    for f in layout.fields:
        top = 256**f.size - 1
        value = rng.choice((0, 1, top, top // 2 + 1, rng.randint(0, top)))
        if f.kind == "uint":
            values[f.name] = value
        elif f.kind == "alpha":
            values[f.name] = bytes(rng.randint(33, 126) for _ in range(f.size))
        else:
            values[f.name] = rng.randbytes(f.size)
    return values


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_encoder_decoder_dtype_and_gateware_agree(layout):
    rng = random.Random(layout.name)
    rows = [draw(rng, layout) for _ in range(20)]
    raws = [layout.encode(**row) for row in rows]
    assert all(len(raw) == layout.size for raw in raws)
    assert [layout.decode(b"xyz" + raw, 3) for raw in raws] == rows

    array = np.frombuffer(b"".join(raws), layout.dtype)
    assert len(array) == len(rows)
    for f in layout.fields:
        for cell, row in zip(array[f.name], rows):
            if f.kind == "uint":
                got = int(cell) if cell.dtype.kind == "u" else int.from_bytes(bytes(cell), layout.order)
            else:
                got = bytes(cell)
            assert got == row[f.name], f"{layout.name}.{f.name}"

    # one vector of bytes into the simulator, every field out of it
    m, vector = Module(), Signal(8 * layout.size)
    view = Signal(struct(layout))
    ports = {f.name: Signal(8 * f.size, name=f.name) for f in layout.fields}
    m.d.comb += view.as_value().eq(vector)
    m.d.comb += [port.eq(field(vector, layout, name)) for name, port in ports.items()]

    async def bench(ctx):
        for row, raw in zip(rows, raws):
            ctx.set(vector, int.from_bytes(raw, "little"))
            for f in layout.fields:
                expected = row[f.name] if f.kind == "uint" else int.from_bytes(row[f.name], "little")
                assert ctx.get(ports[f.name]) == expected, f"{layout.name}.{f.name}"
                if f.kind != "uint" or layout.order == "little":
                    assert ctx.get(view[f.name]) == expected, f"{layout.name}.{f.name}"

    sim = Simulator(m)
    sim.add_testbench(bench)
    sim.run()


@pytest.mark.parametrize("layout", [m for m in LAYOUTS if m.code], ids=lambda layout: layout.name)
def test_code_and_blanks_are_filled_in(layout):
    raw = layout.encode()
    assert raw.startswith(layout.code)
    for f in layout.fields[1:]:
        assert raw[f.offset:f.end] == (b" " if f.kind == "alpha" else b"\0") * f.size


def test_nothing_is_cut_silently():
    add = itch50.BY_CODE[b"A"]
    for values, message in ((dict(price=1 << 32), "price: 4294967296 does not fit 4 bytes"), (dict(price=-1), "does not fit"),
                            (dict(stock=b"TOOLONGXX"), "is longer than 8 bytes"), (dict(prize=1), "has no field prize")):
        with pytest.raises(ValueError, match=message):
            add.encode(**values)
    with pytest.raises(ValueError, match="add_order needs 36 bytes, 35 are there"):
        add.decode(bytes(35))


def test_itch_lengths_and_fields_against_the_fact_table(real_data):
    facts = json.loads(real_data("../protocols/itch50.json").read_text())
    assert {m.code.decode(): m.size for m in itch50.MESSAGES} == facts["length_by_type"]
    for code, message in facts["messages"].items():
        assert [(f["offset"], f["length"]) for f in message["fields"]] == [(f.offset, f.size) for f in itch50.BY_CODE[code.encode()].fields], code


def test_digest_covers_whole_fields():
    covered = set(records.DIGEST_BYTES)
    assert len(covered) == len(records.DIGEST_BYTES)
    for f in records.RECORDS["top_of_book"].fields:
        assert len(covered & set(range(f.offset, f.end))) in (0, f.size)
