"""What a workflow, an operation and a lookup are given. The embedded engine implements these by replay; others may too."""

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from datetime import datetime, timedelta
from typing import Any, Literal, ParamSpec, Protocol, TypeVar, overload
from uuid import UUID

from pydantic import BaseModel

from counterfoil.engine.definitions import Operation, Workflow
from counterfoil.model.artifact import Artifact
from counterfoil.model.proposal import Proposal

T = TypeVar("T")
C = TypeVar("C")
P = TypeVar("P")
R = TypeVar("R")
I = TypeVar("I")
O = TypeVar("O")
A = ParamSpec("A")
Body = Coroutine[Any, Any, T]


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
    async def step(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any: ...
    async def decide(self, agent: Any, input: object, *, prompt_version: str) -> Any: ...
    async def revise(self, agent: Any, input: object, *, prompt_version: str, reason: str) -> Any: ...
    async def propose(
        self,
        operation: Operation[P, R],
        payload: P,
        *,
        replaces: Proposal[P, R] | None = None,
        sources: Sequence[Artifact] = (),
    ) -> Proposal[P, R]: ...
    async def perform(self, operation: Operation[P, R], payload: P | Proposal[P, R]) -> R: ...
    async def transact(self, connect: Callable[[], C], body: Callable[[C], T]) -> T: ...
    async def wait_for(self, signal: str, type: type[T], *, within: timedelta) -> T: ...
    async def sleep(self, duration: timedelta) -> None: ...
    def timeout(self, duration: timedelta) -> AbstractAsyncContextManager[None]: ...
    async def gather(self, *bodies: Body[T]) -> list[T]: ...
    def branch(self, body: Body[T]) -> Awaitable[T]: ...
    async def child(self, workflow: Workflow[I, O], input: I, *, request_id: str) -> O: ...
    async def message(self, role: Literal["user", "agent"], text: str) -> None: ...
    async def document(self, name: str, body: BaseModel | str) -> None: ...


class Reply(Protocol):
    """A reply that the contract calls applied."""

    status: int
    headers: Mapping[str, str]
    content: bytes
    text: str

    def json(self) -> Any: ...


class Reader(Protocol):
    """Reads at the receiver: with our credential, without a key."""

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

    def reply(self, status: int, body: Any = None) -> None: ...


class Call(Protocol):
    """First argument of an operation: one attempt, one write."""

    operation_id: str
    key: str | None
    attempt: int

    @property
    def http(self) -> Sender: ...

    def sending(self) -> AbstractContextManager[Sending]: ...


class Ask(Protocol):
    """First argument of a lookup."""

    operation_id: str
    key: str | None
    first_sent_at: datetime

    @property
    def http(self) -> Reader: ...
