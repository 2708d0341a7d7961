"""``tickgate filter``: some of the messages in the framing they came in."""
import gzip
import json
import subprocess
import sys

import dpkt
import pytest

from tickgate.capture import NASDAQ, Packing, mold_frame, mold_frames, open_capture, write_pcap
from tickgate.spec import moldudp64

from . import reference as ref

HOUR = 3600 * 10 ** 9


@pytest.fixture
def filtered(run, tmp_path):
    """``filtered(input, *arguments)``: status, the messages that came out, the path."""
    def command(source, *arguments, name="out.itch"):
        out = tmp_path / name
        status, text, err = run("filter", "--quiet", source, out, *arguments)
        assert err == ("" if status == 0 else err)
        return status, ref.blocks(out.read_bytes()) if "pcap" not in name else None, out

    return command


def test_symbols_market_and_directory_stay(filtered, capture):
    messages = ref.blocks(capture.read_bytes())
    decoded = ref.decoded(messages)
    mine = {m["stock_locate"] for _, letter, m in decoded if letter == "R" and m["stock"].strip() in (b"ALFA", b"CHARLIE")}
    assert len(mine) == 2
    status, out, path = filtered(capture, "--symbol", "ALFA,charlie")
    assert status == 0 and path.read_bytes().endswith(b"\0\0")
    assert out == [messages[n - 1] for n, letter, m in decoded if m["stock_locate"] in mine or letter in "SVW"]
    # what an order book needs is all there: the books are those of the whole day
    whole, part = ref.bbo(messages, {"ALFA", "CHARLIE"}), ref.bbo(out)
    assert [row[:2] + row[3:] for row in whole] == [row[:2] + row[3:] for row in part] and len(part) > 300
    _, out, _ = filtered(capture, "--symbol", "ALFA", "--start", "10:00", "--end", "11:00:00.5")
    locate = min(mine)
    assert out == [messages[n - 1] for n, letter, m in decoded
                   if letter == "R" and m["stock_locate"] == locate
                   or 10 * HOUR <= m["timestamp"] < 11 * HOUR + 500_000_000 and (m["stock_locate"] == locate or letter in "SVW")]


def test_types_and_limit(filtered, capture):
    messages = ref.blocks(capture.read_bytes())
    chosen = [m for m in messages if m[:1] in b"AFU"]
    assert filtered(capture, "--type", "A,F,U")[1] == chosen
    assert filtered(capture, "--type", "AFU", "--limit", 100)[1] == chosen[:100]
    assert filtered(capture)[2].read_bytes() == capture.read_bytes()


def test_real_symbol_gives_the_same_book(filtered, real_data, run):
    """All rows of a symbol, from the whole file and from the filtered one."""
    path = real_data("itch/derived_20191230_book_slice.itch")
    _, out, small = filtered(path, "--symbol", "AZN")
    rows = [ref.table(run("bbo", "--quiet", one, "--symbol", "AZN", "--every", "message")[1]) for one in (path, small)]
    for table in rows:
        for row in table:
            del row["number"]
    assert rows[0] == rows[1] and len(rows[0]) == sum(m[:1] in b"AFECXDU" for m in out) > 50


def test_compressed_and_standard_streams(filtered, capture):
    _, _, plain = filtered(capture, "--symbol", "ALFA")
    _, _, zipped = filtered(capture, "--symbol", "ALFA", name="out.itch.gz")
    assert ref.unzipped(zipped) == plain.read_bytes()
    done = subprocess.run([sys.executable, "-m", "tickgate.app.main", "filter", "-", "-", "--symbol", "ALFA"], input=gzip.compress(capture.read_bytes()),
                          capture_output=True, timeout=120, check=True)
    assert done.stdout == plain.read_bytes() and b" of 1,500 messages" in done.stderr


def test_cut_input_gives_no_end_marker(filtered, capture, tmp_path):
    short = tmp_path / "short.itch"
    short.write_bytes(capture.read_bytes()[:-12])
    status, out, path = filtered(short, "--symbol", "*")
    assert status == 1 and not path.read_bytes().endswith(b"\0\0") and len(out) == 1499 - sum(m[1:3] == b"\0\0" and m[:1] not in b"SVW" for m in out)


