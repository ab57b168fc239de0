"""One call of the API: the envelope opened, errors raised as what they are."""

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any, TypeVar, cast

import httpx2
from pydantic import BaseModel

from counterfoil.client.shapes.base import Page, RefusalAnswer
from counterfoil.model.error_codes import CODES, DEFECT
from counterfoil.model.errors import CounterfoilError, Refused

S = TypeVar("S", bound=BaseModel)
I = TypeVar("I")
Values = Mapping[str, Any]
API = "/api/v1"


class Calls:
    """Given to every noun of a client."""

    def __init__(self, url: str, token: str, timeout_s: float, transport: httpx2.AsyncBaseTransport | None) -> None:
        self.url = url.rstrip("/")
        self.http = httpx2.AsyncClient(
            base_url=self.url + API, headers={"Authorization": f"Bearer {token}"}, timeout=timeout_s, transport=transport,
            follow_redirects=False,
        )  # fmt: skip

    async def read(self, path: str, model: type[S], **values: Any) -> S:
        """A GET. A value of None is left out."""
        return await self._call("GET", path, model, params=given(values))

    async def act(self, path: str, model: type[S], body: Values | None = None) -> S:
        """A POST. A value of None is left out."""
        return await self._call("POST", path, model, json=None if body is None else given(body))

    async def _call(self, method: str, path: str, model: type[S], **sent: Any) -> S:
        try:
            response = await self.http.request(method, path, **sent)
        except httpx2.TransportError as problem:
            raise no_answer(self.url, problem) from problem
        return model.model_validate(self.data_of(response.status_code, response.content))

    def data_of(self, status: int, content: bytes) -> Any:
        """What stands in the envelope. Raises what the console refused with, or no_answer for what is no envelope."""
        try:
            document: Any = json.loads(content)
        except ValueError:
            document = None
        if isinstance(document, dict) and "ok" in document:
            if cast("Values", document)["ok"] is True:
                return cast("Values", document)["data"]
            raise error_from(RefusalAnswer.model_validate(document))
        raise no_answer(self.url, f"status {status}, and it is no answer of ours")


def given(values: Values) -> dict[str, Any]:
    """Without what was not given."""
    return {name: value for name, value in values.items() if value is not None}


def part(text: str) -> str:
    """One part of a path: an id never leads elsewhere."""
    from urllib.parse import quote

    return quote(text, safe="")


def no_answer(url: str, problem: object) -> CounterfoilError:
    """Whether the console did what was asked is not known."""
    said = f"{type(problem).__name__}: {problem}" if isinstance(problem, Exception) else str(problem)
    return CounterfoilError("no_answer", url=url, problem=said)


def error_from(said: RefusalAnswer) -> CounterfoilError:
    """What the console raised, with its own words: it may be newer than this client."""
    refusal = said.error
    entry = CODES.get(refusal.code)
    kind = CounterfoilError if entry is not None and entry.exit_status == DEFECT else Refused
    error = kind("usage")
    error.code, error.details = refusal.code, dict(refusal.details)
    error.message, error.safe_next = refusal.message, refusal.safe_next
    error.exit_status = entry.exit_status if entry is not None else error.exit_status
    error.args = (refusal.message,)
    return error


async def each_of(calls: Calls, path: str, model: type[Page[I]], **values: Any) -> AsyncIterator[I]:
    """Every item of a list, part by part."""
    cursor: str | None = None
    while True:
        page = await calls.read(path, model, cursor=cursor, **values)
        for item in page.items:
            yield item
        cursor = page.next_cursor
        if cursor is None:
            return
