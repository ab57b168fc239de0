"""When a receiver asks to be left alone for a while."""

from collections.abc import Mapping
from email.utils import parsedate_to_datetime

LONGEST_US = 24 * 3600 * 1_000_000


def retry_after_us(headers: Mapping[str, str]) -> int | None:
    """Microseconds of a `Retry-After` (RFC 9110): seconds, or a date, counted from the answer's own `Date`.

    None for none, for a date without a `Date` to count from, or for what is neither.
    """
    text = headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return min(int(text) * 1_000_000, LONGEST_US)
    try:
        wait = parsedate_to_datetime(text) - parsedate_to_datetime(headers.get("date", ""))
    except (TypeError, ValueError):  # no dates, or one with a zone and one without
        return None
    return max(0, min(int(wait.total_seconds()) * 1_000_000, LONGEST_US))
