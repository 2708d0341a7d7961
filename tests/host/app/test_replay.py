"""The main job over a device that gives the twin's own records back: what is equal is found equal, and every way to differ is found."""
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tickgate.app import pair
from tickgate.capture import Packing, mold_frame, mold_frames, open_capture, scan, write_binaryfile, write_pcap
from tickgate.report import page
from tickgate.spec import itch50, records
from tickgate.spec.commands import HOST

from .loop import LATENCY

DOCS = Path(__file__).resolve().parents[3] / "docs" / "summary.md"


def test_equal(run, card, capture, tmp_path):
    device = card()
    status, out, err = run("replay", capture, "--json", tmp_path / "s.json")
    assert (status, err) == (0, "")
    found, seen = json.loads((tmp_path / "s.json").read_text()), scan(open_capture(capture))
    assert found["status"] == "equal" and found["mismatches"] == found["dropped"] == 0
    assert found["compared"] == found["records"] == device.written > 1000
    assert found["messages"] == dict(seen.messages) and found["messages_total"] == seen.total == 1500
    assert found["frames"] == device.sent == seen.frames
    assert sum(found["records_by_kind"].values()) == found["records"]
    assert found["records_by_kind"]["top_of_book"] == sum(seen.messages[chr(t)] for t in itch50.BOOK_TYPES) == found["counters"]["book"]["updates"]
    assert found["latency_cycles"]["record"]["A"]["min"] == LATENCY
    assert {s["name"] for s in found["symbols"]} == set(seen.symbols.values()) and not any(s["cause"] for s in found["symbols"])
    assert f"{found['compared']:,}, mismatches 0" in out and f"A {seen.messages['A']:,}" in out
    assert device.closed and list(tmp_path.iterdir()) == [tmp_path / "s.json"]


def test_summary_page_documents_every_key(run, card, capture, tmp_path):
    card()
    run("replay", capture, "--json", tmp_path / "s.json", "--quiet")
    documented = re.findall(r"^\| `(\w+)`", DOCS.read_text(), re.M)
    assert documented == list(json.loads((tmp_path / "s.json").read_text()))


def test_small_ring_wraps(run, card, capture, monkeypatch, tmp_path):
    monkeypatch.setattr(pair, "RING_LOG2", 8)
    device = card()
    assert run("replay", capture, "--json", tmp_path / "s.json")[0] == 0
    assert device.written > 4 << 8
    assert json.loads((tmp_path / "s.json").read_text())["compared"] == device.written


def test_symbols_are_loaded_as_named(run, card, capture):
    device = card()
    names = scan(open_capture(capture)).symbols
    locate = max(names)
    assert run("replay", capture, "--symbols", names[locate].lower(), "--quiet") == (0, "", "")
    assert [s.locate for s in device.symbols.values()] == [locate]


def _spoil_field(name, kind):
    """Change one field of the tenth record of a kind."""
    field = records.RECORDS[kind][name]

    def spoil(rows):
        spoil.seen += (rows["kind"] == records.KINDS[kind]).sum()
        if spoil.seen >= 10 and not spoil.done:
            k = int(np.flatnonzero(rows["kind"] == records.KINDS[kind])[-1])
            raw = rows.view(np.uint8).reshape(-1, records.SIZE)
            raw[k, field.offset] ^= 1
            spoil.done, spoil.sequence = True, int(rows["sequence"][k])
        return rows

    spoil.seen, spoil.done, spoil.sequence = 0, False, None
    return spoil


FIELDS = [(f.name, kind) for kind in ("top_of_book", "status") for f in records.RECORDS[kind].fields if f.name != "t_out_ns"] \
    + [(f.name, "trade") for f in records.RECORDS["trade"].fields if 32 <= f.offset < 56]


@pytest.mark.parametrize(("name", "kind"), FIELDS)
def test_one_wrong_bit_in_any_field(run, card, capture, tmp_path, name, kind, monkeypatch):
    monkeypatch.setattr(pair, "RING_LOG2", 8)
    spoil = _spoil_field(name, kind)
    card(spoil=spoil)
    status, out, err = run("replay", capture, "--json", tmp_path / "s.json", "--quiet")
    found = json.loads((tmp_path / "s.json").read_text())
    assert spoil.done and status == 1 and found["status"] == "mismatch" and found["mismatches"] == 1
    told = found["mismatch"]
    if name not in ("sequence", "kind"):   # those two change what the record is
        assert list(told["fields"]) == [name] and told["record"] == spoil.sequence == found["compared"]
    assert name in err and out == "" and "Traceback" not in err
    assert told["message"]["hex"] and told["cycle"] > 0


