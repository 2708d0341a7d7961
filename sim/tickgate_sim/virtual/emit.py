"""Writes what Verilator needs of a core: its Verilog and, for card.cpp, where things are in its packed ports.

Run as a program of its own (``python -m tickgate_sim.virtual.emit CORE MEMORIES PRESET FOLDER``), since the text depends on PYTHONHASHSEED.
"""
import importlib
import shutil
import sys
from pathlib import Path

from amaranth.back import verilog
from amaranth.lib import data

from tickgate.spec.clocks import GEARBOX_PERIOD, NS_DENOMINATOR, NS_NUMERATOR
from tickgate.spec.presets import PRESETS

#: Amaranth's ``platform`` while elaborating: deep memories become instances of the modules that ``MEMORIES`` lists.
PLATFORM = "verilator"


def find(name):
    """The object that ``module:attribute`` names."""
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)


def header(core, preset):
    """Text of core.h: bit offsets ``RX_…`` and ``WRITES_…`` in the payloads, constants of ``tickgate.spec``, and Amaranth's names of the ports."""
    numbers = {"NS_NUMERATOR": NS_NUMERATOR, "NS_DENOMINATOR": NS_DENOMINATOR, "GEARBOX_PERIOD": GEARBOX_PERIOD, "LANES": preset.lanes,
               "BACKLOG": preset.lanes // preset.word << preset.burst_bits if preset.lanes > preset.word else 0}   # cycles until all that waits is through
    for port in ("rx", "writes"):
        layout = data.Layout.cast(getattr(core, port).payload.shape())
        numbers |= {f"{port}_{name}".upper(): field.offset for name, field in layout}
    numbers["LINE"] = layout["data"].width // 8   # bytes of a host write
    names = ["__".join(map(str, path)) for path, _, _ in core.signature.flatten(core)]
    return "".join(("#pragma once\n#include <cstdint>\n",
                    *(f"constexpr int64_t {name} = {value};\n" for name, value in numbers.items()),
                    *(f"#define {name} {name.replace('__', '___05F')}\n" for name in names if "__" in name)))   # as Verilator spells them


def main(core_name, memories, preset_name, folder):
    preset, folder = PRESETS[preset_name], Path(folder)
    core = find(core_name)(preset)
    (folder / "core.h").write_text(header(core, preset))
    (folder / "core.v").write_text(verilog.convert(core, name="core", platform=PLATFORM, emit_src=False))
    for source in find(memories)() if memories else ():
        shutil.copy(source, folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
