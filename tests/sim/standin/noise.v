// A register that nothing ever sets.
module noise(output reg [31:0] value);
endmodule
