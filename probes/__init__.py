"""The catalogue of probes, the rounds that run them, and the engine that localizes a fault."""
