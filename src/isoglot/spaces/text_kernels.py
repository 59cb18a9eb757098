"""Compiled loops over the bytes of a text file of vectors: lines to rows of float32.

The common case only: one word without spaces, then exactly `dim` plain decimal numbers. Any other line is
marked IRREGULAR and left to the Python reader, so that these loops stay simple and never guess.

Importing this module imports numba (about half a second and 60 MB): import it only where text is parsed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

GOOD = 0
IRREGULAR = 1
BLANK = 2

Bytes = npt.NDArray[np.uint8]

_TAB, _NEWLINE, _RETURN, _SPACE = 9, 10, 13, 32
_PLUS, _MINUS, _DOT, _ZERO = 43, 45, 46, 48
_LOWER_E, _UPPER_E = 101, 69

# Powers of ten up to 10^22 are exact in float64. Beyond, each is off by at most half a unit in the last place.
_LARGEST_POWER = 60
_EXACT_POWER = 22
_POWERS = np.array([10.0**i for i in range(_LARGEST_POWER + 1)])
_EXACT_MANTISSA = np.uint64(1 << 53)
_FULL_MANTISSA = np.uint64(10**18)
# Far above the true error of the inexact path, which is below 2^-51 of the value.
_BELOW, _ABOVE = 1.0 - 2.0**-48, 1.0 + 2.0**-48


@njit(nogil=True, cache=True, inline="always")
def _decimal(mantissa: Any, exponent: Any) -> tuple[float, bool]:
    """`float32(float64(mantissa * 10**exponent))` and whether it is certain to the last bit.

    With an exact mantissa and an exact power, one float64 operation rounds correctly, as `float()` does.
    Otherwise the float64 is off by a few units, which matters only when float32 values lie on both sides
    of it: rounding to float32 is monotone, so if slightly less and slightly more round to the same
    float32, then so does the true value.
    """
    if mantissa == np.uint64(0):
        return 0.0, True
    if exponent > _LARGEST_POWER or exponent < -_LARGEST_POWER:
        return 0.0, False
    value = np.float64(mantissa)
    if exponent < 0:
        value = value / _POWERS[-exponent]
    else:
        value = value * _POWERS[exponent]
    if mantissa <= _EXACT_MANTISSA and -_EXACT_POWER <= exponent <= _EXACT_POWER:
        return value, True
    return value, np.float32(value * _BELOW) == np.float32(value * _ABOVE)


@njit(nogil=True, cache=True)
def parse_lines(
    buffer: Bytes,
    begin: int,
    end: int,
    out: npt.NDArray[np.float32],
    word_start: npt.NDArray[np.int32],
    word_end: npt.NDArray[np.int32],
    status: Bytes,
) -> tuple[int, int]:
    """Parse the lines of `buffer[begin:end]`, which ends with a newline.

    Rows of good lines fill `out` (rows, dim) from the top, without gaps. For each line, `status` says what
    it is; `word_start`, `word_end` hold the word of a good line, the whole line of another.
    Returns the number of lines and of good lines.
    """
    dim = out.shape[1]
    capacity = out.shape[0]
    largest = np.float64(np.finfo(np.float32).max)
    ten = np.uint64(10)
    lines = 0
    rows = 0
    # Unsigned, so that indexing does not check for negative numbers.
    one = np.uintp(1)
    start = np.uintp(begin)
    stop = np.uintp(end)
    while start < stop:
        p = start
        while buffer[p] != _SPACE and buffer[p] != _TAB and buffer[p] != _NEWLINE:
            p += one
        word_stop = p
        good = p > start and buffer[p] != _NEWLINE and rows < capacity
        count = 0
        while good:
            while buffer[p] == _SPACE or buffer[p] == _TAB:
                p += one
            c = buffer[p]
            if c == _NEWLINE or (c == _RETURN and buffer[p + one] == _NEWLINE):
                break
            if count == dim:
                good = False
                break
            negative = c == _MINUS
            if negative or c == _PLUS:
                p += one
            mantissa = np.uint64(0)
            exponent = 0
            first_digit = p
            while True:
                digit = np.uint8(buffer[p] - np.uint8(_ZERO))
                if digit > 9:
                    break
                if mantissa < _FULL_MANTISSA:
                    mantissa = mantissa * ten + np.uint64(digit)
                else:
                    exponent += 1
                p += one
            digits = np.int64(p - first_digit)
            if buffer[p] == _DOT:
                p += one
                first_digit = p
                while True:
                    digit = np.uint8(buffer[p] - np.uint8(_ZERO))
                    if digit > 9:
                        break
                    if mantissa < _FULL_MANTISSA:
                        mantissa = mantissa * ten + np.uint64(digit)
                        exponent -= 1
                    p += one
                digits += np.int64(p - first_digit)
            if digits == 0:
                good = False
                break
            if buffer[p] == _LOWER_E or buffer[p] == _UPPER_E:
                p += one
                down = buffer[p] == _MINUS
                if down or buffer[p] == _PLUS:
                    p += one
                power = np.int64(0)
                first_digit = p
                while True:
                    digit = np.uint8(buffer[p] - np.uint8(_ZERO))
                    if digit > 9:
                        break
                    if power < 10000:
                        power = power * 10 + np.int64(digit)
                    p += one
                if p == first_digit:
                    good = False
                    break
                exponent += int(-power if down else power)
            c = buffer[p]
            if c != _SPACE and c != _TAB and c != _NEWLINE and c != _RETURN:
                good = False
                break
            value, certain = _decimal(mantissa, exponent)
            if not certain or value > largest:
                good = False
                break
            out[rows, count] = np.float32(-value if negative else value)
            count += 1
        good = good and count == dim
        while buffer[p] != _NEWLINE:
            p += one
        if good:
            status[lines] = GOOD
            word_start[lines] = start
            word_end[lines] = word_stop
            rows += 1
        else:
            blank = True
            for q in range(start, p):
                if buffer[q] != _SPACE and buffer[q] != _TAB and buffer[q] != _RETURN:
                    blank = False
                    break
            status[lines] = BLANK if blank else IRREGULAR
            word_start[lines] = start
            word_end[lines] = p
        lines += 1
        start = p + one
    return lines, rows


@njit(nogil=True, cache=True)
def gather_words(
    buffer: Bytes,
    word_start: npt.NDArray[np.int32],
    word_end: npt.NDArray[np.int32],
    status: Bytes,
    lines: int,
    out: Bytes,
) -> int:
    """Copy the words of the good lines to `out`, a newline after each; return the number of bytes."""
    size = 0
    for line in range(lines):
        if status[line] == GOOD:
            for p in range(word_start[line], word_end[line]):
                out[size] = buffer[p]
                size += 1
            out[size] = _NEWLINE
            size += 1
    return size
