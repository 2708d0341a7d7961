"""Nasdaq TotalView-ITCH 5.0: all 23 messages.

Source: Nasdaq TotalView-ITCH 5.0 specification (2017, with the additions of 2018 (h), 2022 (O) and 2025). Network byte order.
Prices have four implied decimals (1e-4 USD), those of V eight. Times are nanoseconds since midnight, Eastern, of the session's day.
"""
from .layout import Field, Layout


def _message(code, name, size, category, doc, *fields):
    """One message: the common eleven bytes, then its own fields."""
    return Layout(name, size, (
        Field("type", 0, 1, "alpha"),
        Field("stock_locate", 1, 2, unit="locate"),
        Field("tracking_number", 3, 2, unit="number"),
        Field("timestamp", 5, 6, unit="ns since midnight"),
        *fields), code=code, doc=f"{category}: {doc}", source="TotalView-ITCH 5.0, " + _SECTION[category])


_SECTION = {"admin": "1.1 System Event", "reference": "1.2 Stock Related", "status": "1.2 Stock Related", "book": "1.3 Add Order, 1.4 Modify Order",
            "trade": "1.5 Trade", "auction": "1.6 NOII"}

MESSAGES = (
    _message(b"S", "system_event", 12, "admin", "start and end of messages, system hours and market hours; locate 0",
        Field("event_code", 11, 1, "alpha")),
    _message(b"R", "stock_directory", 39, "reference", "locate to symbol, for one day",
        Field("stock", 11, 8, "alpha"),
        Field("market_category", 19, 1, "alpha"),
        Field("financial_status", 20, 1, "alpha"),
        Field("round_lot_size", 21, 4, unit="shares"),
        Field("round_lots_only", 25, 1, "alpha"),
        Field("issue_classification", 26, 1, "alpha"),
        Field("issue_sub_type", 27, 2, "alpha"),
        Field("authenticity", 29, 1, "alpha"),
        Field("short_sale_threshold", 30, 1, "alpha"),
        Field("ipo_flag", 31, 1, "alpha"),
        Field("luld_reference_price_tier", 32, 1, "alpha"),
        Field("etp_flag", 33, 1, "alpha"),
        Field("etp_leverage_factor", 34, 4, unit="times"),
        Field("inverse_indicator", 38, 1, "alpha")),
    _message(b"H", "stock_trading_action", 25, "status", "halted, paused, quotation only, trading",
        Field("stock", 11, 8, "alpha"),
        Field("trading_state", 19, 1, "alpha"),
        Field("reserved", 20, 1, "alpha"),
        Field("reason", 21, 4, "alpha")),
    _message(b"Y", "reg_sho_restriction", 20, "status", "Reg SHO short sale restriction",
        Field("stock", 11, 8, "alpha"),
        Field("reg_sho_action", 19, 1, "alpha")),
    _message(b"L", "market_participant_position", 26, "reference", "market participant position",
        Field("mpid", 11, 4, "alpha"),
        Field("stock", 15, 8, "alpha"),
        Field("primary_market_maker", 23, 1, "alpha"),
        Field("market_maker_mode", 24, 1, "alpha"),
        Field("market_participant_state", 25, 1, "alpha")),
    _message(b"V", "mwcb_decline_level", 35, "status", "market-wide circuit breaker levels",
        Field("level_1", 11, 8, unit="1e-8 USD"),
        Field("level_2", 19, 8, unit="1e-8 USD"),
        Field("level_3", 27, 8, unit="1e-8 USD")),
    _message(b"W", "mwcb_status", 12, "status", "market-wide circuit breaker breached",
        Field("breached_level", 11, 1, "alpha")),
    _message(b"K", "ipo_quoting_period_update", 28, "status", "IPO quoting period",
        Field("stock", 11, 8, "alpha"),
        Field("ipo_release_time", 19, 4, unit="s since midnight"),
        Field("ipo_release_qualifier", 23, 1, "alpha"),
        Field("ipo_price", 24, 4, unit="1e-4 USD")),
    _message(b"J", "luld_auction_collar", 35, "status", "limit up limit down auction collar",
        Field("stock", 11, 8, "alpha"),
        Field("reference_price", 19, 4, unit="1e-4 USD"),
        Field("upper_price", 23, 4, unit="1e-4 USD"),
        Field("lower_price", 27, 4, unit="1e-4 USD"),
        Field("extension", 31, 4, unit="number")),
    _message(b"h", "operational_halt", 21, "status", "operational halt of one market centre",
        Field("stock", 11, 8, "alpha"),
        Field("market_code", 19, 1, "alpha"),
        Field("halt_action", 20, 1, "alpha")),
    _message(b"A", "add_order", 36, "book", "new order",
        Field("order_ref", 11, 8, unit="reference"),
        Field("side", 19, 1, "alpha"),
        Field("shares", 20, 4, unit="shares"),
        Field("stock", 24, 8, "alpha"),
        Field("price", 32, 4, unit="1e-4 USD")),
    _message(b"F", "add_order_mpid", 40, "book", "new order with attribution",
        Field("order_ref", 11, 8, unit="reference"),
        Field("side", 19, 1, "alpha"),
        Field("shares", 20, 4, unit="shares"),
        Field("stock", 24, 8, "alpha"),
        Field("price", 32, 4, unit="1e-4 USD"),
        Field("attribution", 36, 4, "alpha")),
    _message(b"E", "order_executed", 31, "book", "execution at the order's price; shares accumulate",
        Field("order_ref", 11, 8, unit="reference"),
        Field("executed_shares", 19, 4, unit="shares"),
        Field("match_number", 23, 8, unit="number")),
    _message(b"C", "order_executed_with_price", 36, "book", "execution at another price; the book loses shares at the order's price",
        Field("order_ref", 11, 8, unit="reference"),
        Field("executed_shares", 19, 4, unit="shares"),
        Field("match_number", 23, 8, unit="number"),
        Field("printable", 31, 1, "alpha"),
        Field("execution_price", 32, 4, unit="1e-4 USD")),
    _message(b"X", "order_cancel", 23, "book", "partial cancel",
        Field("order_ref", 11, 8, unit="reference"),
        Field("cancelled_shares", 19, 4, unit="shares")),
    _message(b"D", "order_delete", 19, "book", "whole order goes",
        Field("order_ref", 11, 8, unit="reference")),
    _message(b"U", "order_replace", 35, "book", "order gets a new reference, size and price; side and stock stay",
        Field("original_order_ref", 11, 8, unit="reference"),
        Field("new_order_ref", 19, 8, unit="reference"),
        Field("shares", 27, 4, unit="shares"),
        Field("price", 31, 4, unit="1e-4 USD")),
    _message(b"P", "trade_non_cross", 44, "trade", "execution against a hidden order; no book effect; side is always B since 2014",
        Field("order_ref", 11, 8, unit="reference"),
        Field("side", 19, 1, "alpha"),
        Field("shares", 20, 4, unit="shares"),
        Field("stock", 24, 8, "alpha"),
        Field("price", 32, 4, unit="1e-4 USD"),
        Field("match_number", 36, 8, unit="number")),
    _message(b"Q", "cross_trade", 40, "trade", "cross; shares have eight bytes; no book effect",
        Field("shares", 11, 8, unit="shares"),
        Field("stock", 19, 8, "alpha"),
        Field("cross_price", 27, 4, unit="1e-4 USD"),
        Field("match_number", 31, 8, unit="number"),
        Field("cross_type", 39, 1, "alpha")),
    _message(b"B", "broken_trade", 19, "trade", "trade broken; no book effect",
        Field("match_number", 11, 8, unit="number")),
    _message(b"I", "noii", 50, "auction", "net order imbalance",
        Field("paired_shares", 11, 8, unit="shares"),
        Field("imbalance_shares", 19, 8, unit="shares"),
        Field("imbalance_direction", 27, 1, "alpha"),
        Field("stock", 28, 8, "alpha"),
        Field("far_price", 36, 4, unit="1e-4 USD"),
        Field("near_price", 40, 4, unit="1e-4 USD"),
        Field("current_reference_price", 44, 4, unit="1e-4 USD"),
        Field("cross_type", 48, 1, "alpha"),
        Field("price_variation", 49, 1, "alpha")),
    _message(b"N", "retail_interest", 20, "status", "retail interest",
        Field("stock", 11, 8, "alpha"),
        Field("interest_flag", 19, 1, "alpha")),
    _message(b"O", "direct_listing_capital_raise", 48, "status", "direct listing with capital raise",
        Field("stock", 11, 8, "alpha"),
        Field("open_eligibility", 19, 1, "alpha"),
        Field("min_allowable_price", 20, 4, unit="1e-4 USD"),
        Field("max_allowable_price", 24, 4, unit="1e-4 USD"),
        Field("near_execution_price", 28, 4, unit="1e-4 USD"),
        Field("near_execution_time", 32, 8, unit="ns since midnight"),
        Field("lower_collar", 40, 4, unit="1e-4 USD"),
        Field("upper_collar", 44, 4, unit="1e-4 USD")),
)

