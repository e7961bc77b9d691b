"""What readings mean: counters, rates, timeline, health, and the rules that raise findings."""
