"""Nasdaq OUCH 5.0: orders in and what becomes of them, inside SoupBinTCP (requests unsequenced, replies sequenced).

Source: Nasdaq OUCH 5.0 specification, April 2023. Network byte order. Prices have four implied decimals (1e-4 USD); times are ns since midnight, Eastern.
A message that ends with ``appendage_length`` is followed by that many bytes of tagged values, see ``TAGS``.
"""
from dataclasses import dataclass

from .layout import Field, Layout


def _request(code, name, size, doc, *fields):
    """A message from the client: its type, then its own fields."""
    return Layout(name, size, (Field("type", 0, 1, "alpha"), *fields), code=code, doc=doc, source="OUCH 5.0, 2 Inbound Messages")


def _reply(code, name, size, doc, *fields):
    """A message to the client: its type and time, then its own fields."""
    return Layout(name, size, (Field("type", 0, 1, "alpha"), Field("timestamp", 1, 8, unit="ns since midnight"), *fields), code=code, doc=doc,
                  source="OUCH 5.0, 3 Outbound Messages")


#: From the client.
INBOUND = (
    _request(b"O", "enter_order", 47, "new order",
        Field("user_ref_num", 1, 4, unit="number"),
        Field("side", 5, 1, "alpha"),
        Field("quantity", 6, 4, unit="shares"),
        Field("symbol", 10, 8, "alpha"),
        Field("price", 18, 8, unit="1e-4 USD"),
        Field("time_in_force", 26, 1, "alpha"),
        Field("display", 27, 1, "alpha"),
        Field("capacity", 28, 1, "alpha"),
        Field("intermarket_sweep", 29, 1, "alpha"),
        Field("cross_type", 30, 1, "alpha"),
        Field("clordid", 31, 14, "alpha"),
        Field("appendage_length", 45, 2, unit="bytes", doc="of the tagged values that follow")),
    _request(b"U", "replace_order", 40, "replaces a live order; quantity is that of the whole chain, what was executed before included",
        Field("orig_user_ref_num", 1, 4, unit="number"),
        Field("user_ref_num", 5, 4, unit="number"),
        Field("quantity", 9, 4, unit="shares"),
        Field("price", 13, 8, unit="1e-4 USD"),
        Field("time_in_force", 21, 1, "alpha"),
        Field("display", 22, 1, "alpha"),
        Field("intermarket_sweep", 23, 1, "alpha"),
        Field("clordid", 24, 14, "alpha"),
        Field("appendage_length", 38, 2, unit="bytes", doc="of the tagged values that follow")),
    _request(b"X", "cancel_order", 9, "wanted remaining size, 0 for none: not the size to cancel",
        Field("user_ref_num", 1, 4, unit="number"),
        Field("quantity", 5, 4, unit="shares")),
    _request(b"M", "modify_order", 10, "another sell side, or fewer shares; keeps its place in the queue",
        Field("user_ref_num", 1, 4, unit="number"),
        Field("side", 5, 1, "alpha"),
        Field("quantity", 6, 4, unit="shares")),
    _request(b"Q", "account_query", 1, "asks for the next free user reference"),
)

