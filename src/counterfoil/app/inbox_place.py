"""Where a thing stands in the inbox: what a person typed for it, the cursor behind it, and the end of a snooze."""

import base64
import binascii
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from counterfoil.model.errors import Refused
from counterfoil.model.inbox import INCIDENT_US
from counterfoil.model.installation import IncidentRecord
from counterfoil.model.review import ReviewRecord, ReviewState
from counterfoil.model.run import RunRecord, RunState
from counterfoil.store.inbox import NONE_YET, InboxRow
from counterfoil.store.port import Reader

Visible = Callable[[InboxRow], bool]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SPAN = re.compile(r"([0-9]{1,4})(m|h|d)")
_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}


def everything(row: InboxRow) -> bool:
    """Nothing is left out."""
    del row
    return True


def subject_of(reader: Reader, text: str) -> tuple[str, str, int]:
    """(subject, run_id, deadline) of what was typed. A run that waits for a review is that review.

    Raises Refused(not_found, ambiguous_id), and (not_waiting) for a run that ended.
    """
    hits = [hit for hit in reader.lists.named(text, limit=200) if hit.kind in ("review", "run", "incident")]
    hits = [hit for hit in hits if hit.id == text] or hits
    if not hits:
        raise Refused("not_found", what="thing in the inbox", id=text)
    if len({hit.id for hit in hits}) > 1:
        raise Refused("ambiguous_id", what="thing in the inbox", id=text)
    id_, run_id = hits[0].id, hits[0].run_id or ""
    if hits[0].kind == "review" and (review := reader.get(ReviewRecord, id_)) is not None:
        return id_, run_id, review.expires_at
    if hits[0].kind == "incident" and (incident := reader.get(IncidentRecord, id_)) is not None:
        return id_, run_id, incident.opened_at + INCIDENT_US
    run = reader.get(RunRecord, id_)
    if run is not None and run.state is not RunState.PARKED:
        asked = [r for r in reader.find(ReviewRecord, "run_id", id_) if r.state is ReviewState.OPEN]
        if len(asked) == 1:
            return asked[0].review_id, run_id, asked[0].expires_at
    if run is None or run.deadline_at is None:
        raise Refused("not_waiting", subject=text)
    return id_, run_id, run.deadline_at


def cursor_of(place: tuple[int, str]) -> str:
    """The place of the last thing of a page, as it goes into an address."""
    return base64.urlsafe_b64encode(f"{place[0]}:{place[1]}".encode()).decode().rstrip("=")


def place_of(cursor: str | None) -> tuple[int, str]:
    """The place that a cursor stands for. Raises Refused(usage) for what is no cursor of the inbox."""
    if cursor is None:
        return NONE_YET
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode()
        deadline, _, subject = text.partition(":")
        if not re.fullmatch(r"[0-9]{1,18}", deadline) or not subject:
            raise ValueError(text)
    except (binascii.Error, ValueError) as problem:
        raise Refused("usage", problem=f"{cursor!r} is no cursor of the inbox") from problem
    return int(deadline), subject


def until_of(text: str, now: int) -> int:
    """Microseconds: of an RFC 3339 time with its offset, or so long from now (30m, 4h, 1d). Raises Refused(usage)."""
    span = _SPAN.fullmatch(text.strip())
    if span is not None:
        return now + int(span[1]) * (_UNITS[span[2]] // timedelta(microseconds=1))
    try:
        moment = datetime.fromisoformat(text.strip())
        if moment.tzinfo is None:
            raise ValueError(text)
        return (moment - _EPOCH) // timedelta(microseconds=1)
    except (ValueError, OverflowError) as problem:
        raise Refused(
            "usage", problem=f"{text!r} is neither a time with an offset (RFC 3339) nor 30m, 4h, 1d"
        ) from problem
