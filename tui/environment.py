"""What has to be settled before textual is imported: it reads its constants once, at import."""

from __future__ import annotations

import locale
import os
from collections.abc import MutableMapping

OVER_SSH = {"TEXTUAL_FPS": "15", "TEXTUAL_ANIMATIONS": "none", "TEXTUAL_SMOOTH_SCROLL": "0"}


def prepare(mouse: bool | None = None, environment: MutableMapping[str, str] = os.environ) -> bool:
    """Set textual's defaults for a slow line where the terminal is at the far end of SSH; what the operator set stays.

    Returns whether to use the mouse: as asked, else not over SSH, where every move of it is a message upstream.
    """
    environment.setdefault("TEXTUAL_ANIMATIONS", "none")
    if is_remote(environment):
        for name, value in OVER_SSH.items():
            environment.setdefault(name, value)
    return not is_remote(environment) if mouse is None else mouse


def is_remote(environment: MutableMapping[str, str] = os.environ) -> bool:
    """Whether the terminal is at the far end of an SSH connection."""
    return bool(environment.get("SSH_CONNECTION") or environment.get("SSH_TTY"))


def wants_ascii(environment: MutableMapping[str, str] = os.environ) -> bool:
    """Whether the locale, or the font of a Linux console, can't show our glyphs."""
    return environment.get("TERM") == "linux" or "utf" not in (locale.getpreferredencoding(False) or "").lower()


def wants_no_colour(environment: MutableMapping[str, str] = os.environ) -> bool:
    """https://no-color.org: set and not empty."""
    return bool(environment.get("NO_COLOR"))
