"""When a receiver asks to be left alone for a while."""

from collections.abc import Mapping

LONGEST_US = 24 * 3600 * 1_000_000


def retry_after_us(headers: Mapping[str, str]) -> int | None:
    """Microseconds of a `Retry-After` in seconds (RFC 9110); None for none, for a date, or for what is no number."""
    text = headers.get("retry-after", "").strip()
    return min(int(text) * 1_000_000, LONGEST_US) if text.isascii() and text.isdigit() else None
