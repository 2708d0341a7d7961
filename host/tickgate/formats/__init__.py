"""Market data from and to files of many kinds, by way of one row form (``tickgate.spec.events``); docs/formats.md says what becomes of what.

``sources``: files of every kind as events. ``orders``: what each event's order was. ``itch``: events and ITCH messages. The other modules write a
form each. ``FORMATS`` are those that can be written.
"""
import importlib
import importlib.util
from typing import NamedTuple

__all__ = ["FORMATS", "Format", "About", "format_of", "events", "open_source"]


class Format(NamedTuple):
    """A form of output. ``takes``: what its writer is fed with, ``messages`` (blocks), ``events`` (as they are, completed) or ``orders`` (U split).
    ``writer``: module and class; ``needs``: packages, which come with the ``extra``. ``one_symbol``: a file holds one symbol."""

    name: str
    suffixes: tuple
    takes: str
    writer: tuple
    extra: str = ""
    needs: tuple = ()
    one_symbol: bool = False

    def missing(self):
        """Packages that are not there."""
        return [name for name in self.needs if importlib.util.find_spec(name) is None]

    def open(self, files, about):
        """The writer: ``write(…)``, ``close()``. ``files``: open for writing bytes, two for LOBSTER. ``about``: an ``About``."""
        module, name = self.writer
        return getattr(importlib.import_module(f"{__name__}.{module}"), name)(*files, about)


class About(NamedTuple):
    """What a writer is told of the events: their ``source`` (a ``Source``; the first one's when there are several), the labels of all ``inputs``, their
    symbols by locate (``names``, which grow while they are read), the ``levels`` of books, the ``version`` of the program that writes."""

    source: object
    inputs: tuple
    names: dict
    levels: int
    version: str

    @property
    def metadata(self):
        """What files carry in their metadata, all texts."""
        from tickgate.spec.events import SCHEMA_VERSION

        return {"tickgate": self.version, "schema": "tickgate.event", "schema_version": str(SCHEMA_VERSION), "source": " ".join(self.inputs),
                "source_kind": self.source.kind, "date": str(self.source.date or ""), "time_unit": "ns since midnight, America/New_York",
                "price_unit": "1e-4 USD"}


FORMATS = {f.name: f for f in (
    Format("pcap", (".pcap", ".pcap.gz"), "messages", ("messages", "Pcap")),
    Format("itch", (".itch", ".itch.gz", ".bin", ".bin.gz"), "messages", ("messages", "BinaryFile")),
    Format("lobster", (), "orders", ("lobster", "Pair"), one_symbol=True),
    Format("parquet", (".parquet",), "events", ("arrow", "Parquet"), "parquet", ("pyarrow",)),
    Format("arrow", (".arrow", ".feather"), "events", ("arrow", "Arrow"), "parquet", ("pyarrow",)),
    Format("csv", (".csv", ".csv.gz"), "events", ("csv", "Csv")),
    Format("hftbacktest", (".npz",), "orders", ("hftbacktest", "Npz"), one_symbol=True),
    Format("dbn", (".dbn", ".dbn.zst"), "orders", ("dbn", "Dbn"), "dbn", ("databento_dbn",)),
)}


def format_of(path):
    """The format that a path's name asks for, or None."""
    from tickgate.capture import lobster

    name = str(path).lower()
    if lobster.parts_of(str(path)) or str(path).endswith("/"):
        return FORMATS["lobster"]
    return next((f for f in FORMATS.values() if name.endswith(f.suffixes or ("\0",))), None)


def __getattr__(name):
    if name in ("events", "open_source"):
        from . import sources
        return getattr(sources, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
