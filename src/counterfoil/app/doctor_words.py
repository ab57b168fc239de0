"""The two shapes of what `doctor` says: a check and a promise."""

from dataclasses import dataclass
from typing import Any, Literal

Status = Literal["ok", "warn", "refuse"]
Survives = Literal["yes", "no", "if"]


@dataclass(frozen=True, slots=True)
class Check:
    """`fix` is what to do, None when there is nothing to do."""

    code: str
    status: Status
    message: str
    fix: str | None = None


def either(holds: bool, code: str, message: str, bad: Status, otherwise: str, fix: str) -> Check:
    """One check with both its ends."""
    return Check(code, "ok", message) if holds else Check(code, bad, otherwise, fix)


def promise(failure: str, survives: Survives, because: str, evidence: str, improve: str | None) -> dict[str, Any]:
    """One row of the promise."""
    return {"failure": failure, "survives": survives, "because": because, "evidence": evidence, "improve": improve}
