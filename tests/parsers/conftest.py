from pathlib import Path

import pytest

CAPTURES = Path(__file__).parents[3] / "shared" / "captures"


class Captures:
    """Real outputs kept beside the repository; a test that needs one is skipped where they are absent."""

    def text(self, name: str) -> str:
        path = CAPTURES / name
        if not path.is_file():
            pytest.skip(f"the shared capture {name} is not here")
        return path.read_bytes().decode("utf-8", "replace")

    def all(self, pattern: str) -> list[str]:
        found = sorted(CAPTURES.glob(pattern))
        if not found:
            pytest.skip("the shared captures are not here")
        return [path.read_bytes().decode("utf-8", "replace") for path in found]


@pytest.fixture(scope="session")
def captures() -> Captures:
    return Captures()
