"""FastAPI: a dependency that answers a request once, the lookups by key, and the word of a service in test mode."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Query, Request, Response
from fastapi.responses import PlainTextResponse
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from counterfoil.receiving.answer import Answer
from counterfoil.receiving.asked import Asked, unfit
from counterfoil.receiving.contract import contract_text
from counterfoil.receiving.keeping import Act, Receiving
from counterfoil.receiving.sighting import Sighting

Message = MutableMapping[str, Any]
Scope = Callable[..., Any]  # a dependency of yours that gives a str: whose keys these are


class Once:
    """One request under its key. Call it with what is to be done; an `HTTPException` below 500 is kept as an answer.

    It blocks until it is committed: call it from a `def` endpoint, or through `run_in_threadpool`.
    """

    def __init__(self, receiving: Receiving, asked: Asked) -> None:
        self.asked = asked
        self._receiving = receiving

    def __call__(self, act: Act) -> Response:
        """The response, also where it is a repeat, a conflict or an error: return it."""

        def acted(session: Session) -> Answer:
            try:
                return act(session)
            except HTTPException as refusal:
                return Answer.json(refusal.status_code, {"detail": refusal.detail})

        answer = self._receiving.once(self.asked, acted)
        return Response(answer.body, answer.status, headers=dict(answer.headers))


def keyed(receiving: Receiving, scope: Scope) -> Callable[..., Awaitable[Once]]:
    """For `Depends`: gives the endpoint a `Once`. `scope` is your dependency that knows the caller and gives a text."""

    async def once(request: Request, whose: Annotated[str, Depends(scope)]) -> Once:
        asked = Asked(
            method=request.method,
            path=request.scope["path"],
            query=request.url.query,
            body=await request.body(),
            keys=request.headers.getlist(receiving.promise.header),
            scope=whose,
        )
        return Once(receiving, asked)

    return once


def lookups(receiving: Receiving, scope: Scope, *, date: str | None = None) -> APIRouter:
    """GET shows a key, PUT refuses it for good, GET .../contract is the contract's file. 200 in every state of a key.

    A 404 would be said by a wrong address as well, and must never pass for absence.
    """
    router, promise = APIRouter(), receiving.promise

    def shown(key: str, find: Callable[[str, str], Sighting], whose: str) -> dict[str, Any]:
        problem = unfit(key, promise)
        if problem is not None:
            raise HTTPException(400, problem)
        try:
            return find(whose, key).content()
        except DBAPIError as busy:
            # It says nothing about the key. A PUT whose COMMIT was not answered is asked again.
            raise HTTPException(503, "The database could not say it now.", {"Retry-After": "1"}) from busy

    @router.get(promise.lookups)
    def look(key: Annotated[str, Query()], whose: Annotated[str, Depends(scope)]) -> dict[str, Any]:
        return shown(key, receiving.look, whose)

    @router.put(promise.lookups)
    def refuse(key: Annotated[str, Query()], whose: Annotated[str, Depends(scope)]) -> dict[str, Any]:
        return shown(key, receiving.refuse, whose)

    @router.get(f"{promise.lookups}/contract", response_class=PlainTextResponse)
    def contract() -> str:
        return contract_text(promise, date=date)

    del look, refuse, contract  # the router holds them
    return router


class InTestMode:
    """ASGI middleware for a service in test mode: every answer says so by a header, which a probe asks for before it writes."""

    def __init__(self, app: Any, header: str = "Receiving-Mode", value: str = "test") -> None:
        self._app = app
        self._line = (header.lower().encode(), value.encode())

    async def __call__(self, scope: Message, receive: Callable[..., Any], send: Callable[..., Any]) -> None:
        """One request."""

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), self._line]
            await send(message)

        await self._app(scope, receive, marked)
