"""What counts bound."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lanescope.probes.localize.bounds import at_most, clean_bound, duty_from_strikes, interval
from lanescope.probes.localize.coincidence import MOST, log_odds_of_one_cause
from lanescope.probes.localize.likelihood import strike, tables
from lanescope.probes.localize.rounds import circle


def test_fifty_nine_clean_trials_bound_the_failure_rate_at_five_percent():
    assert clean_bound(59) == pytest.approx(0.05, abs=0.001)
    assert clean_bound(0) == 1.0


def test_a_bad_trial_among_the_clean_ones_raises_the_bound():
    assert clean_bound(58, 1) > clean_bound(59)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 20), st.integers(1, 60))
def test_an_interval_holds_the_share_seen(bad, more):
    low, high = interval(bad, bad + more)
    assert 0 <= low <= bad / (bad + more) <= high <= 1


def test_a_bound_is_where_so_few_bad_trials_become_improbable():
    assert at_most(2, 50, clean_bound(48, 2)) == pytest.approx(0.05, abs=1e-3)


def test_the_duty_read_from_strikes_is_wide_because_bursts_may_be_as_short_as_a_window():
    low, high = duty_from_strikes(4, 10, 0.6, 0.03)
    assert low < 0.01
    assert high == interval(4, 10)[1]


def test_strikes_and_dips_of_the_same_trials_speak_for_one_cause():
    assert log_odds_of_one_cause(3, 0, 0, 20) > 4.0
    assert log_odds_of_one_cause(30, 0, 0, 200) == MOST


def test_strikes_and_dips_that_fall_on_the_same_trials_by_chance_say_next_to_nothing():
    assert log_odds_of_one_cause(1, 5, 4, 20) < 0.5
    assert log_odds_of_one_cause(0, 5, 5, 20) == 0.0
    assert log_odds_of_one_cause(0, 0, 0, 0) == 0.0


@given(st.integers(2, 16))
def test_the_circle_method_lets_every_pair_meet_once_in_disjoint_rounds(count):
    rounds = list(circle(count))
    met = [frozenset(pair) for pairs in rounds for pair in pairs]
    assert len(met) == len(set(met)) == count * (count - 1) // 2
    assert all(len({end for pair in pairs for end in pair}) == 2 * len(pairs) for pairs in rounds)


def test_one_trial_is_at_most_one_strike_however_many_windows_are_bad():
    ratios = tables(0.04, 0.003, (1.0,)).ratios[0, 6]
    worst = ratios.max()
    assert strike(np.full(16, worst), (1, 1)) == worst
