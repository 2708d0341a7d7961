"""MoldUDP64 1.0: numbered messages in datagrams.

Source: Nasdaq MoldUDP64 protocol specification V 1.00. Network byte order.
"""
from .layout import Field, Layout

HEADER = Layout("moldudp64", 20, (
    Field("session", 0, 10, "alpha"),
    Field("sequence", 10, 8, unit="messages", doc="number of the first message; of the next one in heartbeats and at the end of the session"),
    Field("count", 18, 2, unit="messages"),
), doc="Downstream packet header; message blocks follow.", source="MoldUDP64 1.00, Downstream Packet")

BLOCK = Layout("moldudp64_block", 2, (
    Field("length", 0, 2, unit="bytes", doc="of the message that follows, without these two bytes; may be 0"),
), source="MoldUDP64 1.00, Message Block")

HEARTBEAT = 0            # count of a heartbeat: no messages, `sequence` is the next expected
END_OF_SESSION = 0xFFFF  # count at the end of the session: no messages either
MAXIMUM_COUNT = 0xFFFE
FIRST_SEQUENCE = 1
