"""What drives and watches ports in benches: scripts of inputs by cycle, frames, host memory, registers."""
