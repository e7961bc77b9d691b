"""Nodes over SSH: host sets, links, host keys, the collector's stream, probe workers."""
