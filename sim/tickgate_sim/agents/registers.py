"""The host's side of the registers: by block and name, over AXI4-Lite."""
import logging

from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiResp

from tickgate.spec.registers import BLOCKS


class Registers:
    """Reads and writes registers of ``tickgate.spec.registers`` at the port ``csr`` of ``dut``; an answer that is not OKAY is an assertion error."""

    def __init__(self, dut):
        logging.getLogger(f"cocotb.{dut._name}.csr_").setLevel(logging.WARNING)   # it tells every access
        self._master = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "csr_"), dut.clk, dut.rst)
        self._places = {(block.name, r.name): (address, r.words) for block in BLOCKS for address, r in block.offsets()}

    async def write(self, block, name, value):
        address, words = self._places[block, name]
        answer = await self._master.write(address, value.to_bytes(4 * words, "little"))
        assert answer.resp == AxiResp.OKAY

    async def read(self, block, name):
        address, words = self._places[block, name]
        answer = await self._master.read(address, 4 * words)
        assert answer.resp == AxiResp.OKAY
        return int.from_bytes(answer.data, "little")

    async def counters(self, block):
        """Counters of a block by name."""
        return {r.name: await self.read(block.name, r.name) for r in block.registers if r.access == "count"}
