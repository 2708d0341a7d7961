"""Writes what is generated from the tables: ``docs/registers.md``, ``docs/messages.md`` and ``drivers/include/tickgate.h``.

    python -m tickgate.spec.emit [--check] [--root DIRECTORY]

``--check`` writes nothing and exits with 1, naming each file that is not what the tables say.
"""
import argparse
import sys
from pathlib import Path

from . import clocks, commands, ethernet, events, itch50, moldudp64, ouch42, ouch50, presets, records, registers, soupbintcp
from .layout import KINDS as FIELD_KINDS

GENERATED = "Written by `make emit` from `tickgate.spec`: change the tables there, not this file."


def main(arguments=None):
    """Write or check the files; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tickgate.spec.emit", description="Writes the files that are generated from the tables.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 when a file is stale")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[3], help="the checkout (default: the one this is part of)")
    options = parser.parse_args(arguments)
    stale = []
    try:
        for name, text in files().items():
            path = options.root / name
            if path.is_file() and path.read_text(encoding="utf-8") == text:
                continue
            stale.append(name)
            if not options.check:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        print(f"emit: error: {path}: {getattr(error, 'strerror', None) or error}", file=sys.stderr)
        return 2
    for name in stale:
        print(f"{name}: stale, run `make emit`" if options.check else f"{name}: written")
    return 1 if stale and options.check else 0


def files():
    """The generated files: text by path from the root of the checkout."""
    return {"docs/registers.md": registers_page(), "docs/messages.md": messages_page(), "drivers/include/tickgate.h": header()}


# --- pages ---------------------------------------------------------------------------------------------------------------------------------------

def markdown_table(head, rows):
    """A Markdown table; cells are text, with | escaped."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)


def registers_page():
    """``docs/registers.md``"""
    parts = [f"""# Registers

{GENERATED}

One AXI4-Lite slave, 32-bit words, little-endian, {registers.ADDRESS_BITS} address bits. Version {registers.VERSION}.

{markdown_table(("access", "meaning"), ((f"`{name}`", meaning) for name, meaning in registers.ACCESS.items()))}

A register wider than 32 bits takes two words, low word first. Reading the low word keeps the high word for the next read, so the two belong
together; writing the low word keeps it, and writing the high word takes both at once. A write must be of a whole word, else nothing is written
and the answer is SLVERR. Addresses without a register read as 0 and ignore writes. A write is answered a few cycles before it is in force; a read
that is asked for after the answer comes when it is, so read something before what depends on it (frames on `control.enable`).
Counters are {_counter_bits()} bits wide and wrap.

In Python a register is an attribute: `card.net.frames`. In C it is a number: `TICKGATE_NET_FRAMES`; a bit with a name is a mask:
`TICKGATE_SYMBOL_FLAGS_TRACK`. In gateware it is a member: `regs.net.frames`.
"""]
    for block in registers.BLOCKS:
        rows = []
        for address, r in block.offsets():
            words = f"`{address:#05x}`" + (f", `{address + 4:#05x}`" if r.words == 2 else "")
            about = "; ".join(part for part in (r.doc, *(f"bit {bit} `{flag}`: {doc}" for flag, bit, doc in r.bits)) if part)
            rows.append((words, f"`{r.name}`", r.access, r.width, f"{r.reset:#x}" if r.reset else "0", r.unit, about))
        parts.append(f"## {block.name}\n\n`{block.base:#05x}` to `{block.base + block.size - 1:#05x}`\n\n"
                     + markdown_table(("address", "register", "access", "bits", "reset", "unit", "meaning"), rows) + "\n")
    return "\n".join(parts)


def _counter_bits():
    return " or ".join(sorted({str(r.width) for block in registers.BLOCKS for r in block.registers if r.access == "count"}))


def _layout(layout, title, fields=None):
    """A section with the fields of a layout, or some of them."""
    about = [f"### {title}", ""]
    if layout.doc:
        about += [layout.doc[0].upper() + layout.doc[1:] + ("" if layout.doc.endswith(".") else "."), ""]
    rows = [(f.offset, f.size, f"`{f.name}`", f.unit if f.kind == "uint" else f.kind, f.doc) for f in fields or layout.fields]
    return "\n".join([*about, markdown_table(("offset", "bytes", "field", "unit or kind", "meaning"), rows), "",
                      *([f"Source: {layout.source}.", ""] if layout.source else [])])