def packets(path):
    """Of each frame: time, dpkt's Ethernet, MoldUDP64 header, messages; checked by dpkt."""
    out = []
    for batch in open_capture(path).frames():
        for k in range(len(batch)):
            frame = dpkt.ethernet.Ethernet(batch[k])
            ip = frame.data if isinstance(frame.data, dpkt.ip.IP) else frame.ip
            assert bytes(ip)[10:12] == dpkt.ip.IP(bytes(ip)).pack_hdr()[10:12] or ip.sum
            payload = bytes(ip.data.data)
            assert ip.data.ulen == 8 + len(payload) and ip.len == ip.hl * 4 + ip.data.ulen and ip.data.sum == 0
            words = [int.from_bytes(bytes(ip)[j:j + 2], "big") for j in range(0, ip.hl * 4, 2)]
            total = sum(words)
            assert (total & 0xFFFF) + (total >> 16) == 0xFFFF
            header = moldudp64.HEADER.decode(payload)
            messages = ref.blocks(payload[moldudp64.HEADER.size:] + b"\0\0")
            assert len(messages) == header["count"]
            out.append((int(batch.time_ns[k]), frame, header, messages))
    return out


def test_packets_keep_their_headers_and_count_anew(filtered, capture, tmp_path, run):
    messages = ref.blocks(capture.read_bytes())
    times = [int.from_bytes(m[5:11], "big") for m in messages]
    packing = Packing(vlans=(0x6064, 0x0065), ttl=7, session="FILTERTEST")
    batch = mold_frames(messages, times, packing)
    source = tmp_path / "in.pcap"
    before = [int(t) + 10 ** 18 for t in batch.time_ns]
    write_pcap(source, list(batch), before)
    status, _, path = filtered(source, "--symbol", "BRAVO", name="out.pcap")
    out = packets(path)
    _, expected, _ = filtered(capture, "--symbol", "BRAVO")
    assert status == 0 and [m for _, _, _, its in out for m in its] == expected
    number = 1
    for time, frame, header, its in out:
        assert header["session"] == b"FILTERTEST" and header["sequence"] == number and time in before
        number += len(its)
        assert [tag.id for tag in frame.vlan_tags] == [0x64, 0x65]
        raw = bytes(frame)
        assert raw[:12] == batch[0][:12] and raw[30] == 7                # MAC addresses, TTL
    assert run("count", "--quiet", path)[0] == 0


def test_gaps_duplicates_and_a_late_start(filtered, capture, tmp_path):
    """Five packets of ten messages: the capture begins at 101, the third is missing, the fourth comes twice."""
    messages = ref.blocks(capture.read_bytes())[100:150]
    adds = [k for k, m in enumerate(messages) if m[:1] in b"AD"]
    frames = [mold_frame(101 + k, messages[k:k + 10]) for k in range(0, 50, 10)]
    source = tmp_path / "in.pcap"
    order = [0, 1, 3, 3, 4]
    write_pcap(source, [frames[k] for k in order], [10 ** 18 + k for k in range(5)])
    status, _, path = filtered(source, "--type", "AD", name="out.pcap")
    out = packets(path)
    kept = [k for k in adds if not 20 <= k < 30]
    assert status == 1 and [m for _, _, _, its in out for m in its] == [messages[k] for k in kept]
    before = sum(k < 20 for k in kept)
    assert out[0][2]["sequence"] == 101
    numbers = [header["sequence"] + j for _, _, header, its in out for j in range(len(its))]
    assert numbers == [101 + j + (10 if j >= before else 0) for j in range(len(kept))]


def test_what_is_no_itch_goes(filtered, tmp_path, capture):
    messages = ref.blocks(capture.read_bytes())[:5]
    other = mold_frame(1, [b"hello"], Packing(port=NASDAQ.port + 1))
    frames = [other, mold_frame(1, messages), mold_frame(6), mold_frame(6, count=moldudp64.END_OF_SESSION)]
    source = tmp_path / "in.pcap"
    write_pcap(source, frames, range(4))
    _, _, path = filtered(source, name="out.pcap")
    (packet,) = packets(path)
    assert packet[3] == messages


def test_bad_input(run, capture, tmp_path):
    for arguments, cause in ((("--type", "AZ"), "no message type 'Z'"), (("--symbol", "ALFAX"), "unknown symbol ALFAX: near it are ALFA"),
                             (("--symbol", "Z*"), "no symbol is like Z*"), (("--start", "25:00"), "'25:00' is no time of day"),
                             (("--start", "10:00", "--end", "09:00"), "--start must be before --end"), (("--limit", "0"), "--limit")):
        status, out, err = run("filter", "--quiet", capture, tmp_path / "out.itch", *arguments)
        assert (status, out) == (2, "") and cause in err and err.count("\n") == 1, err
    assert not (tmp_path / "out.itch").exists() and list(tmp_path.iterdir()) == []
    status, out, err = run("filter", "--quiet", capture, capture)
    assert status == 2 and "it is the capture" in err and capture.stat().st_size > 1000


def test_report(run, capture, tmp_path):
    status, out, err = run("filter", "--quiet", "--json", capture, tmp_path / "out.itch", "--limit", 10)
    report = json.loads(out)
    assert status == 0 and report["kept"] == 10 and report["complete"] and report["kind"] == "BinaryFILE ITCH"
