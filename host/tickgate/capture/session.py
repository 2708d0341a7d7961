"""The day of a session: what a file's name says of it, and where its midnight is in UTC."""
import datetime
import re
import zoneinfo

from .errors import CaptureError

EXCHANGE = "America/New_York"
_SECOND = 10 ** 9
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
#: How names of market data files write a day: LOBSTER and many others; Nasdaq's two forms; the plain one.
_FORMS = (
    (re.compile(r"(?<!\d)(\d{4})-(\d\d)-(\d\d)(?!\d)"), (0, 1, 2)),
    (re.compile(r"(?<!\d)(\d\d)(\d\d)(\d{4})(?!\d)"), (2, 0, 1)),
    (re.compile(r"(?<![A-Za-z\d])S(\d\d)(\d\d)(\d\d)(?!\d)"), (2, 0, 1)),
    (re.compile(r"(?<!\d)(\d{4})(\d\d)(\d\d)(?!\d)"), (0, 1, 2)),
)


def date_in_name(name):
    """The day that a file's name tells, as ``datetime.date``, or None: 2019-12-30, 12302019, S123019 or 20191230."""
    for form, order in _FORMS:
        for match in form.finditer(name):
            year, month, day = (int(match[k + 1]) for k in order)
            try:
                date = datetime.date(year + 2000 if year < 100 else year, month, day)
            except ValueError:
                continue
            if 1990 <= date.year < 2100:
                return date
    return None


def midnight_ns(date):
    """ns since 1970, UTC, of the day's midnight at the exchange; 0 without a date, so that times stay ns since midnight."""
    if date is None:
        return 0
    local = datetime.datetime.combine(date, datetime.time(), _zone())
    return (local - _EPOCH) // datetime.timedelta(seconds=1) * _SECOND


def date_of(time_ns):
    """The exchange's day at a time in ns since 1970."""
    return datetime.datetime.fromtimestamp(time_ns // _SECOND, _zone()).date()


def _zone():
    try:
        return zoneinfo.ZoneInfo(EXCHANGE)
    except zoneinfo.ZoneInfoNotFoundError:
        raise CaptureError("this system", 0, "time zone", f"{EXCHANGE} is not known: pip install tzdata") from None
