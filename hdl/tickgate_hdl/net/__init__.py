"""Frames to numbered messages."""
