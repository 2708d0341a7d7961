"""OUCH 4.2 as the exchange speaks it: ``read`` requests, and a function for each reply, which gives its bytes."""
from tickgate.spec import ouch42 as spec

from .requests import Cancel, Enter, Modify, Nonsense, Replace

NAME = "ouch42"
SECOND = 1_000_000_000
_TERMS = ("side", "stock", "price", "time_in_force", "firm", "display", "capacity", "intermarket_sweep", "minimum_quantity", "cross_type")
_DISPLAY = (spec.VISIBLE, spec.HIDDEN, spec.ATTRIBUTED, spec.POST_ONLY, spec.POST_ONLY_ATTRIBUTED)
#: Reasons that 4.2 has under another name; what it has no letter for is ``other``.
_WHY = {"invalid_quantity": "shares_exceed_threshold"}


def is_fresh(ticket, used, highest):
    """Whether a ticket is a new one: never used before."""
    return ticket not in used and bool(ticket.strip())


def read(raw, now, firm):
    """The request in ``raw`` from a member of ``firm``. Raises ``Nonsense``; Trade Now is one, since there are no midpoint orders."""
    layout = spec.IN.get(raw[:1])
    if layout is None or len(raw) != layout.size or layout.code == b"N":
        raise Nonsense(raw[:1])
    values = layout.decode(raw)
    if layout.code == b"X":
        return Cancel(ticket=values["order_token"], left=values["shares"])
    if layout.code == b"M":
        return Modify(ticket=values["order_token"], side=values["side"], left=values["shares"])
    terms, seconds, display = {name: values[name] for name in _TERMS if name in values}, values["time_in_force"], values["display"]
    attributed = display in (spec.ATTRIBUTED, spec.POST_ONLY_ATTRIBUTED)
    order = {"shares": values["shares"], "price": values["price"], "market": values["price"] == spec.MARKET or values["price"] >= spec.MARKET_FROM,
             "visible": display != spec.HIDDEN, "attribution": firm.encode() if attributed else b"", "ioc": seconds == spec.IOC,
             "post_only": display in (spec.POST_ONLY, spec.POST_ONLY_ATTRIBUTED),
             "expires": now + seconds * SECOND if spec.IOC < seconds < spec.MARKET_HOURS else 0}
    why = _refusal(values, firm)
    if layout.code == b"U":
        return Replace(old=values["existing_order_token"], ticket=values["replacement_order_token"], order=order, terms=terms, why=why)
    cross = values["cross_type"].decode("latin-1")
    return Enter(ticket=values["order_token"], symbol=values["stock"].decode("latin-1").rstrip(), terms=terms, why=why,
                 order=order | {"sell": int(values["side"] != b"B"), "cross": "" if cross == "N" else cross})


def _refusal(values, firm):
    """Why the terms of an order cannot be, or None; fields that a replacement lacks are right."""
    if values["display"] not in _DISPLAY:
        return "invalid_display"
    if values["minimum_quantity"]:
        return "invalid_min_qty"
    if values.get("firm", b"    ") not in (b"    ", firm.encode().ljust(4)):
        return "firm_not_authorised"
    if (values.get("side", b"B") not in spec.SIDES or values["time_in_force"] > spec.MARKET_HOURS or values.get("capacity", b"A") not in spec.CAPACITIES
            or values["intermarket_sweep"] not in b"YN" or values.get("customer_type", b" ") not in b"RN "):
        return "other"
    return None


# ---- replies

def _reply(code, now, **values):
    return spec.OUT[code].encode(timestamp=now, **values)


def _with_terms(code, now, order, live, **values):
    return _reply(code, now, shares=order.shares, order_ref=order.reference, order_state=spec.LIVE if live else spec.DEAD, **order.terms, **values)


def event(now, code):
    return _reply(b"S", now, event_code=code)


def accepted(now, order, live):
    return _with_terms(b"A", now, order, live, order_token=order.ticket)


def replaced(now, old, new, live):
    return _with_terms(b"U", now, new, live, replacement_order_token=new.ticket, previous_order_token=old.ticket)


def canceled(now, order, shares, reason):
    return _reply(b"C", now, order_token=order.ticket, decrement_shares=shares, reason=spec.CANCEL_REASONS[reason])


def modified(now, order):
    return _reply(b"M", now, order_token=order.ticket, side=order.terms["side"], shares=order.shares)


def self_matched(now, order, shares, prevented, price, liquidity, strategy):
    return _reply(b"D", now, order_token=order.ticket, decrement_shares=shares, reason=spec.CANCEL_REASONS["self_match"], quantity_prevented=prevented,
                  execution_price=price, liquidity_flag=spec.LIQUIDITY[liquidity])


def executed(now, order, shares, price, liquidity, match):
    return _reply(b"E", now, order_token=order.ticket, executed_shares=shares, execution_price=price, liquidity_flag=spec.LIQUIDITY[liquidity],
                  match_number=match)


def broken(now, order, match, reason):
    return _reply(b"B", now, order_token=order.ticket, match_number=match, reason=spec.BROKEN_REASONS[reason])


def rejected(now, ticket, terms, why):
    return _reply(b"J", now, order_token=ticket, reason=spec.REJECT_REASONS.get(_WHY.get(why, why), spec.REJECT_REASONS["other"]))


def cancel_pending(now, order):
    return _reply(b"P", now, order_token=order.ticket)


def cancel_rejected(now, order):
    return _reply(b"I", now, order_token=order.ticket)


def renewed(now, order):
    return _reply(b"T", now, order_token=order.ticket, price=order.terms["price"], display=order.terms["display"], order_ref=order.reference)
