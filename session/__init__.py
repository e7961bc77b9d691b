"""One incident as it runs: takes a source, folds its events, runs the rules, feeds the case, hands out snapshots."""
