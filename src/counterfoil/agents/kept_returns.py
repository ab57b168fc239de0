"""What a tool gave, as the ledger keeps it: as JSON, beside the journal where it is long, in words where it has no JSON form.

A tool that returned has done what it does, whatever its return value is: nothing here raises for a value, and nothing of it
leaves a doubt.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from pydantic_ai.messages import ToolReturn

from counterfoil.agents.messages import returned_plain
from counterfoil.model.codec import BODY_LIMIT, compact, storable
from counterfoil.model.errors import Refused

Keep = Callable[[bytes], Awaitable[str]]
"""Saves bytes as an artifact, and gives their digest. Raises StorageError."""

LONGEST_WORDS = 2_000  # characters of what has no JSON form
LONGEST_WORD = 8_000  # characters of a tool's own word for the model: it is kept in the attempt, which has a limit


async def kept_return(value: Any, keep: Keep) -> dict[str, Any]:
    """As `returned_plain`, or `{artifact}` where that is long: `ArtifactStore.whole` reads it back."""
    try:
        plain: dict[str, Any] = storable(returned_plain(value))
        text = compact(plain)
    except Exception as problem:  # the value's own serialisers may raise anything
        plain = in_words("What it returned has no JSON form", value, problem)
        text = compact(plain)
    if len(text) <= BODY_LIMIT // 2:
        return plain
    try:
        return {"artifact": await keep(text.encode())}
    except Refused as refused:  # the disk is full: what it did is worth more than what it said
        return in_words("What it returned could not be kept", value, refused)


def in_words(what: str, value: Any, problem: Exception) -> dict[str, Any]:
    """As `returned_plain`, told to the model: the tool ran to its end, and how its value shows itself."""
    shown = value.return_value if isinstance(value, ToolReturn) else value
    try:
        words = repr(shown)
    except Exception:
        words = f"<{type(shown).__name__}>"
    reason = str(problem).splitlines()[0][:200] if str(problem) else type(problem).__name__
    told = f"It ran to its end. {what} ({reason}). It shows itself as: {shortened(words, LONGEST_WORDS)}"
    return {"value": storable(told), "content": None, "metadata": None}


def shortened(text: str, longest: int) -> str:
    """The text, or its beginning and how much is left out."""
    return text if len(text) <= longest else f"{text[:longest]}... ({len(text) - longest} characters more)"


def words_of(said: Mapping[str, Any]) -> dict[str, Any]:
    """A tool's own words for the model, as they can be kept."""
    return {
        name: shortened(storable(word), LONGEST_WORD) if isinstance(word, str) else word for name, word in said.items()
    }
