"""The fast twin against ``Golden`` on real captures: all locates, all records."""
import zlib

import pytest

from tickgate.twin import Book, StreamError

from .reference import Pair


def messages_of(data):
    """Whole messages of a BinaryFILE."""
    at, messages = 0, []
    while at + 2 < len(data):
        end = at + 2 + int.from_bytes(data[at:at + 2], "big")
        if end > len(data) or end == at + 2:
            break
        messages.append(data[at + 2:end])
        at = end
    return messages


def unpacked(path):
    raw = path.read_bytes()
    return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(raw) if path.suffix == ".gz" else raw


@pytest.mark.parametrize("name, count, live, faults", [
    ("nasdaq_head_251837.truncated.gz", 251_837, 2982, 0),
    ("derived_20191230_book_slice.itch", 11_433, 2982, 0),
    ("nasdaq_head_1000.itch", 1_000, 0, 0),
])
def test_equal_to_golden(real_data, name, count, live, faults):
    messages = messages_of(unpacked(real_data(f"itch/{name}")))
    assert len(messages) == count
    pair = Pair({int.from_bytes(m[1:3], "big") for m in messages} - {0})
    for k in range(0, count, 20_000):
        pair.send(messages[k:k + 20_000], seed=k)
    pair.compare_books()
    assert (pair.book.live, sum(pair.book.faults.values())) == (live, faults)
    assert pair.compared["top_of_book"] == sum(pair.book.types.get(code, 0) for code in "AFECXDU")
    assert pair.compared["status"] == sum(pair.book.types.get(code, 0) for code in "SWHYh") > 0


def test_lengths_of_zero(real_data):
    """A file whose lengths were never written: it ends before its first message. Framed anew it has unknown references, all counted."""
    from tickgate.capture.binaryfile import SIZES

    data = unpacked(real_data("itch/ritch_ex20101224.TEST_ITCH_50.gz"))
    with pytest.raises(StreamError, match="^offset 2: message length: a length of 0 ended the session before, but more follows here$"):
        Book().feed(data)
    at, messages = 0, []
    while at < len(data):
        size = SIZES[data[at + 2]]
        messages.append(data[at + 2:at + 2 + size])
        at += 2 + size
    pair = Pair({int.from_bytes(m[1:3], "big") for m in messages} - {0})
    pair.send(messages, seed=1)
    pair.compare_books()
    assert pair.book.faults == {"unknown_reference": 117, "duplicate_reference": 0, "overfill": 0}
