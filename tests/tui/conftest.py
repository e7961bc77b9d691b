"""Every test reads the same clock, and colours whatever the environment says."""

from __future__ import annotations

import time

import pytest

from .made_up import MadeUp, with_faults  # noqa: TID251 (this folder, not the room)


@pytest.fixture(autouse=True)
def _same_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.fixture
def faulty() -> MadeUp:
    """Eight nodes: sim3 has a bad lane, sim5 a NIC at x8, sim6 lost a GPU, sim7 is silent."""
    return with_faults(MadeUp(8))
