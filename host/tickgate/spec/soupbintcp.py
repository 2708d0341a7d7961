"""SoupBinTCP 3.00: packets in a TCP stream; those of the server that carry data have numbers, which nobody sends.

Source: Nasdaq SoupBinTCP 3.00. Network byte order, numbers in text are ASCII decimals. TCP cuts packets anywhere.
"""
from .layout import Field, Layout

HEADER = Layout("soupbintcp", 3, (
    Field("length", 0, 2, unit="bytes", doc="of what follows, the type included; at least 1"),
    Field("type", 2, 1, "alpha"),
), doc="Before every packet; the payload follows.", source="SoupBinTCP 3.00, 2.1 Packet Types")

LOGIN_REQUEST = Layout("soupbintcp_login_request", 46, (
    Field("username", 0, 6, "alpha"),
    Field("password", 6, 10, "alpha"),
    Field("session", 16, 10, "alpha", doc="padded on the left; blank for the one that is open"),
    Field("sequence", 26, 20, "alpha", doc="padded on the left; number of the first message wanted, 0 for new ones only"),
), doc="Payload of L.", source="SoupBinTCP 3.00, 2.3.1")

LOGIN_ACCEPTED = Layout("soupbintcp_login_accepted", 30, (
    Field("session", 0, 10, "alpha", doc="padded on the left"),
    Field("sequence", 10, 20, "alpha", doc="padded on the left; number of the next sequenced message"),
), doc="Payload of A.", source="SoupBinTCP 3.00, 2.2.2")

LOGIN_REJECTED = Layout("soupbintcp_login_rejected", 1, (
    Field("reason", 0, 1, "alpha"),
), doc="Payload of J; the server closes after it.", source="SoupBinTCP 3.00, 2.2.3")

#: Packets by type: what they are.
FROM_SERVER = {b"+": "debug", b"A": "login accepted", b"J": "login rejected", b"S": "sequenced data", b"H": "server heartbeat", b"Z": "end of session"}
FROM_CLIENT = {b"+": "debug", b"L": "login request", b"U": "unsequenced data", b"R": "client heartbeat", b"O": "logout request"}
DEBUG, ACCEPTED, REJECTED, SEQUENCED, SERVER_HEARTBEAT, END_OF_SESSION = FROM_SERVER
_, LOGIN, UNSEQUENCED, CLIENT_HEARTBEAT, LOGOUT = FROM_CLIENT

#: Why a login is rejected.
NOT_AUTHORISED, NO_SESSION = b"A", b"S"

#: ns: either side sends something at least this often; a side that hears nothing for so long gives up; a client must log in within so long.
HEARTBEAT_NS, TIMEOUT_NS, LOGIN_TIMEOUT_NS = 1_000_000_000, 15_000_000_000, 30_000_000_000

FIRST_SEQUENCE = 1
MAXIMUM_PAYLOAD = (1 << 8 * HEADER["length"].size) - 1 - HEADER["type"].size   # bytes


def packet(kind, payload=b""):
    """Bytes of a packet of type ``kind``. Raises ``ValueError`` when the payload is too long."""
    return HEADER.encode(length=HEADER["type"].size + len(payload), type=kind) + payload


def login_request(username, password, session="", sequence=FIRST_SEQUENCE):
    """Payload of L. Raises ``ValueError`` for what does not fit."""
    return LOGIN_REQUEST.encode(username=username, password=password, **_left(LOGIN_REQUEST, session=session, sequence=sequence))


def login_accepted(session, sequence):
    """Payload of A."""
    return LOGIN_ACCEPTED.encode(**_left(LOGIN_ACCEPTED, session=session, sequence=sequence))


def _left(layout, **values):
    """Text of fields that are padded on the left."""
    return {name: str(value).rjust(layout[name].size) for name, value in values.items()}


def text(field):
    """A text field without its padding, on whichever side it is: blanks or zero bytes."""
    return field.strip(b" \0").decode("ascii", "replace")
