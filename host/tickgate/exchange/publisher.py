"""What the engine does, as ITCH 5.0 messages."""
from tickgate.spec import itch50


class Publisher:
    """Makes the messages and hands each to ``sink(time_ns, bytes)``. The book that they add up to is the engine's visible book after every one of them.

    ``time_ns`` (ns since midnight) is set by the engine.
    """

    def __init__(self, sink):
        self.sink, self.time_ns = sink, 0

    def _send(self, code, locate, **values):
        self.sink(self.time_ns, itch50.BY_CODE[code].encode(stock_locate=locate, timestamp=self.time_ns, **values))

    def _of(self, code, book, **values):
        self._send(code, book.locate, **values)

    def _named(self, code, book, **values):
        self._send(code, book.locate, stock=book.name, **values)

    def phase(self, code):
        self._send(b"S", 0, event_code=code)

    def directory(self, book):
        self._named(b"R", book, market_category="Q", financial_status="N", round_lot_size=100, round_lots_only="N", issue_classification="C",
                    issue_sub_type="Z", authenticity="P", short_sale_threshold="N", ipo_flag="N", luld_reference_price_tier="1", etp_flag="N",
                    inverse_indicator="N")
        self._named(b"Y", book, reg_sho_action="0")

    def state(self, book, reason=""):
        self._named(b"H", book, trading_state=book.state, reason=reason)

    def add(self, order):
        fields = {"order_ref": order.reference, "side": "S" if order.sell else "B", "shares": order.shares, "price": order.price}
        if order.attribution.strip():
            self._named(b"F", order.book, attribution=order.attribution, **fields)
        else:
            self._named(b"A", order.book, **fields)

    def executed(self, order, shares, match):
        self._of(b"E", order.book, order_ref=order.reference, executed_shares=shares, match_number=match)

    def crossed(self, order, shares, match, price):
        """A visible order's part of a cross; the whole is reported in bulk."""
        self._of(b"C", order.book, order_ref=order.reference, executed_shares=shares, match_number=match, printable="N", execution_price=price)

    def hidden(self, book, shares, price, match):
        """An execution against a hidden order. Its side is B whatever happened, and nobody learns the reference."""
        self._named(b"P", book, order_ref=0, side="B", shares=shares, price=price, match_number=match)

    def reduced(self, order, shares):
        """Shares were taken off a visible order; it goes with its last ones."""
        if order.shares:
            self._of(b"X", order.book, order_ref=order.reference, cancelled_shares=shares)
        else:
            self.deleted(order)

    def deleted(self, order):
        self._of(b"D", order.book, order_ref=order.reference)

    def replaced(self, old_reference, new):
        self._of(b"U", new.book, original_order_ref=old_reference, new_order_ref=new.reference, shares=new.shares, price=new.price)

    def cross(self, book, clearing, match, kind):
        self._named(b"Q", book, shares=clearing.shares, cross_price=clearing.price, match_number=match, cross_type=kind)

    def imbalance(self, book, clearing, kind):
        """Net order imbalance: what a cross would do now."""
        direction = "B" if clearing.imbalance > 0 else "S" if clearing.imbalance < 0 else "N"
        self._named(b"I", book, paired_shares=clearing.shares, imbalance_shares=abs(clearing.imbalance),
                    imbalance_direction=direction if clearing.price else "O", far_price=clearing.price, near_price=clearing.price,
                    current_reference_price=clearing.price, cross_type=kind, price_variation=" ")

    def broken(self, book, match):
        self._of(b"B", book, match_number=match)
