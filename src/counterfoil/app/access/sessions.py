"""Sessions of browsers: a random value in a cookie, its digest in the database."""

import hashlib
from datetime import timedelta

from counterfoil.model.access import SessionRecord

LIFETIME = timedelta(hours=12)  # then somebody signs in again, however busy
IDLE = timedelta(hours=1)  # without a request
TOUCH_US = 60 * 1_000_000  # how exact `seen_at` is: one write a minute, not one a request


def session_id(value: str) -> str:
    """What is stored, so that who reads the database cannot ride a session."""
    return hashlib.sha256(value.encode()).hexdigest()


def session_ended(session: SessionRecord, now: int) -> bool:
    """Signed out, past its lifetime, or idle for too long."""
    idle_us = IDLE // timedelta(microseconds=1)
    return session.ended_at is not None or session.expires_at <= now or session.seen_at + idle_us <= now
