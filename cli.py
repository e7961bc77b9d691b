"""The commands; thin."""

from __future__ import annotations


def main() -> int:
    """Run the `lanescope` command; returns its exit code."""
    return 64
