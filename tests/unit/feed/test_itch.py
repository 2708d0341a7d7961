"""feed.itch against the twin's feed and the tables of ITCH 5.0: keys, updates, contexts and counters of every type at every alignment, each in its cycle."""
import random
from dataclasses import replace

import pytest

from tickgate.spec import itch50
from tickgate.spec.presets import PRESETS
from tickgate_hdl.feed.itch import ItchParser
from tickgate_sim.models import itch
from tickgate_sim.models.hop import play
from tickgate_sim.models.itch import ItchScript
from tickgate_sim.models.vectors import FILTERS, GROUP, LOCATE, OTHER, Packets, every_run, message_bits, message_cuts, message_lengths, random_message
from tickgate_sim.models.wire import LANES, on_wire, packet
from tickgate_sim.streams import Maker, frames, udp_frame, universe

SMALL = PRESETS["small"]
TYPES = [m.code for m in itch50.MESSAGES]
SYMBOLS = {0: [(2, LOCATE, 1), (0, 0xFFFF, 1), (3, 0x0001, 1)]}      # (slot, locate, tracked) before the first frame


def play_frames(sent_frames, *, seed=0, pause=0.0, loads=SYMBOLS, preset=SMALL):
    sent_frames = [f if isinstance(f, tuple) else (f, False) for f in sent_frames]
    script = ItchScript(seed, on_wire(sent_frames, random.Random(seed), pause=pause, idle=(1, 4), start=12), FILTERS, loads=loads,
                        index_bits=preset.index_bits, reference_bits=preset.reference_bits, tables=preset.tables)
    play(ItchParser(symbols=preset.symbols, index_bits=preset.index_bits, reference_bits=preset.reference_bits, tables=preset.tables), script)
    assert script.numbers, "no message was handed on"
    return script


def expected(script, name):
    """Cycles in which the script expects an output to be 1."""
    return [cycle for cycle, values in script.expected.items() if values.get(name)]


def totals(script):
    return {name: n for name, n in script.twin.counters.items() if n}


@pytest.mark.parametrize("lane, pause", [(0, 0.0), (1, 0.0), (2, 0.0), (3, 0.0), (1, 0.3)])
def test_every_type(lane, pause):
    """Alone, then all in a row, so that nothing of one is taken for the next one's."""
    packets = Packets(lane)
    for code in TYPES:
        packets.add([random_message(packets.rng, code)], lane, destination=packets.rng.choice((GROUP, OTHER)))
    packets.add([random_message(packets.rng, code) for code in packets.rng.sample(TYPES, len(TYPES))], lane)
    script = play_frames(packets.frames, pause=pause)
    wanted = {"updates.valid": len(itch50.BOOK_TYPES), "keys.valid": len(itch50.BOOK_TYPES) + 1,
              "contexts.valid": len(itch50.BOOK_TYPES + itch50.TRADE_TYPES) + len(itch50.STATUS_CODES)}
    for name, n in wanted.items():
        assert len(expected(script, name)) == 2 * n
    assert {script.twin.type_count[code[0]] for code in TYPES} == {2}


@pytest.mark.parametrize("lane", (1, 2))
def test_every_type_that_does_something_before_every_other(lane):
    packets = Packets(lane)
    packets.add([random_message(packets.rng, code) for code in every_run(itch50.NEEDED, 2)], lane)
    play_frames(packets.frames)


@pytest.mark.parametrize("lane", range(LANES))
def test_fields_are_read_whole(lane):
    play_frames(message_bits(lane, step=12).frames)


@pytest.mark.parametrize("locate", [LOCATE, 0x4321])
def test_every_length(locate):
    """From one byte to beyond the type, tracked and not; the message after it is read as ever."""
    codes = (b"A", b"D", b"S", b"L", b"z") if locate == LOCATE else (b"C", b"X", b"\0")
    script = play_frames(message_lengths(codes, locate, lane=locate % LANES).frames)
    assert totals(script).keys() == {"empty", "short", "longer", "unknown"} | ({"other"} if locate != LOCATE else set())


def test_short_book_messages_are_told_once_a_datagram():
    """The first one of each datagram, whole or one byte long, alone, in pairs, before and after good ones."""
    packets, rng = Packets(1), random.Random("short")
    shorts = [b"D", b"X" * 10, random_message(rng, b"U", size=34), random_message(rng, b"A", size=20), b"U", b"F"]
    good = random_message(rng, b"A")
    for lane in (0, 3):
        for k, short in enumerate(shorts):
            packets.add([short], lane)
            packets.add([good, short, good, short, b"", b"D", good], lane)
            packets.add([b"", b"L", b"H", short, b"D", shorts[k - 1], b"E"], lane)
            packets.add([good], lane)
    script = play_frames(packets.frames)
    assert sum(values.get("contexts.payload.market", 0) for values in script.expected.values()) == 3 * 2 * len(shorts)


