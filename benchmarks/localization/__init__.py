"""How fast and how often rightly a fault is localized, against the ways it is done today, in one simulated cluster."""