def test_mismatch_tells_both_books_and_the_message(run, card, capture, tmp_path):
    spoil = _spoil_field("bid_px", "top_of_book")
    card(spoil=spoil)
    status, _, err = run("replay", capture, "--json", tmp_path / "s.json", "--quiet")
    told = json.loads((tmp_path / "s.json").read_text())["mismatch"]
    frame = next(f for k, f in enumerate(f for b in open_capture(capture).frames() for f in b) if k == told["frame"])
    raw = bytes.fromhex(told["message"]["hex"])
    assert status == 1 and frame[told["frame_offset"]:].startswith(raw)
    layout = itch50.BY_CODE[raw[:1]]
    assert told["message"]["name"] == layout.name and told["message"]["fields"]["stock_locate"] == layout.decode(raw)["stock_locate"]
    # before and after differ by this one message, and the digest after is that of the record
    before, after = told["book_before"], told["book_after"]
    assert before != after and f"digest {told['twin']['digest']:#010x}" in after and f"{told['twin']['digest']:#010x}" not in before
    for text in (told["message"]["hex"], *before.splitlines(), *after.splitlines(), "card's top", "twin's top"):
        assert text in err


def _drop(rows):
    return np.delete(rows, 3)


def _renumbered(rows):
    rows = _drop(rows)
    rows["sequence"] = np.arange(len(rows)) + rows["sequence"][0]
    return rows


def _doubled(rows):
    return np.insert(rows, 4, rows[3])


def _swapped(rows):
    rows[[3, 4]] = rows[[4, 3]]
    return rows


def _one_more(rows):
    return np.append(rows, rows[-1:])


def _surplus(rows):
    rows = _one_more(rows)
    rows["sequence"][-1] += 1
    return rows


def _one_less(rows):
    return rows[:-1]


def _early(rows):
    rows["t_out_ns"][5] = rows["t_wire_ns"][5]
    return rows


def _same_time(rows):
    # after its own last needed byte, but not after the record before
    k = next(k for k in range(1, len(rows)) if rows["t_wire_ns"][k] < rows["t_out_ns"][k - 1])
    rows["t_out_ns"][k] = rows["t_out_ns"][k - 1]
    return rows


@pytest.mark.parametrize(("spoil", "text"), [
    (_drop, "record 3 "), (_renumbered, "record 3 "), (_doubled, "ring: sequence numbers"), (_swapped, "  sequence  "),
    (_one_more, "ring: sequence numbers"),
    (_surplus, "the twin expects none"), (_one_less, "the card wrote none"), (_early, "t_out_ns"), (_same_time, "t_out_ns"),
])
def test_record_lost_doubled_or_out_of_order(run, card, capture, spoil, text):
    card(spoil=spoil)   # the capture fits one batch: spoil is called once
    status, _, err = run("replay", capture, "--quiet")
    assert status == 1 and err.startswith("tickgate: mismatch: ") and text in err


def test_dropped_records_are_lost_but_the_rest_is_compared(run, card, capture, tmp_path):
    device = card(spoil=lambda rows: np.delete(rows, [3, 4, 9]), lie={"ring.dropped_full": 3})
    status, _, err = run("replay", capture, "--json", tmp_path / "s.json")
    found = json.loads((tmp_path / "s.json").read_text())
    assert status == 1 and "3 records are missing in the ring's sequence" in err
    assert found["compared"] == found["records"] == device.written and found["dropped"] == 3 and found["mismatch"] is None


@pytest.mark.parametrize("name", ["net.datagrams", "net.filtered", "mold.messages", "feed.other", "book.updates", "book.table_full", "mold.expected",
                                  "mold.session_high", "symbol.stale", "feed.type_count", "ring.records", "ring.dropped_busy",
                                  "ring.dropped_off"])
def test_final_counters_are_compared(run, card, capture, name, tmp_path):
    card(lie={name: 77})
    status, _, err = run("replay", capture, "--json", tmp_path / "s.json", "--quiet")
    found = json.loads((tmp_path / "s.json").read_text())
    if name.startswith("ring.dropped"):
        assert found["dropped"] == 77 and found["drops"] == {name: 77}
    assert status == 1 and found["mismatches"] >= 1
    told = {"symbol.stale": "stale slots", "mold.session_high": "mold.session", "feed.type_count": "type.A", "ring.dropped_busy": "ring dropped",
            "ring.dropped_off": "ring dropped"}
    assert told.get(name, name) in err