#: To the client.
OUTBOUND = (
    _reply(b"S", "system_event", 10, "start and end of the day",
        Field("event_code", 9, 1, "alpha")),
    _reply(b"A", "order_accepted", 64, "order taken; dead when it was cancelled at once, then nothing else follows",
        Field("user_ref_num", 9, 4, unit="number"),
        Field("side", 13, 1, "alpha"),
        Field("quantity", 14, 4, unit="shares"),
        Field("symbol", 18, 8, "alpha"),
        Field("price", 26, 8, unit="1e-4 USD"),
        Field("time_in_force", 34, 1, "alpha"),
        Field("display", 35, 1, "alpha"),
        Field("order_ref", 36, 8, unit="reference"),
        Field("capacity", 44, 1, "alpha"),
        Field("intermarket_sweep", 45, 1, "alpha"),
        Field("cross_type", 46, 1, "alpha"),
        Field("order_state", 47, 1, "alpha"),
        Field("clordid", 48, 14, "alpha"),
        Field("appendage_length", 62, 2, unit="bytes", doc="of the tagged values that follow")),
    _reply(b"U", "order_replaced", 68, "replacement taken; quantity is what is open",
        Field("orig_user_ref_num", 9, 4, unit="number"),
        Field("user_ref_num", 13, 4, unit="number"),
        Field("side", 17, 1, "alpha"),
        Field("quantity", 18, 4, unit="shares"),
        Field("symbol", 22, 8, "alpha"),
        Field("price", 30, 8, unit="1e-4 USD"),
        Field("time_in_force", 38, 1, "alpha"),
        Field("display", 39, 1, "alpha"),
        Field("order_ref", 40, 8, unit="reference"),
        Field("capacity", 48, 1, "alpha"),
        Field("intermarket_sweep", 49, 1, "alpha"),
        Field("cross_type", 50, 1, "alpha"),
        Field("order_state", 51, 1, "alpha"),
        Field("clordid", 52, 14, "alpha"),
        Field("appendage_length", 66, 2, unit="bytes", doc="of the tagged values that follow")),
    _reply(b"C", "order_canceled", 18, "shares taken off the order; what was cancelled now, not in all",
        Field("user_ref_num", 9, 4, unit="number"),
        Field("quantity", 13, 4, unit="shares"),
        Field("reason", 17, 1, "alpha")),
    _reply(b"D", "aiq_canceled", 32, "shares taken off because both sides are the same owner's; the revision before April 2023 lacks the last byte",
        Field("user_ref_num", 9, 4, unit="number"),
        Field("decrement_shares", 13, 4, unit="shares"),
        Field("reason", 17, 1, "alpha"),
        Field("quantity_prevented", 18, 4, unit="shares"),
        Field("execution_price", 22, 8, unit="1e-4 USD"),
        Field("liquidity_flag", 30, 1, "alpha"),
        Field("aiq_strategy", 31, 1, "alpha")),
    _reply(b"E", "order_executed", 36, "execution",
        Field("user_ref_num", 9, 4, unit="number"),
        Field("quantity", 13, 4, unit="shares"),
        Field("price", 17, 8, unit="1e-4 USD"),
        Field("liquidity_flag", 25, 1, "alpha"),
        Field("match_number", 26, 8, unit="number"),
        Field("appendage_length", 34, 2, unit="bytes", doc="of the tagged values that follow")),
    _reply(b"B", "broken_trade", 36, "trade broken",
        Field("user_ref_num", 9, 4, unit="number"),
        Field("match_number", 13, 8, unit="number"),
        Field("reason", 21, 1, "alpha"),
        Field("clordid", 22, 14, "alpha")),
    _reply(b"J", "rejected", 29, "order not taken",
        Field("user_ref_num", 9, 4, unit="number"),
        Field("reason", 13, 2, unit="code"),
        Field("clordid", 15, 14, "alpha")),
    _reply(b"P", "cancel_pending", 13, "cancel of a cross order waits for the cross",
        Field("user_ref_num", 9, 4, unit="number")),
    _reply(b"I", "cancel_reject", 13, "order cannot be cancelled",
        Field("user_ref_num", 9, 4, unit="number")),
    _reply(b"T", "order_priority_update", 30, "order has a new place in the queue, under a new reference",
        Field("user_ref_num", 9, 4, unit="number"),
        Field("price", 13, 8, unit="1e-4 USD"),
        Field("display", 21, 1, "alpha"),
        Field("order_ref", 22, 8, unit="reference")),
    _reply(b"M", "order_modified", 18, "order was modified",
        Field("user_ref_num", 9, 4, unit="number"),
        Field("side", 13, 1, "alpha"),
        Field("quantity", 14, 4, unit="shares")),
    _reply(b"R", "order_restated", 16, "display of a reserve or pegged order changed",
        Field("user_ref_num", 9, 4, unit="number"),
        Field("reason", 13, 1, "alpha"),
        Field("appendage_length", 14, 2, unit="bytes", doc="of the tagged values that follow")),
    _reply(b"Q", "account_query_response", 13, "next free user reference",
        Field("next_user_ref_num", 9, 4, unit="number")),
    _reply(b"F", "trade_correction", 49, "price of a trade was corrected; not in the specification since 2023-05-02",
        Field("user_ref_num", 9, 4, unit="number"),
        Field("quantity", 13, 4, unit="shares"),
        Field("price", 17, 8, unit="1e-4 USD"),
        Field("liquidity_flag", 25, 1, "alpha"),
        Field("match_number", 26, 8, unit="number"),
        Field("reason", 34, 1, "alpha"),
        Field("clordid", 35, 14, "alpha")),
)

