"""The environment of its own in which set-up lays Python servers: what they ask for does not fit beside ours."""

from pathlib import Path

BIN = Path(__file__).parents[2] / ".build" / "servers" / "bin"


def program(name: str) -> str:
    """A command of that environment. Raises FileNotFoundError."""
    found = BIN / name
    if not found.exists():
        raise FileNotFoundError(f"{name} is not installed: `make set-up-dev` brings it. No test on it was run.")
    return str(found)