def test_group_that_is_not_in_the_capture(run, card, capture):
    card()
    status, out, err = run("replay", capture, "--group", "233.1.2.3:1", "--quiet")
    assert (status, out) == (2, "") and "233.1.2.3:1" in err and "there are 233.54.12.111:26477" in err and err.count("\n") == 1


def test_nothing_compared_is_no_success(run, card, capture, monkeypatch):
    card()
    monkeypatch.setattr("tickgate.app.symbols.filters", lambda *_: ([(0xE9010203, 1)], []))   # card and twin listen where nothing is
    status, _, err = run("replay", capture, "--quiet")
    assert status == 1 and "nothing was compared" in err


def test_without_check(run, card, capture, tmp_path):
    card(spoil=_spoil_field("bid_px", "top_of_book"))
    status, out, _ = run("replay", capture, "--no-check", "--json", tmp_path / "s.json", "--report", tmp_path / "r.html")
    found = json.loads((tmp_path / "s.json").read_text())
    assert status == 0 and found["status"] == "unchecked" and found["compared"] == 0 < found["records"] and "not asked for" in out
    assert "unchecked" in (tmp_path / "r.html").read_text()


def test_limit(run, card, capture, tmp_path):
    card()
    assert run("replay", capture, "--limit", 700, "--json", tmp_path / "s.json")[0] == 0
    assert json.loads((tmp_path / "s.json").read_text())["messages_total"] == 700


def test_capture_that_begins_late_is_stale_from_the_start(run, card, tmp_path):
    add = itch50.BY_CODE[b"A"].encode(stock_locate=7, order_ref=1, side="B", shares=5, price=10_000)
    batch = mold_frames([add] * 3, [0, 10**6, 2 * 10**6], sequence=900)
    write_pcap(tmp_path / "late.pcap", list(batch), batch.time_ns)
    card()
    status, out, err = run("replay", tmp_path / "late.pcap", "--json", tmp_path / "s.json")
    found = json.loads((tmp_path / "s.json").read_text())
    assert status == 0 and found["compared"] == 3 and found["gaps"] == {} and found["capture"]["first_message"] == 900
    assert found["symbols"][0]["cause"] == "the capture begins at message 900" and "begins at message 900" in out
    assert found["faults"] == {"duplicate_reference": 2}


def _system_event(code):
    return itch50.BY_CODE[b"S"].encode(event_code=code)


ADD = itch50.BY_CODE[b"A"].encode(stock_locate=7, order_ref=1, side="B", shares=5, price=10_000)


@pytest.mark.parametrize(("messages", "sequence", "cause"), [
    ([_system_event("O"), ADD], 1, None),
    ([ADD, _system_event("O")], 1, "the capture does not begin with the start of messages"),
    ([_system_event("S"), ADD], 1, "the capture does not begin with the start of messages"),
    ([_system_event("O"), ADD], 0, "the capture begins at message 0"),
    ([_system_event("O"), ADD], 2**63 + 5, f"the capture begins at message {2**63 + 5}"),
])
def test_only_a_day_from_its_start_is_not_stale(run, card, tmp_path, messages, sequence, cause):
    path = tmp_path / "day"
    if sequence == 1:   # as every BinaryFILE has it
        write_binaryfile(path, messages)
    else:
        batch = mold_frames(messages, [0, 10**6], sequence=sequence)
        write_pcap(path, list(batch), batch.time_ns)
    device = card()
    assert run("replay", path, "--json", tmp_path / "s.json", "--quiet")[0] == 0
    found = json.loads((tmp_path / "s.json").read_text())
    assert found["status"] == "equal" and found["compared"] == 2 and found["capture"]["first_message"] == sequence and not found["gaps"]
    assert [s["cause"] for s in found["symbols"]] == [cause] and [s.stale for s in device.symbols.values()] == [cause is not None]
    assert found["notes"] == ([f"{cause}: all symbols are stale"] if cause else [])


