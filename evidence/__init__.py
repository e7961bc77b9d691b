"""Proof: journal, recording, case folder, bundle, verification."""
