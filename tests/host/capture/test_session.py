"""The day in a file's name, and its midnight."""
import datetime

import pytest

from tickgate.capture.session import date_in_name, date_of, midnight_ns


@pytest.mark.parametrize(("name", "day"), [
    ("AMZN_2012-06-21_34200000_57600000_message_1.csv", "2012-06-21"), ("12302019.NASDAQ_ITCH50.gz", "2019-12-30"), ("S081321-v50.txt.gz", "2021-08-13"),
    ("derived_20191230_book_slice.itch", "2019-12-30"), ("nasdaq_head_251837.truncated.gz", None), ("x_99999999.itch", None), ("day.itch", None),
    ("123020190.itch", None), ("2019-13-30.itch", None)])
def test_names(name, day):
    assert date_in_name(name) == (day and datetime.date.fromisoformat(day))


@pytest.mark.parametrize(("day", "offset"), [("2019-12-30", 5), ("2012-06-21", 4), ("2026-03-07", 5), ("2026-03-09", 4)])
def test_midnight(day, offset):
    date = datetime.date.fromisoformat(day)
    utc = datetime.datetime.combine(date, datetime.time(offset), datetime.UTC)
    assert midnight_ns(date) == int(utc.timestamp()) * 10 ** 9
    assert date_of(midnight_ns(date)) == date and date_of(midnight_ns(date) - 1) == date - datetime.timedelta(days=1)
    assert midnight_ns(None) == 0