def test_card_that_was_used_before(run, card, capture, tmp_path):
    """The whole day twice, half of its symbols, the whole day again: counters and record numbers of the card go on, what was loaded is forgotten."""
    device, found = card(), []
    for arguments in ((), (), ("--symbols", "top:2"), ()):
        assert run("replay", capture, "--json", tmp_path / "s.json", *arguments)[::2] == (0, "")
        found.append(json.loads((tmp_path / "s.json").read_text()))
    assert device.written == sum(f["records"] for f in found) > 4000
    assert [f["status"] for f in found] == ["equal"] * 4 and not any(f["gaps"] or s["cause"] for f in found for s in f["symbols"])
    for name in ("records", "compared", "counters", "type_count", "dropped", "records_by_kind", "latency_cycles"):
        assert found[0][name] == found[1][name] == found[3][name], name
    assert len(found[2]["symbols"]) == 2 and found[2]["compared"] < found[0]["compared"]


def test_record_that_differs_on_a_card_that_was_used_before(run, card, capture, tmp_path):
    device = card()
    assert run("replay", capture, "--quiet")[0] == 0
    device.spoil, before = _spoil_field("bid_px", "top_of_book"), device.written
    assert run("replay", capture, "--json", tmp_path / "s.json", "--quiet")[0] == 1
    told = json.loads((tmp_path / "s.json").read_text())["mismatch"]
    assert list(told["fields"]) == ["bid_px"] and told["record"] == device.spoil.sequence > before


def test_counters_wrap_as_the_card_s_do(run, card, tmp_path):
    numbers = [1, 1 << 62, (1 << 62) + 100]
    write_pcap(tmp_path / "gap.pcap", [mold_frame(n, [m]) for n, m in zip(numbers, [_system_event("O"), ADD, ADD])], [0, 10**6, 2 * 10**6])
    card()
    assert run("replay", tmp_path / "gap.pcap", "--json", tmp_path / "s.json", "--quiet") == (0, "", "")
    counters = json.loads((tmp_path / "s.json").read_text())["counters"]
    assert counters["mold"]["gaps"] == 2 and counters["mold"]["missing"] == ((1 << 62) - 2 + 99) % (1 << 48)


def _feeds(path):
    """Two lines of one feed, and a smaller other feed that begins first."""
    ours, other = Packing(session="0000000AAA", max_messages=1), Packing(session="0000000BBB", group="233.54.12.1", port=1, max_messages=1)
    theirs = itch50.BY_CODE[b"A"].encode(stock_locate=9, order_ref=1, side="B", shares=5, price=10_000)
    day = [_system_event("O"), ADD, itch50.BY_CODE[b"D"].encode(stock_locate=7, order_ref=1)]
    lines = [list(mold_frames(day, [0] * 3, p)) for p in (ours, replace(ours, group="233.54.12.112"))]
    small = list(mold_frames([theirs] * 2, [0] * 2, other, sequence=77))
    frames = [small[0], *(f for pair in zip(*lines) for f in pair), small[1]]
    write_pcap(path, frames, [k * 10**6 for k in range(len(frames))])


def test_one_feed_of_several(run, card, tmp_path):
    _feeds(tmp_path / "feeds.pcap")
    device = card()
    assert run("replay", tmp_path / "feeds.pcap", "--json", tmp_path / "s.json", "--quiet")[0] == 0
    found = json.loads((tmp_path / "s.json").read_text())
    assert found["compared"] == 3 and found["messages"] == {"S": 1, "A": 1, "D": 1} and found["capture"]["first_message"] == 1
    assert found["counters"]["net"]["filtered"] == 2 and found["counters"]["mold"]["sessions"] == 0 and found["counters"]["mold"]["duplicates"] == 3
    assert [s.locate for s in device.symbols.values()] == [7] and found["symbols"][0]["cause"] is None and not found["gaps"]
    assert found["notes"] == ["not listened to: 233.54.12.1:1 (session 0000000BBB; 2 datagrams); --group chooses others"]
    card()
    assert run("replay", tmp_path / "feeds.pcap", "--group", "233.54.12.1:1", "--json", tmp_path / "s.json", "--quiet")[0] == 0
    found = json.loads((tmp_path / "s.json").read_text())
    assert found["compared"] == 2 and found["messages"] == {"A": 2} and found["capture"]["first_message"] == 77 and not found["gaps"]


@pytest.mark.parametrize("gap_ns", [0, 10**18])
def test_report_of_a_capture_of_one_moment_or_of_decades(run, card, tmp_path, gap_ns):
    batch = mold_frames([_system_event("O"), ADD, ADD], [0] * 3, Packing(max_messages=1))
    write_pcap(tmp_path / "x.pcap", list(batch), [k * gap_ns for k in range(3)])
    card()
    assert run("replay", tmp_path / "x.pcap", "--report", tmp_path / "r.html", "--quiet")[0] == 0
    assert (tmp_path / "r.html").read_text().count("<svg") >= 4


