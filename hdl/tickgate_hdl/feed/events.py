"""Payloads from a feed handler to the book and to the records."""
from amaranth.lib import data, enum


class Op(enum.Enum, shape=2):
    """What a book message does."""
    ADD = 0
    TAKE = 1     # some shares go (E C X)
    DELETE = 2
    REPLACE = 3


class Symbol(data.Struct):
    """A tracked symbol, as the host loads it."""
    locate: 16
    base: 32     # 1e-4 USD, price of the lowest tick
    tick: 2      # code, tickgate.spec.presets.TICK_SIZES
    tracked: 1


def key(*, slot_bits, index_bits, reference_bits, tables):
    """A reference for the order table."""
    return data.StructLayout({
        "insert": 1,    # find room for it; else find it
        "whole": 1,     # the whole order goes
        "replace": 1,   # one of the two of a replace
        "slot": slot_bits,
        "rest": reference_bits - index_bits,
        "buckets": data.ArrayLayout(index_bits, tables),
        "wide": 1})     # the reference has more bits than the table keeps


def event(slot_bits):
    """A book message, complete. Slot, side, qty and price hold for five cycles, until the next one can come; op is good in its own cycle alone."""
    return data.StructLayout({"op": Op, "slot": slot_bits, "side": 1, "qty": 32, "price": 32})


def context(slot_bits):
    """What a record needs of its message: one for each record, in message order."""
    return data.StructLayout({
        "kind": 4,       # tickgate.spec.records.KINDS
        "message": 8,    # type
        "slot": slot_bits,
        "market": 1,     # no slot: the whole feed
        "side": 1,
        "detail": 8,
        "extra": 8,      # of h: the market
        "source": 3,
        "number": 32,
        "time": 64,      # of the word with the last needed byte
        "first": 64,     # top_of_book: {price, shares}; trade: shares; gap: first
        "second": 64})   # trade: price; gap: count
