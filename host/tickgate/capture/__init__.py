"""Captures in: pcap, pcapng and BinaryFILE ITCH become batches of Ethernet frames with times, and a survey of what is in them.

``open_capture(path).frames()`` streams the frames, ``scan(capture)`` says which symbols, groups and messages it holds.
"""
from .binaryfile import write_binaryfile
from .capture import Capture, open_capture
from .decode import Decoder, Messages, datagrams
from .errors import CaptureError
from .frames import FrameBatch, Report
from .packing import NASDAQ, Packing, mold_frame, mold_frames, udp_frame
from .pcap import write_pcap
from .sample import sample_path
from .scan import Scan, scan

__all__ = ["NASDAQ", "Capture", "CaptureError", "Decoder", "FrameBatch", "Messages", "Packing", "Report", "Scan", "datagrams", "mold_frame",
           "mold_frames", "open_capture", "sample_path", "scan", "udp_frame", "write_binaryfile", "write_pcap"]
