"""Money: what a day came to, and a provider's statement held against the record."""

from pydantic import Field

from counterfoil.client.shapes.base import Money, Shape


class Sum(Shape):
    """How many operations, and their amount; `minor` null where the payload marks none."""

    count: int
    minor: int | None


class DaySum(Shape):
    """The sums of one receiver, operation and currency."""

    receiver: str
    operation: str
    currency: str | None
    approved: Sum
    succeeded: Sum
    failed: Sum
    unknown: Sum


class Report(Shape):
    """What a day came to, from midnight to midnight in its zone."""

    day: str
    zone: str
    begins_at: str
    ends_at: str
    items: list[DaySum]


class StatementImport(Shape):
    """A statement that was imported."""

    import_id: str
    receiver: str
    file: str
    file_digest: str
    by: str
    at: str
    lines: int
    matched: int
    resolved: int


class StatementLine(Shape):
    """One line, and what it came to."""

    line: int
    reference: str | None
    amount: Money | None
    at: str | None
    operation_id: str | None
    operations: list[str]
    why: str | None
    code: str | None


class OursNotTheirs(Shape):
    """What we hold as succeeded and no line names."""

    operation_id: str
    number: int
    operation: str
    amount: Money | None
    first_sent_at: str | None
    closed_at: str | None


class UnreadableLine(Shape):
    """A line that could not be read."""

    line: int
    problem: str


class Window(Shape):
    """The time that the statement covers."""

    begins_at: str | None
    ends_at: str | None


class Statement(Shape):
    """A provider's statement held against the record."""

    import_id: str | None
    file: str
    file_digest: str | None
    receiver: str
    dry_run: bool
    lines: int
    skipped: int
    matched: int
    resolved: list[StatementLine]
    not_resolved: list[StatementLine]
    mismatch: list[StatementLine]
    several: list[StatementLine]
    theirs_not_ours: list[StatementLine]
    ours_not_theirs: list[OursNotTheirs]
    unreadable: list[UnreadableLine]
    window: Window
    sound: bool = Field(description="Every line was read and is ours, and everything of ours is there.")
