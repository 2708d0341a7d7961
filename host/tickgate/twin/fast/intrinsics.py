"""What numba has no word for: loads from raw addresses, byte order, prefetch, stores past the caches, sixteen ladder places at once.

Addresses are uint64. None of them is checked: the caller knows what lies there.
"""
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from .layout import BUCKET, VECTOR

_U64 = types.uint64
_WORD = ir.IntType(64)
_PLACES, _LINE = ir.VectorType(_WORD, VECTOR), ir.VectorType(_WORD, BUCKET)


def _pointer(builder, address, kind):
    return builder.inttoptr(address, kind.as_pointer())


def _load(builder, address, kind, align=1):
    value = builder.load(_pointer(builder, address, kind))
    value.align = align
    return value


def _store(builder, value, address, align=1):
    done = builder.store(value, _pointer(builder, address, value.type))
    done.align = align
    return done


def _all(builder, word, count):
    """A vector of so many times the same word."""
    empty, lane = ir.Constant(ir.VectorType(_WORD, count), ir.Undefined), ir.IntType(32)
    return builder.shuffle_vector(builder.insert_element(empty, word, lane(0)), empty, ir.Constant(ir.VectorType(lane, count), [0] * count))


def _bits(builder, holds):
    """A vector of truths as a number, the first in bit 0."""
    return builder.zext(builder.bitcast(holds, ir.IntType(holds.type.count)), _WORD)


def _big_endian(bits):
    """The loads of a message's fields: big-endian, at any address, widened to 64 bits."""
    @intrinsic
    def load(typing, address):
        def generate(context, builder, signature, arguments):
            value = builder.bswap(_load(builder, arguments[0], ir.IntType(bits)))
            return builder.zext(value, _WORD) if bits < 64 else value
        return _U64(_U64), generate
    return load


def _store_of(is_read_soon):
    """The stores of a row's words: little-endian, at a multiple of 8; past the caches when nobody will read them soon."""
    @intrinsic
    def store(typing, address, value):
        def generate(context, builder, signature, arguments):
            done = _store(builder, arguments[1], arguments[0], 8)
            if not is_read_soon:
                done.set_metadata("nontemporal", builder.module.add_metadata([ir.IntType(32)(1)]))
            return context.get_dummy_value()
        return types.void(_U64, _U64), generate
    return store


big16, big32, big64 = (_big_endian(bits) for bits in (16, 32, 64))
store64, stream64 = _store_of(True), _store_of(False)


@intrinsic
def load64(typing, address):
    """The word at an address, in the machine's own order."""
    def generate(context, builder, signature, arguments):
        return _load(builder, arguments[0], _WORD)
    return _U64(_U64), generate


@intrinsic
def byte(typing, address):
    """The byte at an address."""
    def generate(context, builder, signature, arguments):
        return builder.zext(_load(builder, arguments[0], ir.IntType(8)), _WORD)
    return _U64(_U64), generate


@intrinsic
def prefetch(typing, address):
    """Ask for the cache line at an address; any address will do."""
    def generate(context, builder, signature, arguments):
        text, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        ask = cgutils.get_or_insert_function(builder.module, ir.FunctionType(ir.VoidType(), [text, number, number, number]), "llvm.prefetch.p0")
        read, keep, data = number(0), number(3), number(1)
        builder.call(ask, [builder.inttoptr(arguments[0], text), read, keep, data])
        return context.get_dummy_value()
    return types.void(_U64), generate


@intrinsic
def leading_zeros(typing, value):
    """Zero bits above the highest one; 64 for 0."""
    def generate(context, builder, signature, arguments):
        return builder.ctlz(arguments[0], ir.IntType(1)(0))
    return _U64(_U64), generate


@intrinsic
def trailing_zeros(typing, value):
    """Zero bits below the lowest one; 64 for 0."""
    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.IntType(1)(0))
    return _U64(_U64), generate


@intrinsic
def equal_high(typing, address, high):
    """One bit for each of the BUCKET words at an address: 1 where its upper half is this one."""
    def generate(context, builder, signature, arguments):
        words = builder.lshr(_load(builder, arguments[0], _LINE, 64), ir.Constant(_LINE, [32] * BUCKET))
        return _bits(builder, builder.icmp_unsigned("==", words, _all(builder, arguments[1], BUCKET)))
    return _U64(_U64, _U64), generate


@intrinsic
def equal_zero(typing, address):
    """One bit for each of the BUCKET words at an address: 1 where it is 0."""
    def generate(context, builder, signature, arguments):
        return _bits(builder, builder.icmp_unsigned("==", _load(builder, arguments[0], _LINE, 64), ir.Constant(_LINE, [0] * BUCKET)))
    return _U64(_U64), generate


@intrinsic
def not_above(typing, address, limit):
    """One bit for each of the VECTOR words at an address: 1 where it is at or below the limit."""
    def generate(context, builder, signature, arguments):
        return _bits(builder, builder.icmp_unsigned("<=", _load(builder, arguments[0], _PLACES, 8), _all(builder, arguments[1], VECTOR)))
    return _U64(_U64, _U64), generate


@intrinsic
def move_places(typing, to, source):
    """Copy VECTOR words; the two may overlap."""
    def generate(context, builder, signature, arguments):
        _store(builder, _load(builder, arguments[1], _PLACES, 8), arguments[0], 8)
        return context.get_dummy_value()
    return types.void(_U64, _U64), generate