def test_runs_of_the_shortest():
    """Empty and one-byte messages two a word, of book types and others."""
    packets = Packets(3)
    for k in range(30):
        packets.add([packets.rng.choice((b"", b"", b"D", b"?", b"L", b"DD")) for _ in range(20)], k % LANES, destination=packets.rng.choice((GROUP, OTHER)))
    assert totals(play_frames(packets.frames))["short"] > 100


@pytest.mark.parametrize("code, lane", [(b"A", 3), (b"C", 1), (b"D", 0), (b"U", 0), (b"U", 3), (b"h", 1), (b"S", 1)])
def test_a_message_cut_at_every_byte(code, lane):
    """What was there works, what was not does not; a replace that has begun is abandoned. The next frame is read as ever."""
    script = play_frames(message_cuts(code, lane).frames, pause=0.1 * (lane % 2))
    layout = itch50.BY_CODE[code]
    assert len(expected(script, "abandoned")) == (layout["price"].end - layout["original_order_ref"].end if code == b"U" else 0)


def test_duplicates_and_dropped_frames_do_nothing():
    rng = random.Random("duplicates")
    messages = [random_message(rng, code) for code in itch50.NEEDED]
    one = udp_frame(packet(messages), GROUP)
    script = play_frames([one, one, udp_frame(packet(messages, 50), (1, 1)), udp_frame(packet(messages, 50), GROUP, protocol=6), one,
                          udp_frame(packet(messages, len(messages)), GROUP), (udp_frame(packet(messages, 2 * len(messages)), GROUP), True)])
    assert script.numbers == 3 * len(messages) - 1


def test_only_loaded_symbols_are_tracked():
    """Loaded, forgotten, loaded again in another slot, and a slot that goes over to another locate; locates one bit beside."""
    rng, sent = random.Random("locates"), []
    loads = {**SYMBOLS, 1: [(2, LOCATE, 0)], 2: [(1, LOCATE, 1)], 3: [(1, 0x4321, 1)], 4: [(1, 0x4321, 0), (2, 0x4321, 1), (1, LOCATE, 1)],
             6: [(k, 0, 0) for k in range(4)], 7: [(0, 0, 1)]}
    locates = [0, 1, 0xFFFF, 0x4321, LOCATE, *(LOCATE ^ 1 << bit for bit in range(16))]
    for k in range(8):
        messages = [random_message(rng, rng.choice((b"A", b"D", b"U", b"P", b"H", b"h")), locate) for locate in locates]
        sent.append(udp_frame(packet(messages, k * len(locates) + 1), GROUP))
    script = play_frames(sent, loads=loads)
    tracked = [len(locates) - t.counts["other"] for t in script.taken]
    assert tracked == [3, 2, 3, 3, 4, 4, 0, 1]


@pytest.mark.parametrize("reference_bits, index_bits, tables, symbols", [(64, 8, 5, 4), (40, 8, 3, 4), (63, 10, 1, 1), (16, 8, 2, 2), (64, 16, 5, 64)])
def test_references_of_any_width(reference_bits, index_bits, tables, symbols):
    preset = replace(SMALL, reference_bits=reference_bits, index_bits=index_bits, tables=tables, symbols=symbols)
    packets, slot = Packets(reference_bits), symbols - 1
    edges = (0, 1 << 64, 1 << reference_bits, 1 << reference_bits - 1)
    references = [*(1 << bit for bit in range(0, 64, 3)), *(edge + off & (1 << 64) - 1 for edge in edges for off in (0, -1))]
    for reference in references:
        other = packets.rng.choice(references)
        messages = [itch50.BY_CODE[b"U"].encode(stock_locate=LOCATE, original_order_ref=reference, new_order_ref=other)]
        messages += [itch50.BY_CODE[code].encode(stock_locate=LOCATE, order_ref=reference) for code in (b"A", b"X", b"D")]
        packets.add(messages, packets.rng.randrange(LANES))
    script = play_frames(packets.frames, preset=preset, loads={0: [(slot, LOCATE, 1)]})
    wide = len(expected(script, "keys.payload.wide"))
    assert (wide > 3) == (reference_bits < 64)


@pytest.mark.parametrize("seed, profile", list(enumerate(["mixed", "faults", "storm", "collide"])))
def test_random_streams(seed, profile):
    print(f"seed {seed}")
    symbols = universe(SMALL, seed)
    messages = Maker(seed, preset=SMALL, symbols=symbols, profile=profile).messages(120)
    stream = frames(messages, seed, filters=FILTERS[1:], faults=0.2, per_packet=20)
    script = play_frames(stream.frames, seed=seed, pause=0.2 * (seed % 2), loads={0: [(s.slot, s.locate, 1) for s in symbols]})
    assert script.numbers > 60 and len(expected(script, "updates.valid")) > 25


def test_latency_is_as_documented():
    assert (ItchParser.LATENCY, ItchParser.CONTEXT_LATENCY) == (itch.LATENCY, itch.CONTEXT_LATENCY)


def test_lanes_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match="not 8"):
        ItchParser(symbols=4, index_bits=8, lanes=8)
