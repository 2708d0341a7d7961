"""Conservation: what must hold at the end of every run, counted anew from what was sent."""
from collections import Counter

from tickgate.session.ledger import Ledger
from tickgate.spec import itch50

from .member import ACCEPTED, FATES, REJECTED


def conserved(exchange):
    """What does not hold, one line each; an empty list when all does.

    Requests: every one that came has one fate. Shares: both sides of all trades are equal, for each symbol, and so is what the feed prints. Orders: shares
    entered are executed, gone or open. Members: position and open orders that follow from the replies alone are the engine's.
    """
    return [*_requests(exchange), *_shares(exchange), *_orders(exchange), *_members(exchange)]


def _requests(exchange):
    for member in exchange.members.values():
        for kind in sorted({*member.sent, *(kind for kind, _ in member.fates)}):
            fates = [member.fates[kind, fate] for fate in FATES]
            waiting = exchange.delayed[kind, member]
            if member.sent[kind] != sum(fates) + waiting:
                yield (f"{member.name}: of {member.sent[kind]} requests to {kind} " + ", ".join(f"{n} were {fate}" for n, fate in zip(fates, FATES))
                       + f" and {waiting} wait")
        replies = Counter(message[:1] for message in member.sequenced)
        for code, kind in ((b"A", "enter"), (b"U", "replace")):
            if replies[code] != member.fates[kind, ACCEPTED]:
                yield f"{member.name}: {member.fates[kind, ACCEPTED]} requests to {kind} were accepted, {replies[code]} replies say so"
        refused = member.fates["enter", REJECTED]
        if not refused <= replies[b"J"] <= refused + member.fates["replace", REJECTED]:
            yield f"{member.name}: {refused} orders were rejected, {replies[b'J']} replies say so"


def _shares(exchange):
    printed = Counter()
    names = {book.locate: book.name for book in exchange.engine.books.values()}
    for message in exchange.feed.messages:
        code = message[:1]
        if code in (b"E", b"P", b"Q"):
            values = itch50.BY_CODE[code].decode(message)
            printed[names[values["stock_locate"]]] += values["executed_shares" if code == b"E" else "shares"]
    owners = (exchange.crowd, *exchange.members.values())
    for symbol in exchange.engine.books:
        bought, sold = (sum(owner.shares["executed", symbol, sell] for owner in owners) for sell in (0, 1))
        if not bought == sold == exchange.engine.volume[symbol] == printed[symbol]:
            yield f"{symbol}: {bought} shares bought, {sold} sold, {exchange.engine.volume[symbol]} traded, {printed[symbol]} published"
        if total := sum(owner.position[symbol] for owner in owners):
            yield f"{symbol}: all positions add up to {total}"


def _orders(exchange):
    there = Counter()
    for book in exchange.engine.books.values():
        for order in book.orders():
            there[order.owner, book.name, order.sell] += order.shares
    for owner in (exchange.crowd, *exchange.members.values()):
        for symbol, sell in sorted({key[1:] for key in owner.shares}):
            entered, executed, gone = (owner.shares[what, symbol, sell] for what in ("entered", "executed", "gone"))
            if entered != executed + gone + there[owner, symbol, sell]:
                yield (f"{owner.name}: of {entered} shares to {'sell' if sell else 'buy'} {symbol} {executed} were executed, {gone} went, "
                       f"{there[owner, symbol, sell]} are open")


def _members(exchange):
    for member in exchange.members.values():
        ledger = Ledger(member.words.NAME)
        for message in member.sequenced:
            ledger.apply(message)
        yield from (f"{member.name}: {text}" for text in ledger.surprises)
        for symbol in exchange.engine.books:
            if ledger.position[symbol] != member.position[symbol]:
                yield f"{member.name}: position {member.position[symbol]} in {symbol}, the fills add up to {ledger.position[symbol]}"
        mine = {ticket: order.shares for ticket, order in ledger.orders.items()}
        theirs = {ticket: order.shares for ticket, order in member.live.items()}
        if mine != theirs:
            odd = sorted(ticket for ticket in mine.keys() | theirs.keys() if mine.get(ticket) != theirs.get(ticket))
            yield f"{member.name}: open orders differ from what the replies say: {', '.join(map(str, odd[:5]))}"


def orders(exchange):
    """Orders of all members, new ones and replacements: how many were ``sent``, and how many of them ``accepted``, ``rejected`` and ``ignored``."""
    members, kinds = exchange.members.values(), ("enter", "replace")
    return {"sent": sum(member.sent[kind] for member in members for kind in kinds),
            **{fate: sum(member.fates[kind, fate] for member in members for kind in kinds) for fate in FATES}}
