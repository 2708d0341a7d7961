"""Deep memories: banks of block or ultra RAM that look like one memory.

Two ports: A reads or writes, B reads. Read latency in cycles from address to data, data held by no enable. What a port shows of a word that is written in
the same cycle is not defined: ultra RAM and block RAM differ there, so nobody may build on it. All banks can be cleared at one row a cycle together.

What it becomes depends on the platform that it is elaborated for:
- ``"verilator"``: an instance of the plain Verilog module in ``tickgate_memory.v``: as a register array of Amaranth every row would become a line of Verilog.
  It shows the complement of a word that is being written, so that who builds on it is found out;
- ``"xilinx"``: one Xilinx parameterised macro (``xpm_memory_tdpram``, UG974) a bank, and the multiplexers between them. Bits beyond the 72 of an ultra RAM go
  to block RAM beside it;
- any other: Amaranth memory, for simulation in Python and for formal tools.
"""
from pathlib import Path

from amaranth import Cat, ClockSignal, Const, Instance, Module, Mux, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from ..stream.logic import delay, mux_tree

ULTRA_WIDTH = 72           # bits of an ultra RAM's word; it has 4,096 of them
MACRO = "xpm_memory_tdpram"


def verilog_sources():
    """Verilog files that a design elaborated for ``"verilator"`` needs beside its own."""
    return [Path(__file__).with_name("tickgate_memory.v")]


def macro(*, primitive, depth, width, latency, ports):
    """An instance of the vendor's memory: port A writes and reads, port B reads."""
    address = (depth - 1).bit_length()
    off = {f"i_{name}": Const(0, 1) for name in ("sleep", "injectsbiterra", "injectdbiterra", "injectsbiterrb", "injectdbiterrb", "rsta", "rstb")}
    return Instance(
        MACRO, p_MEMORY_PRIMITIVE=primitive, p_MEMORY_SIZE=depth * width, p_CLOCKING_MODE="common_clock", p_MEMORY_INIT_FILE="none", p_MEMORY_INIT_PARAM="0",
        p_USE_MEM_INIT=0, p_ECC_MODE="no_ecc", p_AUTO_SLEEP_TIME=0, p_MESSAGE_CONTROL=0, p_WAKEUP_TIME="disable_sleep", p_MEMORY_OPTIMIZATION="true",
        p_CASCADE_HEIGHT=1,                                    # no cascade: its registers would cost cycles, the multiplexers are ours
        **{f"p_{name}_{port}": value for port in "AB" for name, value in {
            "WRITE_DATA_WIDTH": width, "READ_DATA_WIDTH": width, "BYTE_WRITE_WIDTH": width, "ADDR_WIDTH": address, "READ_LATENCY": latency,
            "READ_RESET_VALUE": "0", "WRITE_MODE": "no_change"}.items()},
        i_clka=ClockSignal(), i_clkb=ClockSignal(), i_ena=Const(1, 1), i_enb=Const(1, 1), i_regcea=Const(1, 1), i_regceb=Const(1, 1),
        i_web=Const(0, 1), i_dinb=Const(0, width), **off, **ports)


