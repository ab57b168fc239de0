"""Text with the character 0, which PostgreSQL cannot hold and a name from outside may have: written in a way that can be undone.

It becomes two characters, and so does the one that begins them. The order of texts stays as it was.
"""

from typing import Any

from psycopg.adapt import Buffer, Loader
from psycopg.types.string import StrDumper

_MARK = "\x01"
_ZERO, _ITSELF = _MARK + "0", _MARK + "1"


def kept(value: str) -> str:
    """As it is stored."""
    if "\0" in value or _MARK in value:
        return value.replace(_MARK, _ITSELF).replace("\0", _ZERO)
    return value


def meant(value: str) -> str:
    """As it was before."""
    if _MARK in value:
        return value.replace(_ZERO, "\0").replace(_ITSELF, _MARK)
    return value


class TextDumper(StrDumper):
    """Parameters. As `text`: one that is only compared with itself would have no type."""

    def dump(self, obj: Any) -> Buffer | None:
        """The bytes that are sent."""
        return super().dump(kept(obj))


class TextLoader(Loader):
    """Values of columns."""

    def load(self, data: Buffer) -> str:
        """The text that was given to be kept."""
        return meant(str(data, "utf-8"))
