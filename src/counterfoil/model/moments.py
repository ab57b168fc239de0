"""Times as people and programs read them."""

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_END = (datetime(9999, 12, 31, tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)


def rfc3339(us: int | None) -> str | None:
    """RFC 3339 in UTC, of microseconds since 1970. None stays None, and so does what lies beyond the year 9999."""
    if us is None or not 0 <= us < _END:
        return None
    moment = _EPOCH + timedelta(microseconds=us)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
