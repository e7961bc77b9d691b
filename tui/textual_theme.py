"""Our colours for the stock widgets of dialogs."""

from __future__ import annotations

from textual.theme import Theme

from .theme import Palette, Role


def textual_theme(palette: Palette) -> Theme:
    """A palette as a textual theme."""
    roles = palette.roles
    return Theme(
        name=f"lanescope-{palette.name}",
        primary=roles[Role.SELECT],
        secondary=roles[Role.LIVE],
        warning=roles[Role.WARN],
        error=roles[Role.FAIL],
        success=roles[Role.OK],
        accent=roles[Role.KEY],
        foreground=roles[Role.TEXT],
        background=palette.ground,
        surface=palette.panel,
        panel=palette.bar,
        dark=palette.is_dark,
    )