class DeepMemory(wiring.Component):
    """``2^bank_bits`` banks of ``2^row_bits`` rows of ``width`` bits, addressed {bank, row}.

    ``primitive`` is ``"ultra"`` or ``"block"``. The first two cycles of ``latency`` are the memory's own and its output register's (one, when ``latency`` is
    1); each further one is a register in the multiplexer of the banks.

    ``ahead``: ``a_write`` with the bank, ``a_bank``, comes a cycle before row and word (the bank in ``a_address`` is of no account then), so that every bank
    has its write enable from a register. So does ``clear``: a cycle later every bank takes ``a_in``, which must be 0, at the row of ``a_address``."""

    def __init__(self, *, bank_bits, row_bits, width, latency, primitive="ultra", ahead=False):
        if latency < 1:
            raise ValueError(f"latency must be at least 1 cycle, not {latency}")
        if primitive not in ("ultra", "block"):
            raise ValueError(f"primitive must be ultra or block, not {primitive}")
        self.bank_bits, self.row_bits, self.width, self.latency, self.primitive = bank_bits, row_bits, width, latency, primitive
        self.ahead = ahead
        super().__init__({
            "a_write": In(1), "a_address": In(bank_bits + row_bits), "a_in": In(width), "a_out": Out(width),
            "b_address": In(bank_bits + row_bits), "b_out": Out(width),
            "clear": In(1), **({"a_bank": In(bank_bits)} if ahead else {"clear_row": In(row_bits)})})

    def elaborate(self, platform):
        m = Module()
        row, bank = self.row_bits, self.bank_bits
        a_write, a_address, clear, clear_row = self.a_write, self.a_address, self.clear, self.a_address[:row] if self.ahead else self.clear_row
        if self.ahead:
            a_write, clear, a_bank = Signal(), Signal(), Signal(bank)
            m.d.sync += [a_write.eq(self.a_write), clear.eq(self.clear), a_bank.eq(self.a_bank)]
            a_address = Mux(a_write, Cat(clear_row, a_bank), self.a_address)
        if platform == "verilator":
            m.submodules.ram = Instance(
                "tickgate_memory", p_BANK_BITS=self.bank_bits, p_ROW_BITS=self.row_bits, p_WIDTH=self.width, p_LATENCY=self.latency,
                i_clk=ClockSignal(), i_a_write=a_write, i_a_address=a_address, i_a_in=self.a_in, o_a_out=self.a_out,
                i_b_address=self.b_address, o_b_out=self.b_out, i_clear=clear, i_clear_row=clear_row)
            return m
        own = min(self.latency, 2)                             # cycles of a bank
        words = {"a": [], "b": []}
        for k in range(1 << bank):
            write, address, value = Signal(name=f"write{k}"), Signal(row, name=f"address{k}"), Signal(self.width, name=f"value{k}")
            if self.ahead:
                m.d.sync += write.eq(self.clear | self.a_write & (self.a_bank == k))
                m.d.comb += [address.eq(self.a_address[:row]), value.eq(self.a_in)]
            else:
                m.d.comb += [write.eq(clear | a_write & (a_address[row:] == k)), address.eq(clear_row)]
                with m.If(~clear):
                    m.d.comb += [address.eq(a_address[:row]), value.eq(self.a_in)]
            if platform == "xilinx":
                outs = {port: Signal(self.width, name=f"{port}_bank{k}") for port in "ab"}
                cuts = [*range(0, self.width, ULTRA_WIDTH), self.width] if self.primitive == "ultra" else [0, self.width]
                for low, high in zip(cuts, cuts[1:]):
                    m.submodules[f"bank{k}_{low}"] = macro(
                        primitive=self.primitive if low == 0 else "block", depth=1 << row, width=high - low, latency=own, ports=dict(
                            i_wea=write, i_addra=address, i_dina=value[low:high], o_douta=outs["a"][low:high],
                            i_addrb=self.b_address[:row], o_doutb=outs["b"][low:high]))
                for port in "ab":
                    words[port].append(outs[port])
                continue
            m.submodules[f"bank{k}"] = ram = memory.Memory(shape=self.width, depth=1 << row, init=[])
            port = ram.write_port()
            m.d.comb += [port.en.eq(write), port.addr.eq(address), port.data.eq(value)]
            for name in "ab":
                read = ram.read_port()
                m.d.comb += read.addr.eq(getattr(self, f"{name}_address")[:row])
                words[name].append(delay(m, read.data, own - 1, f"{name}_bank{k}")[-1] if own > 1 else read.data)
        for port in "ab":
            items, done = words[port], 0
            where = delay(m, Cat(getattr(self, f"{port}_address")[row:]), self.latency, f"{port}_where") if bank else []
            for cycle in range(own, self.latency + 1):         # this cycle's part of the multiplexer, then a register but in the last
                bits = bank - done if cycle == self.latency else min(4, bank - done)   # sixteen to one: two LUTs
                if bits:
                    select = where[cycle - 1][done:done + bits]
                    items = [mux_tree(m, select, items[k:k + (1 << bits)], f"{port}_mux{cycle}_{k}") for k in range(0, len(items), 1 << bits)]
                    done += bits
                if cycle < self.latency:
                    items = [delay(m, item, 1, f"{port}_part{cycle}_{k}")[0] for k, item in enumerate(items)]
            m.d.comb += getattr(self, f"{port}_out").eq(items[0])
        return m