#: Messages by their type byte.
BY_CODE = {m.code: m for m in MESSAGES}

#: Types that change an order book.
BOOK_TYPES = b"AFECXDU"

#: Types that give a trade record. (E gives its trade with the book record.)
TRADE_TYPES = b"PCQ"

#: Types that give a status record, and the offset of the byte that says what happened.
STATUS_CODES = {b"S": BY_CODE[b"S"]["event_code"].offset, b"W": BY_CODE[b"W"]["breached_level"].offset,
                b"H": BY_CODE[b"H"]["trading_state"].offset, b"Y": BY_CODE[b"Y"]["reg_sho_action"].offset,
                b"h": BY_CODE[b"h"]["halt_action"].offset}

#: Status types of the whole market: their locate is 0.
MARKET_WIDE = b"SW"

#: First byte after the last one that decides what the message does to book, trade or status record: latency counts from it.
NEEDED = {
    **{code: BY_CODE[code]["price"].end for code in (b"A", b"F", b"P", b"U")},
    b"E": BY_CODE[b"E"]["executed_shares"].end, b"X": BY_CODE[b"X"]["cancelled_shares"].end,
    b"D": BY_CODE[b"D"]["order_ref"].end,
    b"C": BY_CODE[b"C"]["executed_shares"].end,   # of the book record; the trade record waits for the price
    b"Q": BY_CODE[b"Q"]["cross_type"].end,
    **{code: offset + 1 for code, offset in STATUS_CODES.items()},
}

if len(MESSAGES) != 23 or len(BY_CODE) != 23:
    raise AssertionError("ITCH 5.0 has 23 message types")