def messages_page():
    """``docs/messages.md``"""
    kinds = "; ".join(f"`{kind}`: {meaning}" for kind, meaning in FIELD_KINDS.items() if kind != "uint")
    return "\n".join([f"""# Messages and records

{GENERATED}

Every layout that crosses a wire or the host's memory: what comes in ([frames](#frames), [MoldUDP64](#moldudp64), [ITCH 5.0](#itch-50)), what goes
to the host ([event records](#event-records)), the rows of order events that [files](formats.md) hold ([order events](#order-events)), and the exchange's
order entry ([SoupBinTCP](#soupbintcp), [OUCH 5.0](#ouch-50), [OUCH 4.2](#ouch-42)).
Offsets and sizes are in bytes. A field with a unit is an unsigned integer; {kinds}.
""", *_frames(), *_itch(), *_records(), *_events(), *_orders()])


def _frames():
    yield f"""## Frames

Network byte order. IPv4 over Ethernet II with up to {ethernet.MAXIMUM_VLAN_TAGS} VLAN tags is looked into.
Frames of fewer than {ethernet.MINIMUM_FRAME} bytes are padded on the wire, so lengths come from IPv4 and UDP alone.
"""
    for layout, title in ((ethernet.ETHERNET, "Ethernet"), (ethernet.VLAN, "802.1Q tag"), (ethernet.IPV4, "IPv4"), (ethernet.UDP, "UDP")):
        yield _layout(layout, title)
    yield f"""## MoldUDP64

Network byte order. A `count` of {moldudp64.HEARTBEAT} is a heartbeat, {moldudp64.END_OF_SESSION:#06x} the end of the session;
else that many blocks follow.
"""
    yield _layout(moldudp64.HEADER, "Downstream packet")
    yield _layout(moldudp64.BLOCK, "Message block")


def _itch():
    yield f"""## ITCH 5.0

All {len(itch50.MESSAGES)} message types of Nasdaq TotalView-ITCH 5.0. Network byte order. "Decided by" is the offset of the last byte that
decides what the message does to book, trade or status record: latency counts from the word that brings it.
"""
    yield markdown_table(("type", "message", "bytes", "decided by", "what it is"), (
        (f"`{m.code.decode()}`", f"`{m.name}`", m.size, itch50.NEEDED[m.code] - 1 if m.code in itch50.NEEDED else "", m.doc)
        for m in itch50.MESSAGES)) + "\n"
    for m in itch50.MESSAGES:
        yield _layout(m, f"{m.code.decode()} {m.name}")


def _records():
    body = records.COMMON["body"]
    yield f"""## Event records

{records.SIZE} bytes, little-endian, one cache line and one write each. Bytes {body.offset} to {body.end - 1} are the kind's own;
the rest is the same for all kinds. The lap bit is the last bit of the last byte: 1 in the first lap through the ring, 0 in the second, and so on.
"""
    yield _layout(records.COMMON, "Every record")
    for name, layout in records.RECORDS.items():
        yield _layout(layout, f"Record {name}", [f for f in layout.fields if body.offset <= f.offset < body.end])
    yield "### Kinds\n"
    made = {name: layout.doc for name, layout in records.RECORDS.items()}
    yield markdown_table(("value", "kind", "meaning"), ((f"`{value}`", f"`{name}`", made.get(name, "not made yet"))
                                                for name, value in records.KINDS.items()))
    yield "\n### Flags\n"
    yield markdown_table(("bit", "flag", "meaning"), ((bit, f"`{name}`", doc) for name, (bit, doc) in records.FLAGS.items()))
    yield "\n### Faults\n\n`detail` of a `top_of_book` record. Anything but 0 makes the symbol stale.\n"
    yield markdown_table(("value", "fault", "meaning"), ((f"`{code}`", f"`{name}`", doc) for name, (code, doc) in _faults()))
    yield "\n### Gap reasons\n\n`detail` of a `gap` record, ASCII.\n"
    yield markdown_table(("value", "reason", "meaning"), ((f"`{code}`", f"`{name}`", doc) for name, (code, doc) in records.GAPS.items()))
    yield f"\n### Commands\n\nKinds of commands of the host. Their records have `source` {commands.HOST} and this `message`.\n"
    yield markdown_table(("value", "command", "message", "meaning"), ((f"`{kind}`", f"`{name}`", f"`{letter}`", doc)
                                                              for name, (kind, letter, doc) in commands.COMMANDS.items()))
    yield "\n### State\n\nA letter or digit stands for the code in the message; market phase is that of the last system event.\n"
    yield markdown_table(("part", "mask", "values in place"), (
        (name.replace("_", " "), f"`{mask:#04x}`", ", ".join(f"`{value:#04x}` {code.replace('_', ' ')}" for code, value in parts.items()))
        for name, mask, parts in _state()))
    yield f"""
### Digest

A running CRC-32 (IEEE 802.3) for each symbol over these fields of each of its `top_of_book` records, in this order: {_digest_fields()}.

## Time

The core runs at {clocks.CORE_HZ:,} Hz: a cycle is {clocks.NS_NUMERATOR}/{clocks.NS_DENOMINATOR} ns. Times are in ns, rounded down.
"""


