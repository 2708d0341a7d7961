"""Rows of numbers as lines of text, compiled by numba."""
import numpy as np
from numba import njit

#: A field of a row that has no value.
NULL = np.iinfo(np.int64).min


@njit(cache=True, nogil=True)
def csv(values, places, texts, lengths, out):
    """Rows as lines with commas. ``values``: int64[rows, columns]; ``places`` of a column: decimals, or -1 when its values are numbers of ``texts``
    (uint8[texts, width], each with its length). ``NULL`` gives an empty field. Returns the bytes written."""
    at = 0
    digits = np.empty(20, np.uint8)
    for row in range(values.shape[0]):
        for column in range(values.shape[1]):
            if column:
                out[at] = 44
                at += 1
            value, place = values[row, column], places[column]
            if value == NULL:
                continue
            if place < 0:
                for k in range(lengths[value]):
                    out[at] = texts[value, k]
                    at += 1
                continue
            if value < 0:
                out[at] = 45
                at += 1
                value = -value
            n = 0
            while value or n <= place:
                digits[n] = 48 + value % 10
                value //= 10
                n += 1
            while n:
                if n == place:
                    out[at] = 46
                    at += 1
                n -= 1
                out[at] = digits[n]
                at += 1
        out[at] = 10
        at += 1
    return at
