"""Nasdaq OUCH 4.2: orders in and what becomes of them, inside SoupBinTCP (requests unsequenced, replies sequenced).

Source: Nasdaq OUCH 4.2 specification, revision of December 2018. Network byte order. Prices have four implied decimals (1e-4 USD); times are ns since
midnight, Eastern. An order is known by its token: 14 letters and digits, each used once a day.
"""
from .layout import Field, Layout


def _request(code, name, size, doc, *fields):
    """A message from the client: its type, then its own fields."""
    return Layout(name, size, (Field("type", 0, 1, "alpha"), *fields), code=code, doc=doc, source="OUCH 4.2, 2 Inbound Messages")


def _reply(code, name, size, doc, *fields):
    """A message to the client: its type and time, then its own fields."""
    return Layout(name, size, (Field("type", 0, 1, "alpha"), Field("timestamp", 1, 8, unit="ns since midnight"), *fields), code=code, doc=doc,
                  source="OUCH 4.2, 3 Outbound Messages")


#: From the client.
INBOUND = (
    _request(b"O", "enter_order", 49, "new order",
        Field("order_token", 1, 14, "alpha"),
        Field("side", 15, 1, "alpha"),
        Field("shares", 16, 4, unit="shares"),
        Field("stock", 20, 8, "alpha"),
        Field("price", 28, 4, unit="1e-4 USD"),
        Field("time_in_force", 32, 4, unit="s", doc="0 at once or never, 99998 market hours, 99999 system hours"),
        Field("firm", 36, 4, "alpha"),
        Field("display", 40, 1, "alpha"),
        Field("capacity", 41, 1, "alpha"),
        Field("intermarket_sweep", 42, 1, "alpha"),
        Field("minimum_quantity", 43, 4, unit="shares"),
        Field("cross_type", 47, 1, "alpha"),
        Field("customer_type", 48, 1, "alpha")),
    _request(b"U", "replace_order", 47, "replaces a live order; shares are those of the whole chain, what was executed before included",
        Field("existing_order_token", 1, 14, "alpha"),
        Field("replacement_order_token", 15, 14, "alpha"),
        Field("shares", 29, 4, unit="shares"),
        Field("price", 33, 4, unit="1e-4 USD"),
        Field("time_in_force", 37, 4, unit="s", doc="0 at once or never, 99998 market hours, 99999 system hours"),
        Field("display", 41, 1, "alpha"),
        Field("intermarket_sweep", 42, 1, "alpha"),
        Field("minimum_quantity", 43, 4, unit="shares")),
    _request(b"X", "cancel_order", 19, "wanted remaining size, 0 for none: not the size to cancel",
        Field("order_token", 1, 14, "alpha"),
        Field("shares", 15, 4, unit="shares")),
    _request(b"M", "modify_order", 20, "another sell side, or fewer shares; keeps its place in the queue",
        Field("order_token", 1, 14, "alpha"),
        Field("side", 15, 1, "alpha"),
        Field("shares", 16, 4, unit="shares")),
    _request(b"N", "trade_now", 15, "midpoint order that may now take",
        Field("order_token", 1, 14, "alpha")),
)

