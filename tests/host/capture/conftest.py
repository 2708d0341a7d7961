"""Real data and small captures for the tests of this folder."""

import pytest

from tickgate.capture import mold_frames
from tickgate.spec import itch50


@pytest.fixture(scope="session")
def data(real_data):
    """The folder with real data; skips when it is not there."""
    return real_data("itch").parent


@pytest.fixture(scope="session")
def messages():
    """One message of each type, 1 ms apart, locate 7."""
    return [m.encode(stock_locate=7, timestamp=34_200_000_000_000 + k * 1_000_000, **({"stock": "ALFA"} if "stock" in m.field else {}),
                     **({"price": 100_000 + 100 * k} if "price" in m.field else {})) for k, m in enumerate(itch50.MESSAGES)]


@pytest.fixture(scope="session")
def frames(messages):
    """A frame for each of them."""
    batch = mold_frames(messages, range(0, 1_000_000 * len(messages), 1_000_000))
    assert len(batch) == len(messages) == 23
    return list(batch)


@pytest.fixture(scope="session")
def times(frames):
    """Their times: ns since 1970 with all digits in use."""
    return [1_692_709_976_123_456_789 + 1_000_003 * k for k in range(len(frames))]
