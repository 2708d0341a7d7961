"""Generated files: fresh in the checkout, noticed when stale, and the C header compiles and reads records right."""
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tickgate.spec import emit, itch50, records
from tickgate.spec.registers import BLOCKS

ROOT = Path(__file__).parents[2]


def test_the_checkout_is_fresh(capsys):
    assert emit.main(["--check", "--root", str(ROOT)]) == 0, capsys.readouterr().out


def test_check_names_the_stale_file_and_writes_nothing(tmp_path, capsys):
    assert emit.main(["--root", str(tmp_path)]) == 0
    assert emit.main(["--check", "--root", str(tmp_path)]) == 0
    for name, text in emit.files().items():
        path = tmp_path / name
        for change in (lambda path=path, text=text: path.write_text(text + "\n"), path.unlink):
            change()
            capsys.readouterr()
            before = path.exists()
            assert emit.main(["--check", "--root", str(tmp_path)]) == 1
            assert capsys.readouterr().out == f"{name}: stale, run `make emit`\n"
            assert path.exists() == before
        emit.main(["--root", str(tmp_path)])
        assert path.read_text() == text


def test_a_place_that_cannot_be_written_is_one_line(tmp_path, capsys):
    (tmp_path / "docs").write_text("a file where the folder should be")
    assert emit.main(["--root", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("emit: error: ") and error.count("\n") == 1


def test_pages_name_everything():
    pages = emit.files()
    for block in BLOCKS:
        for address, r in block.offsets():
            assert f"| `{address:#05x}`" in pages["docs/registers.md"] and f"| `{r.name}` | {r.access} | {r.width} |" in pages["docs/registers.md"]
            for flag, bit, doc in r.bits:
                assert f"bit {bit} `{flag}`: {doc}" in pages["docs/registers.md"]
                mask = rf"#define TICKGATE_{block.name}_{r.name}_{flag} +{1 << bit:#x}u "
                assert re.search(mask, pages["drivers/include/tickgate.h"], re.IGNORECASE)
    for message in itch50.MESSAGES:
        assert f"### {message.code.decode()} {message.name}" in pages["docs/messages.md"]
    for name in (*records.RECORDS, *records.FLAGS, *records.FAULTS, *records.BOOK_FAULTS, *records.GAPS, *records.KINDS):
        assert name in pages["docs/messages.md"]
    for name in (*records.FAULTS, *records.BOOK_FAULTS):
        assert f"#define TICKGATE_FAULT_{name.upper()} " in pages["drivers/include/tickgate.h"]
    for text in pages.values():
        assert text.endswith("\n") and not text.endswith("\n\n") and not any(line.endswith(" ") for line in text.splitlines())


PROGRAM = """
#include "tickgate.h"
#include <stdio.h>

int main(void) {
    tickgate_record r;
    while (fread(&r, sizeof r, 1, stdin) == 1)
        printf("%u %u %llu %u %u %llu %u %u %u\\n", r.kind, r.slot, (unsigned long long)r.sequence, r.body.top_of_book.bid_px,
               r.body.top_of_book.order_qty, (unsigned long long)r.body.gap.count, r.body.trade.px, r.digest, r.number & TICKGATE_NUMBER_MASK);
    return TICKGATE_RING_BASE == %RING_BASE% && TICKGATE_LAP_BIT == %LAP_BIT%u ? 0 : 1;
}
"""


@pytest.mark.parametrize("compiler, options", [("gcc", ["-std=c11", "-x", "c"]), ("g++", ["-std=c++17", "-x", "c++"])])
def test_header_compiles_without_a_warning_and_reads_records(tmp_path, compiler, options):
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    (tmp_path / "tickgate.h").write_text(emit.header())
    base = next(block for block in BLOCKS if block.name == "ring").address("base")
    program = PROGRAM.replace("%RING_BASE%", str(base)).replace("%LAP_BIT%", str(records.LAP_BIT))
    source = tmp_path / "read.c"
    source.write_text(program)
    built = subprocess.run([compiler, *options, "-Wall", "-Wextra", "-Werror", "-I", tmp_path, source, "-o", tmp_path / "read"],
                           capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    head = dict(kind=1, slot=0x1234, sequence=2**63 + 5, digest=0xDEADBEEF, number=records.LAP_BIT | 77)
    raw = (records.RECORDS["top_of_book"].encode(**head, bid_px=111, order_qty=222)
           + records.RECORDS["gap"].encode(**head, count=2**40) + records.RECORDS["trade"].encode(**head, px=333))
    ran = subprocess.run([tmp_path / "read"], input=raw, capture_output=True)
    assert ran.returncode == 0
    got = [tuple(map(int, line.split())) for line in ran.stdout.splitlines()]
    common = (1, 0x1234, 2**63 + 5), (0xDEADBEEF, 77)
    # the bodies share their bytes: count lies where ask_px and ask_qty do, px where ask_px does
    assert got == [(*common[0], 111, 222, 0, 0, *common[1]), (*common[0], 0, 0, 2**40, 0, *common[1]), (*common[0], 0, 0, 333, 333, *common[1])]
