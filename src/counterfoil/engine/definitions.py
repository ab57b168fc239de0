"""What a user registers: steps, operations, workflows, receivers. Checked once, at start, and never at import."""

import inspect
import typing
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache
from typing import Any, Generic, Literal, TypeVar

from pydantic import TypeAdapter

from counterfoil.engine.document import Document
from counterfoil.model.breaker import Breaker
from counterfoil.model.budget import Budget, Retry, SharedBudget
from counterfoil.model.contract import Contract
from counterfoil.model.conversation import Turn
from counterfoil.model.errors import Refused
from counterfoil.model.people import Owner, owner_facts, owner_of
from counterfoil.model.review import ReviewBy
from counterfoil.model.slots import Partition, Rate

DEFAULT_QUEUE = "default"

P = TypeVar("P")
R = TypeVar("R")
I = TypeVar("I")
O = TypeVar("O")


@dataclass(frozen=True, slots=True)
class Env:
    """A value read from the environment when it is needed, not when it is named."""

    name: str
    default: str | None = None


@dataclass(frozen=True, slots=True)
class SecretFile:
    """The text of a file, without the white space around it, read for each attempt: a mounted secret may be exchanged."""

    path: str


@dataclass(frozen=True, slots=True)
class Keyring:
    """A secret of the system's keyring, by service and name. Needs the extra `keyring`."""

    service: str
    name: str


@dataclass(frozen=True, slots=True)
class Bearer:
    """A credential by reference: sent as `Authorization: Bearer ...`, never stored."""

    token: Env | SecretFile | Keyring


@dataclass(frozen=True, slots=True, init=False)
class SignedBy:
    """How a receiver signs what it sends by itself to `/webhooks/NAME`. `scheme`: standard, stripe or github.

    `secrets` are references, several while one is exchanged for another; they are read for each message and never stored.
    `tolerance`: how far the signed time may be from now, either way; GitHub signs none.
    """

    scheme: Literal["standard", "stripe", "github"]
    secrets: tuple[Env, ...]
    tolerance: timedelta

    def __init__(
        self,
        scheme: Literal["standard", "stripe", "github"],
        *secrets: Env,
        tolerance: timedelta = timedelta(minutes=5),
    ) -> None:
        object.__setattr__(self, "scheme", scheme)
        object.__setattr__(self, "secrets", secrets)
        object.__setattr__(self, "tolerance", tolerance)


@dataclass(frozen=True, slots=True)
class ReceiverDefinition:
    name: str
    url: str | Env
    credential: Bearer | None
    environment: str
    concurrency: int | None = None  # attempts at once, over all workers
    rate: Rate | None = None
    webhook: SignedBy | None = None
    breaker: Breaker | None = None


@dataclass(frozen=True)
class Operation(Generic[P, R]):
    """An operation's definition. Not callable: only a run or a ledger performs it."""

    name: str
    function: Callable[..., Any]
    receiver: str
    contract: Contract
    business_key: str | Callable[[Any], str] | None
    repeatable: bool
    review: ReviewBy | None
    owner: Owner | str | None
    inquiry: Callable[[Any, str], Any] | None = None  # (payload, operation_id): engine/inquiry.py's Inquiry, or None

    @property
    def action(self) -> str:
        """What the receiver does: the contract's word for it, else the operation's name."""
        return self.contract.action or self.name

    def patience_us(self) -> int:
        """How long its owner has to act: so long a receiver that is out of reach is asked in vain. Microseconds."""
        return self.doubt_owner().within // timedelta(microseconds=1)

    def doubt_owner(self) -> Owner:
        """Who moves its doubts forward: its owner, else its review's."""
        return owner_of(self.owner or (self.review.owner if self.review is not None else ""))

    def review_facts(self) -> dict[str, Any] | None:
        """Role, time, owner and number of approvals of the review that it asks for, as JSON; None where it asks for none."""
        if self.review is None:
            return None
        return {
            "role": self.review.role,
            "expires_us": self.review.expires_in // timedelta(microseconds=1),
            "owner": owner_facts(owner_of(self.review.owner)),
            "approvals": self.review.approvals,
        }

    def key_of(self, payload: Any) -> str | None:
        """The business key of a payload: a field of it, or what the function says."""
        if self.business_key is None:
            return None
        value = (
            getattr(payload, self.business_key) if isinstance(self.business_key, str) else self.business_key(payload)
        )
        return str(value)


@dataclass(frozen=True)
class Workflow(Generic[I, O]):
    """A workflow's definition: one async function under a name and a declared version."""

    name: str
    version: int
    function: Callable[..., Any]
    budget: Budget
    concurrency: int | None = None  # runs driven at once, over all workers and versions
    partition: Partition | None = None
    queue: str = DEFAULT_QUEUE


@dataclass(frozen=True, slots=True)
class Step:
    """How a function runs as a step. A function without it: name from the function, tries until the budget is spent.

    `counted` is the name by which budgets know it, and under which whoever calls it has counted its call already.
    """

    name: str
    retry: Retry | None = None
    timeout: timedelta | None = None
    counted: str = ""

    @property
    def called(self) -> str:
        return self.counted or self.name


F = TypeVar("F", bound=Callable[..., Any])


def step(*, retry: Retry | None = None, timeout: timedelta | None = None, name: str | None = None) -> Callable[[F], F]:
    """Say how often a step is tried, how long one try may take, and under which name it is recorded."""

    def mark(function: F) -> F:
        function.__counterfoil_step__ = Step(name or function.__name__, retry, timeout)  # type: ignore[attr-defined]
        return function

    return mark


