"""OUCH 5.0 as the exchange speaks it: ``read`` requests, and a function for each reply, which gives its bytes."""
from tickgate.spec import ouch50 as spec

from .requests import Cancel, Enter, Modify, Nonsense, Query, Replace

NAME = "ouch50"
SECOND = 1_000_000_000
_LAST = "appendage_length"                       # of messages that tagged values follow
_TERMS = ("side", "symbol", "price", "time_in_force", "display", "capacity", "intermarket_sweep", "cross_type", "clordid")
#: Tagged values that ask for what there is not: the neutral value and the reason to refuse any other.
_NEUTRAL = {
    "min_qty": (0, "invalid_min_qty"), "max_floor": (0, "invalid_max_floor"), "price_type": (b"L", "pegging_not_allowed"),
    "peg_offset": (0, "invalid_peg_type"), "discretion_price": (0, "other"), "discretion_price_type": (b"L", "other"),
    "discretion_peg_offset": (0, "other"), "random_reserves": (0, "invalid_max_floor"), "route": (b"    ", "routing_not_allowed"),
    "trade_now": (b"N", "other"), "handle_inst": (b" ", "other")}


def is_fresh(ticket, used, highest):
    """Whether a ticket is a new one: higher than all before."""
    return ticket > highest


def read(raw, now, firm):
    """The request in ``raw`` from a member of ``firm``. Raises ``Nonsense``."""
    layout = spec.IN.get(raw[:1])
    if layout is None or len(raw) < layout.size:
        raise Nonsense(raw[:1])
    values, tail = layout.decode(raw), raw[layout.size:]
    if tail and _LAST not in values:
        raise Nonsense(raw[:1])
    try:
        tags, why = spec.tagged(tail), None if len(tail) == values.get(_LAST, 0) else "other"
    except ValueError:
        tags, tail, why = {}, b"", "other"
    code = layout.code
    if code == b"X":
        return Cancel(ticket=values["user_ref_num"], left=values["quantity"])
    if code == b"M":
        return Modify(ticket=values["user_ref_num"], side=values["side"], left=values["quantity"])
    if code == b"Q":
        return Query()
    terms = {name: values[name] for name in _TERMS if name in values} | {"appendage": tail}
    order = {"shares": values["quantity"], "price": values["price"], "market": _is_market(values["price"]), "visible": values["display"] != spec.HIDDEN,
             "attribution": firm.encode() if values["display"] == spec.ATTRIBUTED else b"", "ioc": values["time_in_force"] == spec.IOC,
             "post_only": tags.get("post_only") == b"P",
             "expires": tags.get("expire_time", 0) * SECOND if values["time_in_force"] == spec.GTT else 0}
    why = why or _refusal(values, tags, firm)
    if code == b"U":
        return Replace(old=values["orig_user_ref_num"], ticket=values["user_ref_num"], order=order, terms=terms, why=why)
    cross = values["cross_type"].decode("latin-1")
    return Enter(ticket=values["user_ref_num"], symbol=values["symbol"].decode("latin-1").rstrip(), terms=terms, why=why,
                 order=order | {"sell": int(values["side"] != b"B"), "cross": "" if cross == "N" else cross})


def _is_market(price):
    return price == spec.MARKET or price >= spec.MARKET_FROM


def _refusal(values, tags, firm):
    """Why the terms of an order cannot be, or None; fields that a replacement lacks are right."""
    if values.get("side", b"B") not in spec.SIDES:
        return "invalid_side"
    if values["display"] not in (spec.VISIBLE, spec.HIDDEN, spec.ATTRIBUTED):
        return "invalid_display"
    if values["time_in_force"] not in (spec.DAY, spec.IOC, spec.GTT) or (values["time_in_force"] == spec.GTT) != ("expire_time" in tags):
        return "other"
    if values.get("capacity", b"A") not in spec.CAPACITIES or tags.get("post_only", b"N") not in b"PN":
        return "other"
    if values["intermarket_sweep"] not in b"YN":
        return "iso_not_allowed"
    if tags.get("firm", firm.encode().ljust(4)) != firm.encode().ljust(4):
        return "firm_not_authorised"
    return next((why for name, (neutral, why) in _NEUTRAL.items() if tags.get(name, neutral) != neutral), None)


# ---- replies

def _reply(code, now, **values):
    return spec.OUT[code].encode(timestamp=now, **values)


def _with_terms(code, now, order, **values):
    terms = dict(order.terms)
    tail = terms.pop("appendage")
    return _reply(code, now, user_ref_num=order.ticket, quantity=order.shares, order_ref=order.reference, appendage_length=len(tail), **terms, **values) + tail


def event(now, code):
    return _reply(b"S", now, event_code=code)


def accepted(now, order, live):
    return _with_terms(b"A", now, order, order_state=spec.LIVE if live else spec.DEAD)


def replaced(now, old, new, live):
    return _with_terms(b"U", now, new, orig_user_ref_num=old.ticket, order_state=spec.LIVE if live else spec.DEAD)


def canceled(now, order, shares, reason):
    # orders of a cross have no reason of their own here: they were good for it alone
    return _reply(b"C", now, user_ref_num=order.ticket, quantity=shares, reason=spec.CANCEL_REASONS["ioc" if reason == "cross" else reason])


def modified(now, order):
    return _reply(b"M", now, user_ref_num=order.ticket, side=order.terms["side"], quantity=order.shares)


def self_matched(now, order, shares, prevented, price, liquidity, strategy):
    return _reply(b"D", now, user_ref_num=order.ticket, decrement_shares=shares, reason=spec.CANCEL_REASONS["self_match"], quantity_prevented=prevented,
                  execution_price=price, liquidity_flag=spec.LIQUIDITY[liquidity], aiq_strategy=strategy)


def executed(now, order, shares, price, liquidity, match):
    return _reply(b"E", now, user_ref_num=order.ticket, quantity=shares, price=price, liquidity_flag=spec.LIQUIDITY[liquidity], match_number=match)


def broken(now, order, match, reason):
    return _reply(b"B", now, user_ref_num=order.ticket, match_number=match, reason=spec.BROKEN_REASONS[reason], clordid=order.terms["clordid"])


def rejected(now, ticket, terms, why):
    return _reply(b"J", now, user_ref_num=ticket, reason=spec.REJECT_REASONS[why], clordid=terms["clordid"])


def cancel_pending(now, order):
    return _reply(b"P", now, user_ref_num=order.ticket)


def cancel_rejected(now, order):
    return _reply(b"I", now, user_ref_num=order.ticket)


def renewed(now, order):
    return _reply(b"T", now, user_ref_num=order.ticket, price=order.terms["price"], display=order.terms["display"], order_ref=order.reference)


def next_ticket(now, ticket):
    return _reply(b"Q", now, next_user_ref_num=ticket)