def test_report_is_one_page_with_everything(run, card, capture, tmp_path):
    card()
    assert run("replay", capture, "--report", tmp_path / "r.html", "--quiet")[0] == 0
    text = (tmp_path / "r.html").read_text()
    names = scan(open_capture(capture)).symbols
    # latency, messages and rate, and for each of the busiest symbols book and depth
    assert text.count("<svg") == 3 + 2 * page.SHOWN and all(name in text for name in names.values())
    assert not re.search(r"""(src|href)=["'](?!#)""", text) and "@import" not in text and "<script" not in text
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids)) > 10
    assert set(re.findall(r"url\(#([^)]+)\)", text)) <= set(ids)


def test_report_shows_the_mismatch(run, card, capture, tmp_path):
    card(spoil=_spoil_field("ask_qty", "top_of_book"))
    assert run("replay", capture, "--report", tmp_path / "r.html", "--quiet")[0] == 1
    text = (tmp_path / "r.html").read_text()
    assert "What differs" in text and "ask_qty" in text


@pytest.fixture
def drift(tmp_path):
    """A capture of one symbol whose price wanders up by 1,000 ticks, with orders that live for twenty messages."""
    name, messages = "DRIFT   ", []

    def add(code, **fields):
        messages.append(itch50.BY_CODE[code].encode(stock_locate=7, timestamp=600 * len(messages), **fields))   # two a frame

    add(b"S", event_code="O")
    add(b"R", stock=name)
    for k in range(4000):
        price = 1_000_000 + (k // 4) * 100
        add(b"A", order_ref=k + 1, side="BS"[k % 2], shares=k + 1, stock=name, price=price + (100 if k % 2 else -100))
        if k >= 20:
            add(b"D", order_ref=k - 19)
    path = tmp_path / "drift.itch"
    write_binaryfile(path, messages)
    return path


def test_ladders_follow_the_price(run, card, drift, monkeypatch, tmp_path):
    monkeypatch.setattr(pair, "WATCH", 4000)
    monkeypatch.setattr(pair, "REACTION", 400)
    card(preset="small")
    status, out, err = run("replay", drift, "--preset", "small", "--recentre", "--json", tmp_path / "s.json")
    assert (status, err) == (0, "")
    found = json.loads((tmp_path / "s.json").read_text())
    moves = found["recentrings"]
    assert len(moves) > 3 and all(m["cycles"] > 0 and m["orders"] > 10 and m["commands"] > 2 * m["orders"] for m in moves)
    assert [m["from"] for m in moves[1:]] == [m["to"] for m in moves[:-1]]
    assert found["records_by_kind"]["top_of_book"] > found["symbols"][0]["updates"] == found["messages"]["A"] + found["messages"]["D"]
    assert found["compared"] == found["records"] and found["symbols"][0]["cause"] is None
    assert f"{len(moves)} of {len(moves)} ladders" in out


def test_without_it_the_ladder_stays(run, card, drift, tmp_path):
    card(preset="small")
    assert run("replay", drift, "--preset", "small", "--json", tmp_path / "s.json", "--quiet") == (0, "", "")
    assert json.loads((tmp_path / "s.json").read_text())["recentrings"] == []


def test_following_needs_the_twin(run, card, drift):
    card(preset="small")
    status, out, err = run("replay", drift, "--recentre", "--no-check")
    assert status == 2 and err.count("\n") == 1 and "--recentre needs the twin" in err


def test_a_difference_after_a_move_is_told(run, card, drift, monkeypatch, tmp_path):
    """The story's twin takes the commands too: the books it shows are those of the moment."""
    monkeypatch.setattr(pair, "WATCH", 4000)
    monkeypatch.setattr(pair, "REACTION", 400)

    def spoil(rows):
        at = np.flatnonzero((rows["kind"] == records.TOP_OF_BOOK) & (rows["number"] > 7000) & (rows["source"] != HOST))
        if len(at):
            rows["digest"][at[0]] ^= 1
        return rows

    card(preset="small", spoil=spoil)
    assert run("replay", drift, "--preset", "small", "--recentre", "--json", tmp_path / "s.json", "--quiet")[0] == 1
    told = json.loads((tmp_path / "s.json").read_text())["mismatch"]
    assert set(told["fields"]) == {"digest"} and "base 100." not in told["book_before"] and f"digest {told['twin']['digest']:#010x}" in told["book_after"]
