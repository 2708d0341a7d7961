"""The small parts: walks, digests, several days at once, and that the twin is cheap to import."""
import ast
import os
import random
import struct
import subprocess
import sys
import zlib
from collections import Counter

import numpy as np
import pytest
from numba import njit

from tickgate.capture.errors import CaptureError
from tickgate.spec import itch50
from tickgate.twin import Book
from tickgate.twin.fast import cache, digest, parallel, walk


def test_digest_is_crc32():
    @njit
    def extend(old, bid_px, bid_qty, ask_px, ask_qty, flags, state):
        return digest.extend(digest.TABLES, old, bid_px, bid_qty, ask_px, ask_qty, flags, state)

    rng, mine, theirs = random.Random(1), 0, 0
    for _ in range(300):
        values = [rng.getrandbits(bits) for bits in (32, 32, 32, 32, 8, 8)]
        mine = extend(np.uint32(mine), *map(np.uint64, values))
        theirs = zlib.crc32(struct.pack("<IIIIBB", *values), theirs)
        assert mine == theirs


def test_count_and_find(sample):
    starts, at = [], 0
    while length := int.from_bytes(sample[at:at + 2], "big"):
        starts.append(at)
        at += 2 + length
    types, used = walk.count(sample)
    assert {code: n for code, n in enumerate(types.tolist()) if n} == Counter(sample[k + 2] for k in starts) and used == at
    many, used_by_many = walk.count(sample[:at] * 4)     # long enough for several walks at once
    assert (many == 4 * types).all() and used_by_many == 4 * at
    for whole in range(6):                               # and the end in each of them
        ended, used_by_ended = walk.count(sample[:at] * whole + bytes(2) + sample[:at] * (6 - whole))
        assert (ended == whole * types).all() and used_by_ended == whole * at
    again, used = walk.count(sample[:starts[100] + 5], types)
    assert again is types and int(types.sum()) == len(starts) + 100 and used == starts[100]
    times = [int.from_bytes(sample[k + 7:k + 13], "big") for k in starts]
    for time in (0, times[0], times[30_000], times[30_000] + 1, times[-1], times[-1] + 1):
        assert walk.find(sample, time) == next((k for k, t in zip(starts, times) if t >= time), at)


def test_count_is_not_led_astray():
    """Messages inside of messages look right where a walk may begin, and are not counted."""
    event = itch50.BY_CODE[b"S"].encode(event_code="O")
    inner = (len(event).to_bytes(2, "big") + event) * 1500
    for lead in range(0, 40, 7):
        data = (len(inner) + 1 + lead).to_bytes(2, "big") + b"?" + bytes(lead) + inner
        types, used = walk.count(data * 70 + inner)
        assert {chr(code): n for code, n in enumerate(types.tolist()) if n} == {"?": 70, "S": 1500} and used == len(data * 70 + inner)
        types, used = walk.count(data * 40 + bytes(2) + data * 70)
        assert types.sum() == 40 and used == len(data * 40)


def messages_and_live(book, pieces):
    return sum(len(rows) for rows in pieces), book.messages, book.live


def test_days_and_shares(sample, tmp_path):
    """In processes as in one; a bad day is named."""
    paths = [tmp_path / "whole", tmp_path / "part"]
    paths[0].write_bytes(sample)
    cut = walk.find(sample, 36_000_000_000_000)
    paths[1].write_bytes(sample[:cut])
    rows = Book(rows="every").feed(sample)
    assert [r.tobytes() for r in parallel.days(paths, processes=2, rows="every")] == [
        rows.tobytes(), Book(rows="every").feed(sample[:cut]).tobytes()]
    assert parallel.shares(paths[0], processes=2, rows="every").tobytes() == rows.tobytes()
    assert parallel.day(paths[0], messages_and_live, rows="every")[:2] == (len(rows), 60_000)
    assert parallel.days([]) == []
    paths[1].write_bytes(sample[:cut + 5])
    with pytest.raises(CaptureError, match=f"^{paths[1]}: offset {cut}: message: the file ends 5 bytes into it$"):
        parallel.day(paths[1])


def test_compiled_code_goes_with_any_of_its_sources(tmp_path):
    compiled_in = set()
    for path in cache.SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if path.stem not in ("book", "parallel") else ():
            if isinstance(node, ast.ImportFrom) and "spec" in (path.parent.name if node.level else (node.module or "").split(".")):
                last = (node.module or "spec").rpartition(".")[2]
                compiled_in |= {alias.name for alias in node.names} if last == "spec" else {last}
    assert len(compiled_in) >= 4 and compiled_in <= {path.stem for path in cache.SOURCES}
    ages = {"a.py": 5, "b.py": 7, "engine.nbi": 6, "engine.1.nbc": 8, "walk.nbc": 7, "engine.pyc": 1}
    for name, age in ages.items():
        (tmp_path / name).write_text("")
        os.utime(tmp_path / name, ns=(age, age))
    cache.forget_stale(tmp_path, [tmp_path / "a.py", tmp_path / "b.py"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.py", "b.py", "engine.1.nbc", "engine.pyc", "walk.nbc"]


def test_importing_the_twin_imports_no_compiler():
    code = "import sys, tickgate.twin; tickgate.twin.Golden; sys.exit('numba' in sys.modules or 'llvmlite' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    code = "import sys; from tickgate.twin import Book; sys.exit('numba' not in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
