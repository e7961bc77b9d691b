"""The simulated world, and a fleet of it behind a real SSH server. Imports the vocabulary alone."""