def _events():
    signed = ", ".join(f"`{name}`" for name in events.EVENT.signed)
    yield f"""## Order events

Rows of {events.EVENT.size} bytes, little-endian, schema version {events.SCHEMA_VERSION}: what one message of ITCH, LOBSTER or DBN did.
{signed} are two's complement.
"""
    yield _layout(events.EVENT, "Event")


def _orders():
    yield f"""## SoupBinTCP

Network byte order. A client that is silent for {soupbintcp.TIMEOUT_NS // 10 ** 9} s is cut off, so is a server; each sends a heartbeat after
{soupbintcp.HEARTBEAT_NS // 10 ** 9} s of silence. Sequenced packets count from {soupbintcp.FIRST_SEQUENCE}.
"""
    yield _layout(soupbintcp.HEADER, "Packet header")
    for title, types in (("Packets of the server", soupbintcp.FROM_SERVER), ("Packets of the client", soupbintcp.FROM_CLIENT)):
        yield f"### {title}\n"
        yield markdown_table(("type", "what it is"), ((f"`{code.decode()}`", what) for code, what in types.items())) + "\n"
    for layout, title in ((soupbintcp.LOGIN_REQUEST, "L login request"), (soupbintcp.LOGIN_ACCEPTED, "A login accepted"),
                          (soupbintcp.LOGIN_REJECTED, "J login rejected")):
        yield _layout(layout, title)
    for name, spec in (("OUCH 5.0", ouch50), ("OUCH 4.2", ouch42)):
        yield f"## {name}\n\nNetwork byte order, inside SoupBinTCP: requests unsequenced, replies sequenced.\n"
        for way, messages in (("in", spec.INBOUND), ("out", spec.OUTBOUND)):
            for m in messages:
                yield _layout(m, f"{name} {way}: {m.code.decode()} {m.name}")
    yield "### OUCH 5.0 tagged values\n\nOne byte of length (tag and value), one byte of tag, the value.\n"
    yield markdown_table(("tag", "bytes", "name", "unit or kind", "meaning"), (
        (t.number, t.size, f"`{t.name}`", f"{t.unit}, signed" if t.kind == "int" else t.unit or t.kind, t.doc) for t in ouch50.TAGS)) + "\n"


def _faults():
    """Every fault: of messages, and of books."""
    yield from records.FAULTS.items()
    for name, (code, doc) in records.BOOK_FAULTS.items():
        yield name, (code, f"{doc} in continuous trading, where the register publish.stale_when asks for it")


def _state():
    """The parts of the ``state`` byte: name, mask, and values in place by code."""
    ends = (records.state_of(0, 1, 0), records.state_of(0, 0, 1), 1 << 8)
    return (("trading", ends[0] - 1, {code: records.state_of(value, 0, 0) for code, value in records.TRADING.items()}),
            ("reg_sho", ends[1] - ends[0], {code: records.state_of(0, value, 0) for code, value in records.REG_SHO.items()}),
            ("phase", ends[2] - ends[1], {code: records.state_of(0, 0, value) for code, value in records.PHASES.items()}))


def _digest_fields():
    """Names of the fields behind ``DIGEST_BYTES``, in their order."""
    names = (next(f.name for f in records.RECORDS["top_of_book"].fields if f.offset <= byte < f.end) for byte in records.DIGEST_BYTES)
    return ", ".join(f"`{name}`" for name in dict.fromkeys(names))


# --- C -------------------------------------------------------------------------------------------------------------------------------------------

PREFIX = "TICKGATE"
C_TYPES = {1: "uint8_t", 2: "uint16_t", 4: "uint32_t", 8: "uint64_t"}


def _define(name, value, doc="", width=36):
    line = f"#define {PREFIX}_{name.upper():{width}} {value}"
    return f"{line:<{width + 34}} /* {_ascii(doc)} */" if doc else line


