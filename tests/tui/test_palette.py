from __future__ import annotations

from itertools import combinations, pairwise

import pytest
from lanescope.tui.theme import (
    DARK,
    HEAT_STEPS,
    LIGHT,
    MONO,
    Ink,
    Mark,
    Palette,
    Role,
    contrast,
    luminance,
    readable_on,
)

from .colour import SIGHTS, distance  # noqa: TID251 (this folder, not the room)

STATES = (Role.OK, Role.UNKNOWN, Role.WARN, Role.FAIL, Role.SELECT)
WORDS = [role for role in Role if role is not Role.FAINT]


@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize("palette", [DARK, LIGHT], ids=lambda palette: palette.name)
def test_states_and_selection_are_told_apart_by_every_kind_of_sight(palette: Palette, sight: str) -> None:
    closest = min(distance(palette.roles[a], palette.roles[b], sight) for a, b in combinations(STATES, 2))
    assert closest >= 25


@pytest.mark.parametrize("palette", [DARK, LIGHT, MONO], ids=lambda palette: palette.name)
def test_every_word_can_be_read_on_the_ground_and_on_the_header_bar(palette: Palette) -> None:
    on_bar = (Role.TEXT, Role.TITLE, Role.KEY, Role.LIVE)
    assert min(contrast(palette.roles[role], palette.ground) for role in WORDS) >= 4.5
    assert min(contrast(palette.roles[role], palette.bar) for role in on_bar) >= 4.5


@pytest.mark.parametrize("palette", [DARK, LIGHT, MONO], ids=lambda palette: palette.name)
def test_belief_heat_goes_one_way_in_lightness_and_its_digits_can_be_read(palette: Palette) -> None:
    light = [luminance(colour) for colour in palette.heat]
    assert light == sorted(light, reverse=not palette.is_dark)
    assert len(palette.heat) == len(HEAT_STEPS) + 1
    assert min(contrast(readable_on(colour), colour) for colour in palette.heat) >= 4.5


def test_without_colour_lightness_rises_with_severity() -> None:
    light = [luminance(MONO.roles[mark.role]) for mark in (Mark.OK, Mark.UNKNOWN, Mark.WARN, Mark.FAIL)]
    assert all(low < high for low, high in pairwise(light))


def test_each_severity_has_a_sign_of_its_own() -> None:
    assert len({mark.glyph for mark in Mark}) == len(Mark)


def test_unknown_is_never_filled() -> None:
    ink = Ink()
    assert ink.mark(Mark.UNKNOWN, fill=True).bgcolor == ink(Role.TEXT).bgcolor
    assert ink.mark(Mark.WARN, fill=True).bgcolor != ink(Role.TEXT).bgcolor
