"""Host sets as operators write them."""

from __future__ import annotations

import pytest
from lanescope.fleet.hosts import expand
from lanescope.incident.errors import InputError


def test_a_range_keeps_its_leading_zeros() -> None:
    assert expand(["gpu[008-010]"]) == ("gpu008", "gpu009", "gpu010")


def test_hosts_named_twice_are_taken_once_and_the_order_stays() -> None:
    assert expand(["b2", "a[1-2]", "b2,a1"]) == ("b2", "a1", "a2")


def test_a_set_can_leave_hosts_out() -> None:
    assert expand(["gpu[1-4]!gpu3"]) == ("gpu1", "gpu2", "gpu4")


@pytest.mark.parametrize("text", ["gpu[1-", "gpu[4-1]", "gpu[a-b]"])
def test_a_set_that_cannot_be_read_says_what_was_expected(text: str) -> None:
    with pytest.raises(InputError, match="expected a set such as"):
        expand([text])


def test_no_hosts_at_all_is_an_error() -> None:
    with pytest.raises(InputError, match="no hosts given"):
        expand([])


def test_a_set_of_a_million_is_refused_before_it_is_made() -> None:
    with pytest.raises(InputError, match="at most 20000"):
        expand(["gpu[1-1000000]"])


@pytest.mark.parametrize("text", ["-oProxyCommand=id", "a/b"])
def test_a_name_that_ssh_would_take_for_an_option_or_a_path_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        expand([text])
