"""The delays of ``timing`` for yosys' mapper, as Verilog.

``synth_xilinx -family xcup`` maps with the delays of a 7-series part, where a carry chain costs more than six LUTs: then any wide adder looks like the worst
path, and all else is made small instead of shallow. These cells take the place of yosys' own while it maps; they do the same and know what we count with.
"""
from .timing import CARRY, CARRY_ON, INSIDE_SLICE, LUT, MUXF, NETS

WIRE = NETS[1][1]                                           # ps that the mapper adds to every cell: a net to a few loads
AREA = {1: 1, 2: 2, 3: 3, 4: 3, 5: 3, 6: 5, 7: 10, 8: 20}   # of a LUT: two small ones share a site


def _module(attribute, name, ports, body, arcs):
    delays = "".join(f"    ({source} => {sink}) = {ps};\n" for source, sink, ps in arcs)
    return f"(* {attribute} *)\nmodule {name}({ports});\n{body}  specify\n{delays}  endspecify\nendmodule\n"


def _lut(size):
    pins = [f"I{k}" for k in range(size)]
    if size <= 6:
        name, body = f"LUT{size}", f"  parameter [{(1 << size) - 1}:0] INIT = 0;\n  assign O = INIT >> {{{', '.join(reversed(pins))}}};\n"
        delay = dict.fromkeys(pins, LUT[size])
    else:                                                   # of two or four LUT6, which share six pins
        name, body = f"\\$__ABC9_LUT{size} ", ""
        steps = size - 6
        delay = {pin: LUT[6] + steps * (INSIDE_SLICE + MUXF) if k < 6 else MUXF * steps for k, pin in enumerate(pins)}
    return _module(f"abc9_lut={AREA[size]}", name, f"output O, {', '.join(f'input {pin}' for pin in pins)}", body,
                   [(pin, "O", ps) for pin, ps in delay.items()])


def _carry4():
    """Carry out and sum of each bit, from its own and all lower select and data pins, and from the carry in."""
    arcs = []
    for k in range(4):
        for sink, own in ((f"O[{k}]", False), (f"CO[{k}]", True)):
            arcs += [("CYINIT", sink, CARRY), ("CI", sink, CARRY_ON)]
            arcs += [(f"S[{j}]", sink, CARRY) for j in range(k + 1)] + [(f"DI[{j}]", sink, CARRY) for j in range(k + own)]
    body = "  assign O = S ^ {CO[2:0], CI | CYINIT};\n" + "".join(
        f"  assign CO[{k}] = S[{k}] ? {f'CO[{k - 1}]' if k else 'CI | CYINIT'} : DI[{k}];\n" for k in range(4))
    ports = "(* abc9_carry *) output [3:0] CO, output [3:0] O, (* abc9_carry *) input CI, input CYINIT, input [3:0] DI, input [3:0] S"
    return _module("abc9_box, lib_whitebox", "CARRY4", ports, body, arcs)


#: Names of yosys' cells that are replaced.
REPLACED = (*(f"LUT{size}" for size in range(1, 7)), "$__ABC9_LUT7", "$__ABC9_LUT8", "CARRY4")
VERILOG = "\n".join([*(_lut(size) for size in range(1, 9)), _carry4()])
