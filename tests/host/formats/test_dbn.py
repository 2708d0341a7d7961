"""DBN market by order in and out, against databento-dbn itself."""
import datetime

import numpy as np
import pytest

from tickgate.capture import CaptureError
from tickgate.capture.session import midnight_ns
from tickgate.formats import open_source
from tickgate.formats.orders import Orders

databento_dbn = pytest.importorskip("databento_dbn")
zstandard = pytest.importorskip("zstandard")
OTHER = {"B": "A", "A": "B", "N": "N"}


def decoded(path):
    """Metadata and records, as Databento's library reads them."""
    raw = path.read_bytes()
    if path.suffix == ".zst":
        raw = zstandard.ZstdDecompressor().stream_reader(raw).read()
    decoder = databento_dbn.DBNDecoder()
    decoder.write(raw)
    metadata, *records = decoder.decode()
    assert records
    return metadata, records


@pytest.mark.parametrize("dataset", ["XNAS.ITCH", "GLBX.MDP3"])
def test_samples(real_data, read, dataset):
    path = real_data(f"databento/{dataset}.test_data.mbo.dbn.zst")
    metadata, records = decoded(path)
    events, source = read(path)
    assert source.dataset == metadata.dataset == dataset and set(source.names.values()) == set(metadata.symbols) and len(events) == len(records)
    for event, record in zip(events, records, strict=True):
        assert int(event["price"]) * 100_000 + int(event["price_rest"]) == record.price
        assert (event["reference"], event["quantity"], event["sequence"], event["locate"], event["flags"], event["receive_ns"]) == (
            record.order_id, record.size, record.sequence, record.instrument_id, int(record.flags), record.ts_recv)
        assert event["time_ns"] + source.midnight_ns == record.ts_event
        assert (chr(event["action"]), chr(event["side"])) == (str(record.action), {"A": "S"}.get(str(record.side), str(record.side)))


def test_samples_come_back(real_data, run, read, tmp_path):
    for dataset in ("XNAS.ITCH", "GLBX.MDP3"):
        path, again = real_data(f"databento/{dataset}.test_data.mbo.dbn.zst"), tmp_path / "again.dbn.zst"
        assert run(path, again)[0] == 0
        (_, before), (metadata, after) = decoded(path), decoded(again)
        assert metadata.dataset == dataset
        for one, other in zip(before, after, strict=True):
            for name in ("ts_event", "ts_recv", "order_id", "price", "size", "action", "side", "instrument_id", "publisher_id", "sequence", "flags"):
                assert getattr(one, name) == getattr(other, name), name


def test_itch_as_dbn(itch, run, read, tmp_path):
    assert run(itch, tmp_path / "x.dbn")[0] == 0
    metadata, records = decoded(tmp_path / "x.dbn")
    assert (metadata.dataset, metadata.schema, set(metadata.symbols)) == ("XNAS.ITCH", "mbo", {"ALFA", "BRAVO", "CHARLIE"})
    events, _ = read(itch)
    split, left = Orders().complete(events, split=True)
    midnight, at, executions = midnight_ns(datetime.date(2026, 3, 2)), 0, 0
    replaced = set(np.flatnonzero((split["flags"] & 128) == 0).tolist())
    for k, event in enumerate(split):
        action = chr(event["action"])
        wanted = {"A": "A", "X": "C", "D": "C", "E": "TFC", "C": "TFC", "P": "T", "Q": "T"}.get(action, "")
        its, at = records[at:at + len(wanted)], at + len(wanted)
        assert "".join(str(r.action) for r in its) == wanted
        executions += len(wanted) == 3
        for r in its:
            side = "B" if event["side"] == ord("B") else "A"
            price = event["trade_price"] if action == "C" and str(r.action) != "C" else event["price"]
            assert (r.price, r.size, r.ts_event - midnight, r.instrument_id) == (price * 100_000, event["quantity"], event["time_ns"], event["locate"])
            if action in "PQ":
                assert str(r.side) == "N"
            else:
                assert str(r.side) == (OTHER[side] if str(r.action) == "T" else side) and r.order_id == (0 if str(r.action) == "T" else event["reference"])
            assert bool(int(r.flags) & 128) == (r is its[-1] and k not in replaced)
    assert at == len(records) and executions > 100 and len(replaced) > 100
    # the library's own order of events makes the same book
    _, again = Orders(), Orders()
    back = read(tmp_path / "x.dbn")[0]
    again.complete(back)
    trades = back[back["action"] == ord("P")]
    assert trades["side"][trades["side"] != ord(" ")].tolist() == split["side"][np.isin(split["action"], list(b"EC"))].tolist()     # of who rested
    first = Orders()
    first.complete(events)
    assert again.live == first.live and again.live