@lru_cache(maxsize=4096)
def step_of(function: Callable[..., Any]) -> Step:
    marked: Step | None = getattr(function, "__counterfoil_step__", None)
    return marked or Step(getattr(function, "__qualname__", type(function).__name__).rpartition(".")[2])


@dataclass(frozen=True, slots=True)
class Signature:
    """The JSON form of a function's inputs and of its result, through its annotations."""

    inputs: tuple[tuple[str, TypeAdapter[Any]], ...]
    result: TypeAdapter[Any]

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """Plain JSON of what a call was given, by position; raises Refused(unserializable)."""
        if not kwargs:
            return [dumped(each, value, where=name) for (name, each), value in zip(self.inputs, args, strict=False)]
        names = [name for name, _ in self.inputs]
        given = dict(zip(names, args, strict=False)) | kwargs
        return [dumped(adapter, given[name], where=name) for name, adapter in self.inputs if name in given]


_PLAIN = {"str": str, "int": int, "bool": bool}


def dumped(adapter: TypeAdapter[Any], value: Any, *, where: str) -> Any:
    schema = adapter.core_schema
    if type(value) is _PLAIN.get(schema["type"]) and "serialization" not in schema:
        return value  # it is its own JSON form, as most inputs of steps are
    try:
        return adapter.dump_python(value, mode="json", warnings="error")
    except Exception as problem:
        raise Refused("unserializable", where=where, problem=_first_line(problem)) from problem


def loaded(adapter: TypeAdapter[Any], value: Any, *, where: str) -> Any:
    schema = adapter.core_schema
    if len(schema) == 1 and type(value) is _PLAIN.get(schema["type"]):
        return value  # a bare type, and it is one
    try:
        return (
            adapter.validate_python(value)
            if not isinstance(value, dict | list)
            else adapter.validate_json(_json(value))
        )
    except Exception as problem:
        raise Refused("invalid_payload", where=where, problem=_first_line(problem)) from problem


def _json(value: Any) -> bytes:
    import json

    return json.dumps(value).encode()


def _first_line(problem: Exception) -> str:
    return "; ".join(
        line.strip() for line in str(problem).splitlines()[:4] if not line.strip().startswith("For further")
    )


_signatures: dict[Any, Signature] = {}


def signature_of(function: Callable[..., Any], *, skip: int = 0) -> Signature:
    """Read a function's annotations. `skip` leaves out leading parameters (the run, the call). Raises Refused(type_missing)."""
    key = (function, skip)
    if key not in _signatures:
        _signatures[key] = _read_signature(function, skip)
    return _signatures[key]


def _read_signature(function: Callable[..., Any], skip: int) -> Signature:
    name = getattr(function, "__qualname__", repr(function))
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except NameError as problem:
        raise Refused("type_missing", name=name, where=str(problem)) from problem
    inputs: list[tuple[str, TypeAdapter[Any]]] = []
    for parameter in list(inspect.signature(function).parameters.values())[skip:]:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise Refused("type_missing", name=name, where=f"*{parameter.name}: name each parameter")
        if parameter.name not in hints:
            raise Refused("type_missing", name=name, where=f"parameter {parameter.name}")
        inputs.append((parameter.name, TypeAdapter(hints[parameter.name])))
    if "return" not in hints:
        raise Refused("type_missing", name=name, where="its result")
    return Signature(tuple(inputs), TypeAdapter(hints["return"]))


def takes_turns(workflow: Workflow[Any, Any]) -> bool:
    """Whether its input is a message of a conversation."""
    hints = typing.get_type_hints(workflow.function)
    return any(isinstance(each, type) and issubclass(each, Turn) for name, each in hints.items() if name != "return")


@dataclass(slots=True)
class Registry:
    """All that an application registered."""

    name: str
    receivers: dict[str, ReceiverDefinition] = field(default_factory=lambda: {})
    operations: dict[str, Operation[Any, Any]] = field(default_factory=lambda: {})
    workflows: dict[tuple[str, int], Workflow[Any, Any]] = field(default_factory=lambda: {})
    budgets: dict[str, SharedBudget] = field(default_factory=lambda: {})
    documents: dict[str, Document[Any]] = field(default_factory=lambda: {})
    # By workflow, where its code alone tells: the names of all that its runs can call; None while one may show only later.
    called: dict[tuple[str, int], Callable[[], frozenset[str] | None]] = field(default_factory=lambda: {})

    def add_operation(self, operation: Operation[Any, Any]) -> None:
        if operation.name in self.operations:
            raise Refused("name_taken", name=operation.name)
        self.operations[operation.name] = operation

    def add_workflow(self, workflow: Workflow[Any, Any]) -> None:
        if (workflow.name, workflow.version) in self.workflows:
            raise Refused("name_taken", name=f"{workflow.name} version {workflow.version}")
        self.workflows[workflow.name, workflow.version] = workflow

    def add_budget(self, budget: SharedBudget) -> None:
        if budget.name in self.budgets:
            raise Refused("name_taken", name=budget.name)
        self.budgets[budget.name] = budget

    def add_document(self, document: Document[Any]) -> None:
        if document.name in self.documents:
            raise Refused("name_taken", name=document.name)
        self.documents[document.name] = document

    def newest(self, name: str) -> Workflow[Any, Any]:
        versions = [workflow for (known, _), workflow in self.workflows.items() if known == name]
        if not versions:
            known = ", ".join(sorted({known for known, _ in self.workflows if known != "ledger"})) or "none"
            raise Refused("unknown_workflow", name=name, known=known)
        return max(versions, key=lambda workflow: workflow.version)
