"""Where the shipped sample is."""
from pathlib import Path


def sample_path():
    """Path of a made-up day of 16 symbols and 60,000 messages: BinaryFILE ITCH, gzip-compressed, written by ``tickgate.capture.synthetic``."""
    return Path(__file__).resolve().parent.parent / "data" / "sample.itch.gz"
