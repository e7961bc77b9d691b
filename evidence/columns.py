"""Columns of a recording: float64 matrices as lines of JSON, exact to the bit.

One line a column (one field over the rows of a chunk), in the first form that gives back every bit:

    17, 26.562 or null            the same value in every row; null is NaN, a missing value
    [17, 1, 0, -3]                whole numbers: the first, then the differences
    {"scale": 1000, "d": [...]}   decimals: divide by the scale after adding up the differences
    {"v": [17, null, 0.1]}        JSON numbers, null for NaN
    "AAAAAAAA8D8="                base64 of little-endian float64: infinities and NaNs with a payload
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from ..incident.errors import Altered

Matrix = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Bits = npt.NDArray[np.uint64]

EXACT = 2.0**53
"""Whole numbers below it are exact in float64."""
SCALES = (10, 100, 1000, 1_000_000)
_NAN = np.uint64(np.array(np.nan).view(np.uint64))


def encode_columns(matrix: Matrix) -> list[bytes]:
    """Lines for a matrix of shape (columns, rows), rows >= 1."""
    matrix = np.ascontiguousarray(matrix, dtype=np.float64)
    lines: list[bytes] = [b""] * len(matrix)
    bits = matrix.view(np.uint64)
    constant = (bits == bits[:, :1]).all(axis=1)
    for at in np.flatnonzero(constant).tolist():
        lines[at] = _constant(matrix[at])
    open_ = ~constant
    for at, line in _whole(matrix, np.flatnonzero(open_), 1):
        lines[at] = b"[" + line + b"]"
        open_[at] = False
    for scale in SCALES:
        for at, line in _whole(matrix, np.flatnonzero(open_), scale):
            lines[at] = b'{"scale":%d,"d":[%b]}' % (scale, line)
            open_[at] = False
    for at in np.flatnonzero(open_).tolist():
        lines[at] = _numbers(matrix[at]) if _is_json(matrix[at]) else _verbatim(matrix[at])
    return lines


def decode_columns(lines: Sequence[bytes], rows: int) -> Matrix:
    """The matrix of shape (len(lines), rows); raises Altered for lines that are no columns of that many rows."""
    matrix = np.empty((len(lines), rows))
    try:
        columns = orjson.loads(b"[" + b",".join(lines) + b"]")
        if len(columns) != len(lines):
            raise ValueError("a line is not one column")
        for at, column in enumerate(columns):
            values = _column(column)
            if isinstance(values, np.ndarray) and len(values) != rows:
                raise ValueError(f"a column of {len(values)} rows where there are {rows}")
            matrix[at] = values
    except (ValueError, TypeError, KeyError, OverflowError, ZeroDivisionError, Base64Error) as error:
        raise Altered(f"a chunk of the recording holds no readable columns: {error}") from error
    return matrix


def _column(value: Any) -> Matrix | float:
    match value:
        case None:
            return float("nan")
        case int() | float() if not isinstance(value, bool):
            return float(value)
        case list():
            return np.cumsum(np.array(value, dtype=np.int64)).astype(np.float64)
        case {"scale": int(scale), "d": list(deltas)}:
            return np.cumsum(np.array(deltas, dtype=np.int64)).astype(np.float64) / scale
        case {"v": list(numbers)}:
            return np.array([np.nan if number is None else float(number) for number in numbers])
        case str():
            return np.frombuffer(b64decode(value, validate=True), dtype="<f8")
    raise ValueError("unknown form of column")


def _whole(matrix: Matrix, candidates: npt.NDArray[np.intp], scale: int) -> Iterator[tuple[int, bytes]]:
    """(column, its differences as the inside of a JSON array) of those candidates that are whole after scaling."""
    if not len(candidates):
        return
    part = matrix[candidates]
    with np.errstate(invalid="ignore", over="ignore"):
        scaled = np.rint(part * scale)
        small: Flags = np.all(np.abs(scaled) < EXACT, axis=1)
        whole = np.where(small[:, None], scaled, 0).astype(np.int64)
        exact = ((whole / scale).view(np.uint64) == part.view(np.uint64)).all(axis=1) & small
    if not exact.any():
        return
    deltas = np.diff(whole[exact], axis=1, prepend=0)
    inside = orjson.dumps(deltas, option=orjson.OPT_SERIALIZE_NUMPY)[2:-2].split(b"],[")
    yield from zip(candidates[exact].tolist(), inside, strict=True)


def _constant(column: Matrix) -> bytes:
    value = float(column[0])
    if not _is_json(column[:1]):
        return _verbatim(column)
    return b"null" if value != value else _number(value)


def _number(value: float) -> bytes:
    """A JSON number that reads back as the same bits; whole ones without a point."""
    is_whole = value.is_integer() and abs(value) < EXACT and str(value) != "-0.0"
    return b"%d" % int(value) if is_whole else orjson.dumps(value)


def _numbers(column: Matrix) -> bytes:
    return b'{"v":[%b]}' % b",".join(b"null" if value != value else _number(value) for value in column.tolist())


def _verbatim(column: Matrix) -> bytes:
    return b'"' + b64encode(column.astype("<f8").tobytes()) + b'"'


def _is_json(column: Matrix) -> bool:
    """Whether JSON numbers and null can say it: finite values and the one NaN that null stands for."""
    return bool((np.isfinite(column) | (column.view(np.uint64) == _NAN)).all())
