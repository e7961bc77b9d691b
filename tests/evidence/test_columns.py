"""The codec: any float64 comes back to the bit, and the common ones are small."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from lanescope.evidence.columns import decode_columns, encode_columns
from lanescope.incident.errors import Altered

shapes = arrays.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=6)
bits = arrays.arrays(np.uint64, shapes)
readings = st.one_of(
    st.integers(-(2**53), 2**53).map(float),
    st.decimals(-(10**6), 10**6, places=3, allow_nan=False).map(float),
    st.sampled_from((0.0, -0.0, float("nan"), float("inf"), 5e-324, 1.7e308, 2.0**53, -(2.0**63))),
    st.floats(),
)


def round_trip(matrix: np.ndarray) -> bytes:
    return decode_columns(encode_columns(matrix), matrix.shape[1]).tobytes()


@settings(max_examples=150, deadline=None)
@given(arrays.arrays(np.float64, shapes, elements=readings))
def test_readings_come_back_to_the_bit(matrix):
    assert round_trip(matrix) == matrix.tobytes()


@settings(max_examples=100, deadline=None)
@given(bits)
def test_any_bits_come_back(patterns):
    assert round_trip(patterns.view(np.float64)) == patterns.tobytes()


@pytest.mark.parametrize(
    ("column", "line"),
    [
        ([17.0, 17.0, 17.0], b"17"),
        ([26.562, 26.562], b"26.562"),
        ([float("nan")] * 3, b"null"),
        ([17.0, 18.0, 18.0, 15.0], b"[17,1,0,-3]"),
        ([0.5, 0.625], b'{"scale":1000,"d":[500,125]}'),
        ([17.0, float("nan"), 0.1], b'{"v":[17,null,0.1]}'),
        ([-0.0, 0.0], b'{"v":[-0.0,0]}'),
    ],
)
def test_a_column_is_written_in_its_simplest_form(column, line):
    assert encode_columns(np.array([column])) == [line]


def test_a_missing_value_is_null_and_never_zero():
    assert encode_columns(np.array([[np.nan, 0.0]])) == [b'{"v":[null,0]}']


NO_COLUMNS = (b"", b"[1,", b"[1,2]", b"[1,2,3,4]", b"{}", b'{"v":[1]}', b'"!"', b"true", b"true]", b"1,2,3", b"[1]")


@pytest.mark.parametrize("line", NO_COLUMNS)
def test_a_line_that_is_no_column_of_three_rows_is_altered(line):
    with pytest.raises(Altered):
        decode_columns([line], 3)
