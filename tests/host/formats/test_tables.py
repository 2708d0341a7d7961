"""Tables of events in the hands of pandas, polars, pyarrow and csv: the numbers are those of the messages."""
import csv
import gzip
import io

import numpy as np
import pytest

from tickgate.formats.orders import Orders
from tickgate.spec.events import EVENT, SCHEMA_VERSION

LETTERS = ("action", "side", "detail")
NUMBERS = tuple(name for name in EVENT.dtype.names if name not in (*LETTERS, "attribution"))


@pytest.fixture
def wanted(itch, read):
    events, source = read(itch)
    return Orders().complete(events)[0], source


def same(column, wanted):
    """``column(name)``: the values of a column as a list."""
    events, source = wanted
    assert len(events) > 3000
    for name in NUMBERS:
        assert column(name) == events[name].tolist(), name
    for name in LETTERS:
        assert column(name) == ["" if v in (0, 32) else chr(v) for v in events[name].tolist()], name
    assert column("attribution") == [v.decode().strip() for v in events["attribution"].tolist()] and any(column("attribution"))
    assert column("symbol") == [source.names.get(locate, "") for locate in events["locate"].tolist()]


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_pandas_polars_and_metadata(itch, run, tmp_path, wanted, form):
    pd, pl, pa = pytest.importorskip("pandas"), pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    path = tmp_path / f"x.{form}"
    assert run(itch, path)[0] == 0
    frame = pd.read_parquet(path) if form == "parquet" else pd.read_feather(path)
    assert frame["price"].dtype == np.int64 and frame["reference"].dtype == np.uint64
    same(lambda name: frame[name].tolist(), wanted)
    table = pl.read_parquet(path) if form == "parquet" else pl.read_ipc(path)
    same(lambda name: table[name].to_list(), wanted)
    schema = pa.parquet.read_schema(path) if form == "parquet" else pa.ipc.open_file(path).schema
    assert schema.metadata[b"schema_version"] == str(SCHEMA_VERSION).encode() and schema.metadata[b"source"] == str(itch).encode()
    assert schema.metadata[b"date"] == b"2026-03-02" and schema.field("price").metadata[b"unit"] == b"1e-4 USD"


@pytest.mark.parametrize("name", ["x.csv", "x.csv.gz", "-"])
def test_csv(itch, run, tmp_path, wanted, name):
    status, out, _ = run(itch, name if name == "-" else tmp_path / name, "--to", "csv")
    assert status == 0
    raw = out if name == "-" else gzip.decompress((tmp_path / name).read_bytes()) if name.endswith("gz") else (tmp_path / name).read_bytes()
    rows = list(csv.DictReader(io.StringIO(raw.decode())))
    same(lambda column: [int(row[column]) if column in NUMBERS else row[column] for row in rows], wanted)
    pl = pytest.importorskip("polars")
    assert pl.read_csv(raw)["price"].to_list() == wanted[0]["price"].tolist()


def test_numbers_as_large_as_they_can_be(run, tmp_path, read):
    import random

    from .test_itch import random_messages
    seed = 31
    print(f"seed {seed}")
    messages = random_messages(random.Random(seed), 300)
    (tmp_path / "x").write_bytes(b"".join(len(m).to_bytes(2, "big") + m for m in messages) + bytes(2))
    rows = list(csv.DictReader(io.StringIO(run(tmp_path / "x", "-", "--to", "csv")[1].decode())))
    events, _ = read(tmp_path / "x")
    assert len(rows) == len(events) == 300 and events["reference"].max() >= 1 << 63
    for name in ("reference", "new_reference", "match", "price"):
        assert [int(row[name]) for row in rows] == events[name].tolist()


def test_selection(itch, run, tmp_path, wanted, read):
    events, _ = wanted
    out = run(itch, "-", "--to", "csv", "--symbol", "A*,charlie", "--start", "9:30", "--end", "15:00:00.000000001")[1]
    rows = list(csv.DictReader(io.StringIO(out.decode())))
    hour = 3600 * 10 ** 9
    inside = (events["time_ns"] >= 9.5 * hour) & (events["time_ns"] < 15 * hour + 1) & np.isin(events["locate"], (0, 1, 3))
    assert [int(row["sequence"]) for row in rows] == events["sequence"][inside].tolist() and 100 < inside.sum() < len(events)
    assert [int(row["price"]) for row in rows] == events["price"][inside].tolist()
    assert len(run(itch, "-", "--to", "csv", "--limit", 500)[1].splitlines()) == 1 + (events["sequence"] <= 500).sum()


def test_without_pyarrow(monkeypatch, itch, refused, tmp_path):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    for form in ("parquet", "arrow"):
        assert "needs pyarrow: pip install 'tickgate[parquet]'" in refused(itch, tmp_path / f"x.{form}")
    assert "needs databento_dbn: pip install 'tickgate[dbn]'" in refused(itch, tmp_path / "x.dbn")
