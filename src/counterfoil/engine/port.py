"""What a workflow, an operation and a lookup are given. The embedded engine implements these by replay; others may too."""

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from datetime import datetime, timedelta
from typing import Any, Literal, ParamSpec, Protocol, TypeVar, overload
from uuid import UUID

from pydantic import BaseModel

from counterfoil.engine.definitions import Operation, Workflow
from counterfoil.engine.document import D, Document, DocumentVersion
from counterfoil.model.artifact import Artifact
from counterfoil.model.exchange import Told
from counterfoil.model.proposal import Proposal

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
C = TypeVar("C")
P = TypeVar("P")
R = TypeVar("R")
I = TypeVar("I")
O = TypeVar("O")
A = ParamSpec("A")
Body = Coroutine[Any, Any, T]


class Answered(Protocol[T_co]):
    """What an agent's run gives: its accepted output."""

    @property
    def output(self) -> T_co: ...


class Agent(Protocol[T_co]):
    """Pydantic AI's Agent, or any object with its `run`."""

    def run(self, user_prompt: str, /) -> Awaitable[Answered[T_co]]: ...


class Run(Protocol):
    """The port of a run. Each call is recorded at its position; `now`, `uuid` and `random` write nothing."""

    id: str
    now: Callable[[], datetime]
    uuid: Callable[[], UUID]
    random: Callable[[], float]

    @overload
    async def step(self, fn: Callable[A, Coroutine[Any, Any, T]], /, *args: A.args, **kwargs: A.kwargs) -> T: ...
    @overload
    async def step(self, fn: Callable[A, T], /, *args: A.args, **kwargs: A.kwargs) -> T: ...
    async def step(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """A piece of work that may safely run again; its result is recorded. Raises StepFailed when it is final."""

    async def decide(
        self, agent: Agent[T], input: object, *, prompt_version: str, policy_version: str | None = None
    ) -> T:
        """Ask a model once: the accepted output is saved with its input and used again. Text is sent as it is, else JSON.

        `policy_version`: of the rules that the decision is to follow, where they have one; it is kept with the decision.
        """
        ...

    async def revise(
        self, agent: Agent[T], input: object, *, prompt_version: str, policy_version: str | None = None, reason: str
    ) -> T:
        """The next version of that agent's newest decision in this branch; both versions stay."""
        ...

    async def propose(
        self,
        operation: Operation[P, R],
        payload: P,
        *,
        replaces: Proposal[P, R] | None = None,
        sources: Sequence[Artifact] = (),
    ) -> Proposal[P, R]:
        """A versioned payload with its digest, to be performed later. `replaces`: version n + 1 of the same operation."""
        ...

    async def perform(self, operation: Operation[P, R], payload: P | Proposal[P, R]) -> R:
        """Review, attempt, receipt. Raises ReviewRejected, ReviewExpired or OperationFailed; a doubt suspends the run."""
        ...

    async def transact(self, connect: Callable[[], C], body: Callable[[C], T]) -> T:
        """Your own writes and our id in one transaction of your database: done once. `connect` opens a connection."""
        ...

    async def wait_for(self, signal: str, type: type[T], *, within: timedelta) -> T:
        """The payload of the next signal of this name. Raises TimedOut after `within`."""
        ...

    async def sleep(self, duration: timedelta) -> None:
        """A durable pause."""
        ...

    def timeout(self, duration: timedelta) -> AbstractAsyncContextManager[None]:
        """A durable time limit: TimedOut leaves the block."""
        ...

    async def gather(self, *bodies: Body[T]) -> list[T]:
        """Run these side by side, a branch each; results in the order given."""
        ...

    def branch(self, body: Body[T]) -> Awaitable[T]:
        """Start a branch now; await it later."""
        ...

    async def child(self, workflow: Workflow[I, O], input: I, *, request_id: str) -> O:
        """Another run, and its result. Raises StepFailed when it did not complete."""
        ...

    async def changed(self, change: str) -> bool:
        """Whether this run goes the new way of a change inside a version; runs whose record was written before it do not.

        The same answer at every replay and everywhere in a run. Where branches run side by side, ask before they begin.
        """
        ...

    async def message(self, role: Literal["user", "agent"], text: str) -> None:
        """Append to the conversation."""
        ...

    @overload
    async def document(self, document: str, body: BaseModel | str, /) -> None: ...
    @overload
    async def document(self, document: Document[D], /) -> DocumentVersion[D]: ...
    @overload
    async def document(self, document: Document[D], body: D, /, *, after: DocumentVersion[D]) -> DocumentVersion[D]: ...
    async def document(self, document: Any, body: Any = None, /, *, after: Any = None) -> Any:
        """The working context. A name and a body: the next version of a document of this run.

        A declared document alone is read: its newest version, the same at every replay. With a body it is written behind the
        version that was read. Raises DocumentMoved where another run has written meanwhile: nothing was written then.
        """


class Reply(Protocol):
    """A reply that the contract calls applied."""

    status: int
    headers: Mapping[str, str]
    content: bytes
    text: str

    def json(self) -> Any: ...


class Reader(Protocol):
    """Reads at the receiver: with our credential, without a key. `url`: its address, for an SDK that asks by itself."""

    @property
    def url(self) -> str: ...
    async def get(
        self, path: str, *, params: Mapping[str, Any] | None = None, headers: Mapping[str, str] | None = None
    ) -> Reply: ...


class Sender(Reader, Protocol):
    """The one write of an attempt, and reads. Returns only a reply that the contract calls applied."""

    async def post(
        self,
        path: str,
        *,
        json: Any = None,
        data: Mapping[str, Any] | None = None,
        content: bytes | None = None,
        params: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply: ...
    async def put(
        self,
        path: str,
        *,
        json: Any = None,
        data: Mapping[str, Any] | None = None,
        content: bytes | None = None,
        params: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply: ...
    async def patch(
        self,
        path: str,
        *,
        json: Any = None,
        data: Mapping[str, Any] | None = None,
        content: bytes | None = None,
        params: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply: ...
    async def delete(
        self, path: str, *, params: Mapping[str, Any] | None = None, headers: Mapping[str, str] | None = None
    ) -> Reply: ...


class Sending(Protocol):
    """A send through a vendor's SDK: our key in, the answer told with `reply`."""

    key: str | None

    def reply(self, status: int, body: Any = None, headers: Mapping[str, str] | None = None) -> None: ...


class Call(Protocol):
    """First argument of an operation: one attempt, one write."""

    operation_id: str
    key: str | None
    attempt: int

    @property
    def http(self) -> Sender:
        """Sends the one write of this attempt, with key and credential; and reads."""
        ...

    def sending(self, *, answered: Callable[[Exception], Told | None] | None = None) -> AbstractContextManager[Sending]:
        """A send through a vendor's SDK: `with call.sending() as s: SDK(key=s.key)`, then `s.reply(status, body)`.

        `answered`: the status, body and headers that an exception of the SDK carries; None where it carries no answer. What
        they mean is said by the contract. Without an answer the attempt is in doubt.
        """
        ...


class Ask(Protocol):
    """First argument of a lookup. `first_sent_at`: before the first attempt, whatever the operation did is later."""

    operation_id: str
    key: str | None
    first_sent_at: datetime

    @property
    def http(self) -> Reader:
        """Reads at the receiver. A network failure, or a status from 500 on, counts as unreachable."""
        ...
