"""`python -m lanescope.benchmarks.localization`."""

from .table import main

if __name__ == "__main__":
    main()
