"""Rounds of informative probes: which part of some nodes is at fault, in the fewest seconds, with its proof."""
