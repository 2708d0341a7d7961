"""SoupBinTCP and OUCH: the tables against the fact tables and real packets, and tagged values."""
import json
import random

import pytest

from tickgate.capture import datagrams, open_capture
from tickgate.spec import ethernet, ouch42, ouch50, soupbintcp

MESSAGES = [(name, way, m) for name, spec in (("50", ouch50), ("42", ouch42))
            for way, messages in (("inbound", spec.INBOUND), ("outbound", spec.OUTBOUND)) for m in messages]


@pytest.mark.parametrize("name", ["ouch50", "ouch42"])
def test_every_message_is_that_of_the_fact_table(real_data, name):
    spec, facts, seen = {"ouch50": ouch50, "ouch42": ouch42}[name], json.loads(real_data(f"../protocols/{name}.json").read_text()), 0
    for way, table in (("inbound", spec.IN), ("outbound", spec.OUT)):
        assert {code.decode() for code in table} == facts[way].keys()
        for code, fact in facts[way].items():
            message = table[code.encode()]
            fields = [(f["name"], f["offset"], f["length"]) for f in fact["fields"] if f["length"] != "variable"]
            assert (message.name, message.size) == (fact["name"], fact["length"]), code
            assert [(f.name, f.offset, f.size) for f in message.fields] == fields, code
            seen += 1
    assert seen == 20


def test_values_are_those_of_the_fact_table(real_data):
    facts = json.loads(real_data("../protocols/ouch50.json").read_text())
    assert {int(code, 16) for code in facts["values"]["reject_reason"]} == set(ouch50.REJECT_REASONS.values())
    for code, text in facts["values"]["reject_reason"].items():    # the words differ, their first letters tell an error in the counting
        name = next(n for n, value in ouch50.REJECT_REASONS.items() if value == int(code, 16))
        assert name[0] == text[0].lower(), (code, name, text)
    for spec, fact in ((ouch50, facts), (ouch42, json.loads(real_data("../protocols/ouch42.json").read_text()))):
        assert {code.decode() for code in spec.CANCEL_REASONS.values()} == fact["values"]["cancel_reason"].keys()
        assert {code.decode() for code in spec.SIDES} == fact["values"]["side"].keys()
    tags = facts["appendage"]["tags"]
    assert {t.number for t in ouch50.TAGS} == set(map(int, tags))
    for t in ouch50.TAGS:
        assert t.size == tags[str(t.number)]["size"] and tags[str(t.number)]["name"].startswith(t.name), t


def test_soupbintcp_against_the_fact_table(real_data):
    facts = json.loads(real_data("../protocols/soupbintcp.json").read_text())
    for way, types in (("server_to_client", soupbintcp.FROM_SERVER), ("client_to_server", soupbintcp.FROM_CLIENT)):
        assert {code.decode() for code in types} == facts[way].keys()
    for layout, fact in ((soupbintcp.LOGIN_REQUEST, facts["client_to_server"]["L"]), (soupbintcp.LOGIN_ACCEPTED, facts["server_to_client"]["A"]),
                         (soupbintcp.LOGIN_REJECTED, facts["server_to_client"]["J"])):
        assert [(f.offset + soupbintcp.HEADER.size, f.size) for f in layout.fields] == [(f["offset"], f["length"]) for f in fact["fields"]]
        assert layout.size + soupbintcp.HEADER["type"].size == fact["packet_length"]


def tcp_payload(path):
    """What the TCP segment of a capture with one frame carries: lengths come from IPv4 and TCP, since trailers follow."""
    (batch,) = open_capture(path).frames()
    (frame,) = batch
    assert datagrams(batch).skipped == {"not_udp": 1}
    ip = ethernet.ETHERNET.size
    if ethernet.ETHERNET.decode(frame)["ethertype"] in ethernet.ETHERTYPE_VLAN:
        ip += ethernet.VLAN.size
    at = ip + 4 * (frame[ip] & 15)                       # of the TCP header, whose length is in byte 12
    return frame[at + 4 * (frame[at + 12] >> 4):ip + ethernet.IPV4.decode(frame, ip)["total_length"]]


