"""A day of its own for the tests of the fast twin."""
import gzip

import pytest

from tickgate.capture import sample_path


@pytest.fixture(scope="session")
def sample():
    """The shipped day: 16 symbols, 60,000 messages, as a BinaryFILE with its end."""
    return gzip.decompress(sample_path().read_bytes())