IN = {m.code: m for m in INBOUND}
OUT = {m.code: m for m in OUTBOUND}


@dataclass(frozen=True)
class Tag:
    """A tagged value of an appendage: one byte of length (tag and value), the tag, the value. ``kind``: uint, int (signed) or alpha."""

    number: int
    name: str
    size: int
    kind: str = "uint"
    unit: str = ""
    doc: str = ""


#: The specification has no 8 and 21, and retired 19 and 20 in May 2023. Tags that nobody knows are skipped.
TAGS = (
    Tag(1, "secondary_ord_ref_num", 8, unit="reference", doc="order restated only"),
    Tag(2, "firm", 4, "alpha"),
    Tag(3, "min_qty", 4, unit="shares"),
    Tag(4, "customer_type", 1, "alpha", doc="R retail, N not"),
    Tag(5, "max_floor", 4, unit="shares", doc="displayed part of a reserve order"),
    Tag(6, "price_type", 1, "alpha", doc="L limit, P market peg, R primary peg, Q market maker peg, M midpoint peg, m midpoint"),
    Tag(7, "peg_offset", 4, "int", unit="1e-4 USD"),
    Tag(9, "discretion_price", 8, unit="1e-4 USD"),
    Tag(10, "discretion_price_type", 1, "alpha"),
    Tag(11, "discretion_peg_offset", 4, "int", unit="1e-4 USD"),
    Tag(12, "post_only", 1, "alpha", doc="P: never takes; N"),
    Tag(13, "random_reserves", 4, unit="shares"),
    Tag(14, "route", 4, "alpha"),
    Tag(15, "expire_time", 4, unit="s since midnight", doc="of time in force 6"),
    Tag(16, "trade_now", 1, "alpha", doc="Y, N"),
    Tag(17, "handle_inst", 1, "alpha", doc="blank: none"),
    Tag(18, "bbo_weight_indicator", 1, "alpha"),
    Tag(19, "reference_price", 8, unit="1e-4 USD", doc="retired"),
    Tag(20, "reference_price_type", 1, "alpha", doc="retired"),
    Tag(22, "display_quantity", 4, unit="shares", doc="order restated only"),
    Tag(23, "display_price", 8, unit="1e-4 USD", doc="order restated only"),
    Tag(24, "group_id", 2, unit="number"),
    Tag(25, "shares_located", 1, "alpha", doc="Y, N"),
)
TAG = {t.name: t for t in TAGS}
_TAG_BY_NUMBER = {t.number: t for t in TAGS}
_LENGTH, _HEAD = 1, 2     # bytes: the length, and length and tag

DAY, IOC, GTX, GTT, AFTER_HOURS = b"0", b"3", b"5", b"6", b"E"      # time in force
VISIBLE, HIDDEN, ATTRIBUTED = b"Y", b"N", b"A"                      # display
SIDES = {b"B": "buy", b"S": "sell", b"T": "sell short", b"E": "sell short, exempt"}
CAPACITIES = b"APRO"
LIVE, DEAD = b"L", b"D"
#: Prices from here on, and this one, are no limit: market orders of a cross.
MARKET, MARKET_FROM, HIGHEST_PRICE = 0x7FFFFFFF, 2_000_000_000, 1_999_999_900
MAXIMUM_QUANTITY = 999_999                                          # shares

