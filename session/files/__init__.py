"""Files that somebody handed in: what lies in them, whose it is and from when."""
