"""Generic parts."""