def test_real_packets(real_data):
    def payload(name):
        raw = tcp_payload(real_data(f"ouch/Nasdaq.Nsm.Ouch.v5.0__{name}.pcap"))
        head = soupbintcp.HEADER.decode(raw)
        assert head["length"] == len(raw) - soupbintcp.HEADER["length"].size
        return head["type"], raw[soupbintcp.HEADER.size:]

    assert payload("ClientHeartbeatPacket") == (soupbintcp.CLIENT_HEARTBEAT, b"")
    assert payload("ServerHeartbeatPacket") == (soupbintcp.SERVER_HEARTBEAT, b"")
    for name, kind, message in (("EnterOrderMessage", soupbintcp.UNSEQUENCED, ouch50.IN[b"O"]),
                                ("OrderAcceptedMessage", soupbintcp.SEQUENCED, ouch50.OUT[b"A"])):
        got, raw = payload(name)
        values = message.decode(raw)
        assert got == kind and raw[:1] == message.code and values["side"] in ouch50.SIDES
        assert len(raw) == message.size + values["appendage_length"] and message.encode(**values) == raw[:message.size]
        tags = ouch50.tagged(raw[message.size:])
        assert tags and ouch50.appendage(**tags) == raw[message.size:]


@pytest.mark.parametrize(("name", "way", "message"), MESSAGES, ids=lambda x: getattr(x, "name", x))
def test_encode_and_decode_are_inverse(name, way, message):
    rng = random.Random(f"{name} {way} {message.name}")
    for _ in range(10):
        values = {f.name: rng.randrange(256 ** f.size) if f.kind == "uint" else rng.randbytes(f.size) for f in message.fields}
        raw = message.encode(**values)
        assert len(raw) == message.size and message.decode(raw) == values
    assert message.encode()[:1] == message.code


def test_tagged_values():
    seed = 7
    rng = random.Random(seed)
    for _ in range(200):
        chosen = rng.sample(ouch50.TAGS, rng.randrange(6))
        values = {t.name: bytes(rng.choices(b"ABC ", k=t.size)) if t.kind == "alpha" else
                  rng.randrange(-1 << 8 * t.size - 1, 1 << 8 * t.size - 1) if t.kind == "int" else rng.randrange(1 << 8 * t.size) for t in chosen}
        raw = ouch50.appendage(**values)
        assert ouch50.tagged(raw) == values and len(raw) == sum(2 + t.size for t in chosen)
        assert ouch50.tagged(bytes((3, 21, 1, 2)) + raw + bytes((1, 8))) == values     # 8 and 21 are nobody's
        for cut in range(1, len(raw)):
            whole = {sum(2 + t.size for t in chosen[:n]) for n in range(len(chosen))}
            if cut not in whole:
                with pytest.raises(ValueError, match="element at byte"):
                    ouch50.tagged(raw[:cut])
    for raw, why in ((b"\0\x02", "its length is 0"), (b"\x04\x02ABC", "tag firm: 3 bytes, not 4")):
        with pytest.raises(ValueError, match=why):
            ouch50.tagged(raw)
    for values, why in ((dict(firm="FIVER"), "does not fit"), (dict(min_qty=1 << 32), "does not fit"), (dict(fir="A"), "has no tag fir")):
        with pytest.raises(ValueError, match=why):
            ouch50.appendage(**values)


def test_login_fields_are_padded_as_the_specification_says_and_read_either_way():
    raw = soupbintcp.login_request("user", "pass", "S1", 42)
    assert raw == b"user  " + b"pass      " + b"        S1" + b"42".rjust(20)
    assert [soupbintcp.text(field) for field in (b"  S1", b"S1  ", b"S1\0\0", b"")] == ["S1", "S1", "S1", ""]
    with pytest.raises(ValueError, match="username"):
        soupbintcp.login_request("longname", "pass")
    with pytest.raises(ValueError, match="length"):
        soupbintcp.packet(soupbintcp.UNSEQUENCED, bytes(soupbintcp.MAXIMUM_PAYLOAD + 1))
