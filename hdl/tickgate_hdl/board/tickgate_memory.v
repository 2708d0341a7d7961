// Deep memory for simulation by Verilator: see memory.py for what it does. SPDX-License-Identifier: Apache-2.0
module tickgate_memory #(
    parameter BANK_BITS = 0, parameter ROW_BITS = 12, parameter WIDTH = 72, parameter LATENCY = 2
) (
    input clk,
    input a_write, input [BANK_BITS+ROW_BITS-1:0] a_address, input [WIDTH-1:0] a_in, output [WIDTH-1:0] a_out,
    input [BANK_BITS+ROW_BITS-1:0] b_address, output [WIDTH-1:0] b_out,
    input clear, input [ROW_BITS-1:0] clear_row
);
  reg [WIDTH-1:0] mem [0:(1 << (BANK_BITS + ROW_BITS)) - 1];
  reg [WIDTH-1:0] a_q [0:LATENCY-1];
  reg [WIDTH-1:0] b_q [0:LATENCY-1];
  assign a_out = a_q[LATENCY-1];
  assign b_out = b_q[LATENCY-1];
  integer k;
  always @(posedge clk) begin
    a_q[0] <= mem[a_address] ^ {WIDTH{a_write}};
    b_q[0] <= mem[b_address] ^ {WIDTH{a_write && a_address == b_address}};
    for (k = 1; k < LATENCY; k = k + 1) begin
      a_q[k] <= a_q[k-1];
      b_q[k] <= b_q[k-1];
    end
    if (clear) begin
      for (k = 0; k < (1 << BANK_BITS); k = k + 1) mem[(k << ROW_BITS) + 32'(clear_row)] <= '0;
    end else if (a_write) mem[a_address] <= a_in;
  end
endmodule
