import pytest
from amaranth import Module, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from tickgate_hdl.stream.join import JoinError, connect


class Price(data.Struct):
    px: unsigned(32)


class Quantity(data.Struct):
    qty: unsigned(32)


def port(flow, shape, **ready):
    return wiring.Component({"port": flow(stream.Signature(shape, **ready))}).port


def test_equal_signatures_are_joined_in_either_order():
    for a, b in ((Out, In), (In, Out)):
        m = Module()
        connect(m, port(a, Price), port(b, Price))
        assert m._statements["comb"]  # valid, ready and payload


@pytest.mark.parametrize("b", [port(In, Quantity), port(In, unsigned(32)), port(In, Price, always_ready=True), port(Out, Price)],
                         ids=["other struct", "no struct", "always ready", "same direction"])
def test_anything_else_is_refused(b):
    with pytest.raises(JoinError, match="interfaces differ"):
        connect(Module(), port(Out, Price), b)
