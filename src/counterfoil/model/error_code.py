"""What an error code is, and the exit statuses of the command line."""

from dataclasses import dataclass

REFUSED, USAGE, UNKNOWN, MISSING, DEFECT = 3, 2, 4, 6, 70


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """`message` may name details in braces; `exit_status` is what the command line answers with."""

    code: str
    message: str
    safe_next: str
    exit_status: int = REFUSED