def test_snapshot_at_the_start(itch, run, read, tmp_path):
    assert run(itch, tmp_path / "x.dbn", "--start", "12:00")[0] == 0
    _, records = decoded(tmp_path / "x.dbn")
    flagged = [r for r in records if int(r.flags) & 32]
    assert {str(r.action) for r in flagged} == {"R", "A"} and records[:len(flagged)] == flagged and len(flagged) > 50
    begun, whole = Orders(), Orders()
    begun.complete(read(tmp_path / "x.dbn")[0])
    whole.complete(read(itch)[0])
    assert begun.live == whole.live


def test_negative_and_fine_prices_survive(real_data, run, read, tmp_path):
    """A record of a spread: below zero, and finer than 1e-4."""
    path = real_data("databento/GLBX.MDP3.test_data.mbo.dbn.zst")
    raw = bytearray(zstandard.ZstdDecompressor().stream_reader(path.read_bytes()).read())
    record = len(raw) - 56
    raw[record + 24:record + 32] = (-390_625_003).to_bytes(8, "little", signed=True)
    (tmp_path / "x.dbn").write_bytes(raw)
    events, _ = read(tmp_path / "x.dbn")
    assert (events["price"][-1], events["price_rest"][-1]) == (-3907, 74_997)
    assert run(tmp_path / "x.dbn", tmp_path / "y.dbn")[0] == 0
    assert decoded(tmp_path / "y.dbn")[1][-1].price == -390_625_003


def test_bad_files(real_data, tmp_path, refused):
    raw = zstandard.ZstdDecompressor().stream_reader(real_data("databento/XNAS.ITCH.test_data.mbo.dbn.zst").read_bytes()).read()
    size = 8 + int.from_bytes(raw[4:8], "little")
    for content, cause in ((b"DBN\x09" + raw[4:], "offset 3: version: 9 is none of 1, 2, 3"), (raw[:5], "offset 5: header: cut off"),
                           (raw[:size - 9], "metadata: cut off"),
                           (raw[:size] + b"\x01" + raw[size + 1:], f"offset {size}: record length: 4 bytes is too short"),
                           (raw[:size + 38] + b"?" + raw[size + 39:], "action: '?'"), (b"DBZ" + raw[3:], "not a capture")):
        path = tmp_path / "bad.dbn"
        path.write_bytes(content)
        line = refused(path, tmp_path / "x.csv")
        assert cause in line and str(path) in line
    assert "trades is not market by order" in refused(real_data("databento/XNAS.ITCH.test_data.trades.dbn.zst"), tmp_path / "x.csv")


def test_cut_file_is_used_as_far_as_it_goes(real_data, run, tmp_path):
    raw = zstandard.ZstdDecompressor().stream_reader(real_data("databento/XNAS.ITCH.test_data.mbo.dbn.zst").read_bytes()).read()
    (tmp_path / "cut.dbn").write_bytes(raw[:-20])
    status, out, err = run(tmp_path / "cut.dbn", "-", "--to", "csv")
    assert status == 1 and out.count(b"\n") == 1 + 3 and "the last record is cut off: 36 bytes" in err


def test_without_the_library(monkeypatch, real_data, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "databento_dbn", None)
    with pytest.raises(CaptureError, match=r"tickgate\[dbn\]"):
        open_source(real_data("databento/XNAS.ITCH.test_data.mbo.dbn.zst"))
