"""What gateware, host and twin must agree on, declared once as data. Imports nothing of ours."""