def _member(f, indent):
    declaration = f"{C_TYPES[f.size]} {f.name};" if f.kind == "uint" else f"uint8_t {f.name}[{f.size}];"
    about = "; ".join(part for part in (f.unit, f.doc) if part)
    return f"{' ' * indent}{declaration:<{36 - indent}} /* {_ascii(about)} */" if about else f"{' ' * indent}{declaration}"


def _ascii(text):
    return text.replace("…", "...")


def header():
    """``drivers/include/tickgate.h``"""
    body = records.COMMON["body"]
    lines = [f"""/* SPDX-License-Identifier: Apache-2.0
 *
 * Tickgate: registers and event records of the card, for C11 and C++17. {GENERATED}
 *
 * Registers are 32-bit words at byte addresses. One that is wider has a second word, its high half, right after: read the low word first, write
 * the high word last. See docs/registers.md and docs/messages.md.
 */
#ifndef TICKGATE_H
#define TICKGATE_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "records are little-endian, and this header reads them as they lie in memory"
#endif

/* Registers: byte address, access, width, unit; behind one that holds flags, those. */"""]
    for block in registers.BLOCKS:
        lines.append("")
        for address, r in block.offsets():
            lines.append(_define(f"{block.name}_{r.name}", f"{address:#05x}u", f"{r.access}, {r.width} bits, {r.unit}"))
            lines += [_define(f"{block.name}_{r.name}_{flag}", f"{1 << bit:#x}u", doc) for flag, bit, doc in r.bits]
    lines += ["", "/* What the first registers read. */",
              _define("magic", f"{registers.MAGIC:#010x}u"), _define("version", f"{registers.VERSION}u"),
              _define("link_down", f"{registers.LINK_DOWN:#010x}u", "the link to the card is down"),
              "", "/* Tick sizes, 1e-4 USD, by the code in the symbol's tick register. */",
              *(_define(f"tick_size_{code}", f"{size}u") for code, size in enumerate(presets.TICK_SIZES)),
              "", "/* Event records. */",
              _define("record_size", f"{records.SIZE}u", "bytes"),
              _define("no_slot", f"{records.NO_SLOT:#06x}u", "slot of records of the whole feed"),
              _define("lap_bit", f"{records.LAP_BIT:#010x}u", "of number: 1 in the first lap through the ring, 0 in the second, ..."),
              _define("number_mask", f"{records.NUMBER_MASK:#010x}u", "of number: low bits of the message's number in the feed"), ""]
    lines += [_define(f"kind_{name}", f"{value}u") for name, value in records.KINDS.items()] + [""]
    lines += [_define(f"flag_{name}", f"{1 << bit:#04x}u", doc) for name, (bit, doc) in records.FLAGS.items()] + [""]
    lines += [_define(f"fault_{name}", f"{code}u", doc) for name, (code, doc) in _faults()] + [""]
    lines += [_define(f"gap_{name}", f"'{code}'", doc) for name, (code, doc) in records.GAPS.items()] + [""]
    lines += [_define(f"command_kind_{name}", f"{kind}u", doc) for name, (kind, _, doc) in commands.COMMANDS.items()]
    lines += [_define("command_source", f"{commands.HOST}u", "source of their records"), ""]
    for name, mask, parts in _state():
        lines.append(_define(f"state_{name}_mask", f"{mask:#04x}u", "of state"))
        lines += [_define(f"state_{name}_{code}", f"{value:#04x}u") for code, value in parts.items()]
    lines += ["", "/* One event record: a cache line. */", "typedef struct {"]
    for f in records.COMMON.fields:
        if f is not body:
            lines.append(_member(f, 4))
            continue
        lines.append("    union {")
        for name, layout in records.RECORDS.items():
            lines.append("        struct {" + (f" /* {layout.doc} */" if layout.doc else ""))
            lines += [_member(g, 12) for g in layout.fields if body.offset <= g.offset < body.end]
            lines.append(f"        }} {name};")
        lines.append("    } body;")
    lines += ["} tickgate_record;", "", f'static_assert(sizeof(tickgate_record) == {PREFIX}_RECORD_SIZE, "size of a record");']
    for f in records.COMMON.fields:
        lines.append(_asserted(f.name, f.offset))
    for name, layout in records.RECORDS.items():
        lines += [_asserted(f"body.{name}.{g.name}", g.offset) for g in layout.fields if body.offset <= g.offset < body.end]
    return "\n".join([*lines, "", "#endif", ""])


def _asserted(member, offset):
    return f'static_assert(offsetof(tickgate_record, {member}) == {offset}, "offset of {member}");'


if __name__ == "__main__":
    sys.exit(main())
