"""Gateware = twin on real data, as the user runs it. The data are not in the repository: TICKGATE_DATA says where they are."""
import pytest

from tickgate.app.progress import Silent
from tickgate.app.replay import Job, play, prepare
from tickgate.capture import sample_path
from tickgate_sim.virtual.device import VirtualCard


def _replay(path, **options):
    plan = prepare(Job(capture=path, **options))
    with VirtualCard(plan.preset.name) as device:
        found, _ = play(plan, device, Silent())
    assert found["status"] == "equal", "\n".join(found["differences"])
    assert found["compared"] == found["records"] and found["dropped"] == 0
    assert found["counters"]["mold"]["messages"] == found["messages_total"] == sum(found["type_count"].values())
    return found


@pytest.mark.parametrize("spacing", ["minimum", "capture"])
def test_shipped_sample(spacing):
    found = _replay(sample_path(), limit=8000, spacing=spacing)
    assert found["records_by_kind"]["top_of_book"] > 1000 and not found["faults"]


def test_slice_of_a_day(real_data):
    found = _replay(real_data("itch/derived_20191230_book_slice.itch"), symbols="top:16")
    assert found["records_by_kind"]["top_of_book"] == sum(s["updates"] for s in found["symbols"]) > 1000 and not found["faults"]


@pytest.mark.parametrize("name", ["AddOrderNoMpidAttributionMessage", "Multiple.Packets", "OrderDeleteMessage", "OrderExecutedMessage", "OrderReplaceMessage",
                                  "StockTradingActionMessage"])
def test_packets_as_captured(real_data, name):
    assert _replay(real_data(f"mold/Nasdaq.Equities.TotalView.Itch.v5.0__{name}.pcap"))["compared"] > 0


@pytest.mark.slow
def test_first_hour_of_a_day(real_data):
    found = _replay(real_data("itch/nasdaq_head_251837.truncated.gz"), symbols="top:16")
    assert found["compared"] > 1000 and len(found["notes"]) == 2