CANCEL_REASONS = {
    "regulatory": b"D", "closed": b"E", "post_only_nms": b"F", "post_only": b"G", "halted": b"H", "ioc": b"I", "collars": b"K", "self_match": b"Q",
    "supervisory": b"S", "timeout": b"T", "user": b"U", "open_protection": b"X", "system": b"Z", "direct_listing": b"e"}
BROKEN_REASONS = {"erroneous": b"E", "consent": b"C", "supervisory": b"S", "external": b"X"}
LIQUIDITY = {"added": b"A", "removed": b"R", "hidden_added": b"J", "opening": b"O", "closing": b"C", "halt": b"H"}
REJECT_REASONS = {name: code for code, name in enumerate((
    "quote_unavailable", "destination_closed", "invalid_display", "invalid_max_floor", "invalid_peg_type", "fat_finger", "halted", "iso_not_allowed",
    "invalid_side", "processing_error", "cancel_pending", "firm_not_authorised", "invalid_min_qty", "no_closing_reference_price", "other",
    "cancel_not_allowed", "pegging_not_allowed", "crossed_market", "invalid_quantity", "invalid_cross_order", "replace_not_allowed",
    "routing_not_allowed", "invalid_symbol", "test", "late_loc_too_aggressive", "retail_not_allowed", "invalid_midpoint_post_only_price",
    "invalid_destination", "invalid_price", "shares_exceed_threshold", "exceeds_max_notional", "risk_aggregate_exposure", "risk_market_impact",
    "risk_restricted_stock", "risk_short_sell_restricted", "risk_order_type_restricted", "risk_exceeds_adv", "risk_fat_finger", "risk_locate_required",
    "risk_symbol_rate", "risk_port_rate", "risk_duplicate_rate"), 1)}


def appendage(**values):
    """Bytes of tagged values, in the order given. Raises ``ValueError`` for a name that is none and a value that does not fit."""
    raw = b""
    for name, value in values.items():
        tag = TAG.get(name)
        if tag is None:
            raise ValueError(f"OUCH 5.0 has no tag {name}")
        try:
            part = ((value.encode() if isinstance(value, str) else value).ljust(tag.size) if tag.kind == "alpha"
                    else value.to_bytes(tag.size, "big", signed=tag.kind == "int"))
        except OverflowError:
            part = b""
        if len(part) != tag.size:
            raise ValueError(f"tag {name}: {value!r} does not fit {tag.size} bytes")
        raw += bytes((_HEAD - _LENGTH + tag.size, tag.number)) + part
    return raw


def tagged(raw):
    """Tagged values by name: integers, and bytes for text; the last one counts. Unknown tags are skipped.

    Raises ``ValueError`` for an element that does not fit, or that has not its tag's size.
    """
    values, at = {}, 0
    while at < len(raw):
        end = at + _LENGTH + raw[at]
        if end > len(raw) or end < at + _HEAD:
            raise ValueError(f"element at byte {at} of {len(raw)}: its length is {raw[at]}")
        tag, part, at = _TAG_BY_NUMBER.get(raw[at + _LENGTH]), raw[at + _HEAD:end], end
        if tag is None:
            continue
        if len(part) != tag.size:
            raise ValueError(f"tag {tag.name}: {len(part)} bytes, not {tag.size}")
        values[tag.name] = bytes(part) if tag.kind == "alpha" else int.from_bytes(part, "big", signed=tag.kind == "int")
    return values


if len(IN) != 5 or len(OUT) != 15 or len(_TAG_BY_NUMBER) != len(TAGS):
    raise AssertionError("OUCH 5.0 has 5 messages in and 15 out, with the trade correction of earlier revisions")
