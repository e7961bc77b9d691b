"""The vocabulary: ids, findings, events, their fold into a snapshot, and the seam to what yields them. No I/O."""
