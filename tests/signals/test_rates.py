from math import isnan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lanescope.incident.events import Field
from lanescope.incident.ids import ComponentId
from lanescope.incident.snapshot import Series
from lanescope.signals.rates import increase, moved_columns, per_second, rates_of, rise_of

PART = ComponentId("n/gpu0/nvlink3")
NAN = float("nan")


def series(values, times=None):
    samples = tuple(np.array([value], dtype=float) for value in values)
    stamps = tuple(times or (float(second) for second in range(len(values))))
    ids = tuple(f"n#{number}" for number in range(len(values)))
    return Series("s", (Field(PART, "crc_errors"),), samples[0], stamps[0], stamps, samples, ids)


def test_a_rate_is_the_difference_over_the_time_between_readings():
    assert per_second(series([10, 10, 16, 20]), PART, "crc_errors") == pytest.approx(10 / 3)


def test_a_standing_total_has_a_rate_of_zero_however_high_it_is():
    assert per_second(series([65535.0] * 5), PART, "crc_errors") == 0


def test_a_falling_value_is_a_reset_and_counts_from_zero():
    assert increase(series([100, 102, 3, 4]), PART, "crc_errors") == 2 + 3 + 1


def test_a_missing_counter_is_missing_and_never_zero():
    assert isnan(increase(series([NAN, NAN, NAN]), PART, "crc_errors"))
    assert isnan(per_second(series([NAN, NAN, NAN]), PART, "crc_errors"))
    assert isnan(increase(series([1, 2]), PART, "no_such_counter"))


def test_one_reading_makes_no_rate():
    assert isnan(per_second(series([7]), PART, "crc_errors"))
    assert isnan(per_second(series([NAN, 7, NAN]), PART, "crc_errors"))


def test_a_gap_in_the_readings_is_bridged_by_those_around_it():
    assert per_second(series([1, NAN, NAN, 7]), PART, "crc_errors") == 2


def test_only_the_window_counts():
    assert increase(series([0, 50, 51, 53]), PART, "crc_errors", window=2) == 3


def test_a_storm_of_a_thousand_errors_in_two_seconds_is_one_burst():
    rise = rise_of(series([0, 500, 1000, 1000, 1000, 1000, 1000, 1000, 1000]), 0)
    assert (rise.total, rise.steps, rise.bursts) == (1000, 2, 1)


def test_bursts_with_quiet_between_them_are_counted_apart():
    assert rise_of(series([0, 1, 1, 1, 1, 1, 1, 1, 2]), 0).bursts == 2


def test_a_rise_names_the_samples_before_its_first_move_and_at_its_last():
    assert rise_of(series([4, 4, 5, 5, 6, 6]), 0).at == (1, 4)


def test_a_counter_that_stood_still_is_not_among_those_that_moved():
    assert moved_columns(series([3, 3]), np.array([0])) == []
    assert moved_columns(series([NAN, NAN]), np.array([0])) == []
    assert moved_columns(series([3, 4]), np.array([0])) == [0]


@given(st.lists(st.one_of(st.integers(0, 2**53).map(float), st.just(NAN)), min_size=1, max_size=12))
def test_no_counter_ever_has_a_negative_rate(values):
    rate = per_second(series(values), PART, "crc_errors")
    assert isnan(rate) or rate >= 0


@given(st.lists(st.one_of(st.integers(0, 2**53).map(float), st.just(NAN)), min_size=1, max_size=12))
def test_many_rates_at_once_are_those_of_one_by_one(values):
    told = series(values)
    assert rates_of(told, [0]) == pytest.approx([per_second(told, PART, "crc_errors")], nan_ok=True)
