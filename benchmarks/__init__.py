"""Figures, each with the command that makes it. Ratios are measured side by side in one run; nothing here is a test."""
