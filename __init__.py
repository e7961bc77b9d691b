"""Lanescope: find the failing part of a GPU cluster during an incident, and hand over proof."""

__version__ = "0.1.0"
