"""What every shape is: read-only, and open for the fields of a later version."""

from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

T = TypeVar("T")

Json = Any


class Shape(BaseModel):
    """A version only gains fields; one that is not named here is kept, as an attribute."""

    model_config = ConfigDict(extra="allow", frozen=True, serialize_by_alias=True, validate_by_name=True)


class Warned(Shape):
    """Nothing is wrong with the answer, and somebody should know."""

    code: str
    message: str


class Answer(Shape, Generic[T]):
    """The one document of every success. `schema` names what `data` is, and its version."""

    ok: Literal[True]
    schema_: str = Field(alias="schema")
    data: T
    warnings: list[Warned]


class Page(Shape, Generic[T]):
    """A part of a list. `next_cursor` is given back as `cursor`; null at the end."""

    items: list[T]
    next_cursor: str | None


class Refusal(Shape):
    """What was refused, and what is safe to do next."""

    code: str = Field(description="Stable; docs/reference/errors.md lists them.")
    message: str = Field(description="What happened.")
    safe_next: str = Field(description="What is safe to do next.")
    details: dict[str, Any]


class RefusalAnswer(Shape):
    """The one document of every error."""

    ok: Literal[False]
    schema_: Literal["error/1"] = Field(alias="schema")
    error: Refusal


class Money(Shape):
    """An amount in the currency's smallest unit."""

    minor: int
    currency: str


WITHHELD = Field(default_factory=lambda: list[str](), description="Kinds of records that you may not read: null here.")


class Who(Shape):
    """Who moves it."""

    kind: Literal["scheduler", "reviewer", "operator", "none"]
    name: str | None


class Next(Shape):
    """The next allowed action, who takes it, and the command that does."""

    code: str
    sentence: str
    who: Who
    command: str | None
    deadline_at: str | None
