"""Settings for as long as a block lasts: in this process, and so in those that it starts meanwhile."""

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager


@contextmanager
def environ_of(settings: Mapping[str, str]) -> Generator[None]:
    """These variables while the block is open; what was there before comes back."""
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
