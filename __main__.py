"""`python -m lanescope` is the `lanescope` command."""

from .cli import script

if __name__ == "__main__":
    raise SystemExit(script())