#: To the client.
OUTBOUND = (
    _reply(b"S", "system_event", 10, "start and end of the day",
        Field("event_code", 9, 1, "alpha")),
    _reply(b"A", "accepted", 66, "order taken; dead when it was cancelled at once, then nothing else follows",
        Field("order_token", 9, 14, "alpha"),
        Field("side", 23, 1, "alpha"),
        Field("shares", 24, 4, unit="shares"),
        Field("stock", 28, 8, "alpha"),
        Field("price", 36, 4, unit="1e-4 USD"),
        Field("time_in_force", 40, 4, unit="s", doc="0 at once or never, 99998 market hours, 99999 system hours"),
        Field("firm", 44, 4, "alpha"),
        Field("display", 48, 1, "alpha"),
        Field("order_ref", 49, 8, unit="reference"),
        Field("capacity", 57, 1, "alpha"),
        Field("intermarket_sweep", 58, 1, "alpha"),
        Field("minimum_quantity", 59, 4, unit="shares"),
        Field("cross_type", 63, 1, "alpha"),
        Field("order_state", 64, 1, "alpha"),
        Field("bbo_weight_indicator", 65, 1, "alpha")),
    _reply(b"U", "replaced", 80, "replacement taken; shares are what is open",
        Field("replacement_order_token", 9, 14, "alpha"),
        Field("side", 23, 1, "alpha"),
        Field("shares", 24, 4, unit="shares"),
        Field("stock", 28, 8, "alpha"),
        Field("price", 36, 4, unit="1e-4 USD"),
        Field("time_in_force", 40, 4, unit="s", doc="0 at once or never, 99998 market hours, 99999 system hours"),
        Field("firm", 44, 4, "alpha"),
        Field("display", 48, 1, "alpha"),
        Field("order_ref", 49, 8, unit="reference"),
        Field("capacity", 57, 1, "alpha"),
        Field("intermarket_sweep", 58, 1, "alpha"),
        Field("minimum_quantity", 59, 4, unit="shares"),
        Field("cross_type", 63, 1, "alpha"),
        Field("order_state", 64, 1, "alpha"),
        Field("previous_order_token", 65, 14, "alpha"),
        Field("bbo_weight_indicator", 79, 1, "alpha")),
    _reply(b"C", "canceled", 28, "shares taken off the order; what was cancelled now, not in all",
        Field("order_token", 9, 14, "alpha"),
        Field("decrement_shares", 23, 4, unit="shares"),
        Field("reason", 27, 1, "alpha")),
    _reply(b"D", "aiq_canceled", 37, "shares taken off because both sides are the same owner's",
        Field("order_token", 9, 14, "alpha"),
        Field("decrement_shares", 23, 4, unit="shares"),
        Field("reason", 27, 1, "alpha"),
        Field("quantity_prevented", 28, 4, unit="shares"),
        Field("execution_price", 32, 4, unit="1e-4 USD"),
        Field("liquidity_flag", 36, 1, "alpha")),
    _reply(b"E", "executed", 40, "execution",
        Field("order_token", 9, 14, "alpha"),
        Field("executed_shares", 23, 4, unit="shares"),
        Field("execution_price", 27, 4, unit="1e-4 USD"),
        Field("liquidity_flag", 31, 1, "alpha"),
        Field("match_number", 32, 8, unit="number")),
    _reply(b"G", "executed_with_reference_price", 45, "execution that also tells a reference price",
        Field("order_token", 9, 14, "alpha"),
        Field("executed_shares", 23, 4, unit="shares"),
        Field("execution_price", 27, 4, unit="1e-4 USD"),
        Field("liquidity_flag", 31, 1, "alpha"),
        Field("match_number", 32, 8, unit="number"),
        Field("reference_price", 40, 4, unit="1e-4 USD"),
        Field("reference_price_type", 44, 1, "alpha")),
    _reply(b"F", "trade_correction", 41, "price of a trade was corrected",
        Field("order_token", 9, 14, "alpha"),
        Field("executed_shares", 23, 4, unit="shares"),
        Field("execution_price", 27, 4, unit="1e-4 USD"),
        Field("liquidity_flag", 31, 1, "alpha"),
        Field("match_number", 32, 8, unit="number"),
        Field("reason", 40, 1, "alpha")),
    _reply(b"B", "broken_trade", 32, "trade broken",
        Field("order_token", 9, 14, "alpha"),
        Field("match_number", 23, 8, unit="number"),
        Field("reason", 31, 1, "alpha")),
    _reply(b"J", "rejected", 24, "order not taken",
        Field("order_token", 9, 14, "alpha"),
        Field("reason", 23, 1, "alpha")),
    _reply(b"P", "cancel_pending", 23, "cancel of a cross order waits for the cross",
        Field("order_token", 9, 14, "alpha")),
    _reply(b"I", "cancel_reject", 23, "order cannot be cancelled",
        Field("order_token", 9, 14, "alpha")),
    _reply(b"T", "order_priority_update", 36, "order has a new place in the queue, under a new reference",
        Field("order_token", 9, 14, "alpha"),
        Field("price", 23, 4, unit="1e-4 USD"),
        Field("display", 27, 1, "alpha"),
        Field("order_ref", 28, 8, unit="reference")),
    _reply(b"M", "order_modified", 28, "order was modified",
        Field("order_token", 9, 14, "alpha"),
        Field("side", 23, 1, "alpha"),
        Field("shares", 24, 4, unit="shares")),
    _reply(b"N", "trade_now", 23, "order may take",
        Field("order_token", 9, 14, "alpha")),
)

IN = {m.code: m for m in INBOUND}
OUT = {m.code: m for m in OUTBOUND}

IOC, MARKET_HOURS, SYSTEM_HOURS = 0, 99_998, 99_999                 # time in force; between them: seconds
VISIBLE, HIDDEN, ATTRIBUTED, POST_ONLY, POST_ONLY_ATTRIBUTED = b"Y", b"N", b"A", b"P", b"L"   # display
SIDES = {b"B": "buy", b"S": "sell", b"T": "sell short", b"E": "sell short, exempt"}
CAPACITIES = b"APRO"
LIVE, DEAD = b"L", b"D"
#: Prices from here on, and this one, are no limit: market orders of a cross.
MARKET, MARKET_FROM, HIGHEST_PRICE = 0x7FFFFFFF, 2_000_000_000, 1_999_999_900
MAXIMUM_QUANTITY = 999_999                                          # shares

CANCEL_REASONS = {
    "user": b"U", "ioc": b"I", "timeout": b"T", "supervisory": b"S", "regulatory": b"D", "self_match": b"Q", "system": b"Z", "cross": b"C", "collars": b"K",
    "halted": b"H", "open_protection": b"X", "closed": b"E", "post_only_nms": b"F", "post_only": b"G"}
BROKEN_REASONS = {"erroneous": b"E", "consent": b"C", "supervisory": b"S", "external": b"X"}
LIQUIDITY = {"added": b"A", "removed": b"R", "hidden_added": b"J", "opening": b"O", "closing": b"C", "halt": b"H"}
REJECT_REASONS = {
    "test": b"T", "halted": b"H", "shares_exceed_threshold": b"Z", "invalid_symbol": b"S", "invalid_display": b"D", "destination_closed": b"C",
    "firm_not_authorised": b"L", "invalid_cross_order": b"R", "invalid_price": b"X", "invalid_min_qty": b"N", "other": b"O"}

if len(IN) != 5 or len(OUT) != 15:
    raise AssertionError("OUCH 4.2 has 5 messages in and 15 out")
