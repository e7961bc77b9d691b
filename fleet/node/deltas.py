"""Coding of a vector of readings against the one before: what stands still costs nothing."""


class Deltas(object):
    """Turns successive vectors of one length into key frames and differences.

    A key frame is ("K", values). A difference is ("D", [gap, change, gap, change, ...]): the gap leads from the last
    changed position to this one, and the change is the difference of two whole numbers or, in a list, the new value.
    """

    def __init__(self, key_every):
        self.key_every = key_every
        self.previous = None
        self.since_key = 0

    def want_key(self):
        """Make the next frame a key frame."""
        self.previous = None

    def frame(self, values):
        """The frame of `values` (whole numbers, numbers, texts or None)."""
        before, self.previous = self.previous, values
        self.since_key += 1
        if before is None or len(before) != len(values) or self.since_key >= self.key_every:
            self.since_key = 0
            return "K", values
        changes = []
        last = 0
        for position, (old, new) in enumerate(zip(before, values)):  # noqa: B905 (no strict= on 3.6)
            if old != new:
                whole = type(old) is int and type(new) is int
                changes += [position - last, new - old if whole else [new]]
                last = position
        return "D", changes
