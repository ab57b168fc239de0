"""From an error to an HTTP answer: one table of statuses, one document, and a page where a person looks."""

from collections.abc import Callable
from contextlib import suppress
from html import escape
from typing import Any, cast

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, RedirectResponse, Response

from counterfoil.console.addresses import is_api, logged_path, sign_in_address
from counterfoil.console.envelope import refusal, respond
from counterfoil.console.signed_in import desk
from counterfoil.engine.problem_log import log
from counterfoil.model.error_codes import CODES, DEFECT, MISSING, REFUSED, UNKNOWN, USAGE
from counterfoil.model.errors import CounterfoilError, Refused

# A code without a line of its own has the status of its exit status.
BY_EXIT = {USAGE: 400, REFUSED: 409, UNKNOWN: 404, MISSING: 501, DEFECT: 500, 1: 409, 5: 409}
STATUSES = {
    "invalid_payload": 422,
    "not_signed_in": 401,
    "token_invalid": 401,
    "session_over": 401,
    "sign_in_refused": 401,
    "wrong_secret": 403,
    "webhook_refused": 403,
    "foreign_request": 403,
    "not_permitted": 403,
    "role_missing": 403,
    "person_revoked": 403,
    "own_action": 403,
    "link_not_yours": 403,
    "method_unknown": 405,
    "too_slow": 408,
    "too_large": 413,
    "disk_full": 507,
    "too_many": 429,
    "storage_failed": 503,
    "database_busy": 503,
    "server_lost": 503,
    "read_only": 503,
}
SIGNS_IN = frozenset({"not_signed_in", "token_invalid", "session_over"})

_UNREAD = frozenset({"too_large", "too_slow"})  # what is still to come of the body is not waited for

Page = Callable[[Request, CounterfoilError, int], Response]
"""How a refusal looks to a person: set as `app.state.error_page` by the pages."""


def status_of(error: CounterfoilError) -> int:
    """The HTTP status of an error."""
    entry = CODES.get(error.code)
    return STATUSES.get(error.code) or BY_EXIT.get(entry.exit_status if entry else error.exit_status, 500)


async def refused(request: Request, error: CounterfoilError) -> Response:
    """The answer to a refusal: JSON below /api, else a page; who is not signed in is led to where that is done."""
    status = status_of(error)
    if not is_api(request.scope) and not hasattr(request.state, "desk"):
        with suppress(Exception):  # the page of a refusal must not fail on what was refused
            await desk(request)
    response = _said(request, error, status)
    if error.code == "too_many":
        response.headers["Retry-After"] = str(error.details.get("seconds", 1))
    if error.code in _UNREAD:
        response.headers["Connection"] = "close"
    if status == 401 and is_api(request.scope):
        response.headers["WWW-Authenticate"] = 'Bearer realm="counterfoil"'
    return response


def _said(request: Request, error: CounterfoilError, status: int) -> Response:
    if is_api(request.scope):
        return respond(refusal(error), status)
    if error.code in SIGNS_IN:
        where = sign_in_address(request)
        if request.headers.get("HX-Request"):  # htmx follows a redirect without showing it
            return Response(status_code=401, headers={"HX-Redirect": where})
        if request.method in ("GET", "HEAD"):
            return RedirectResponse(where, 303)
    page = cast("Page | None", getattr(request.app.state, "error_page", None)) if "app" in request.scope else None
    if page is not None:
        with suppress(Exception):  # what failed may be what every page needs: the database
            return page(request, error, status)
    return HTMLResponse(
        f"<!doctype html><title>Counterfoil</title><h1>{escape(error.message)}</h1><p>{escape(error.safe_next)}", status
    )


def add_to(app: FastAPI) -> None:
    """Every error leaves through here."""
    app.add_exception_handler(CounterfoilError, _on_error)
    app.add_exception_handler(RequestValidationError, _on_invalid)
    app.add_exception_handler(HTTPException, _on_http)


async def _on_error(request: Request, error: Exception) -> Response:
    return await refused(request, cast("CounterfoilError", error))


async def _on_invalid(request: Request, error: Exception) -> Response:
    found = cast("list[dict[str, Any]]", cast("RequestValidationError", error).errors())
    first = found[0] if found else {}
    if first.get("type") == "json_invalid":
        return await refused(
            request, Refused("malformed_json", problem=str(first.get("ctx", {}).get("error", "it ends early")))
        )
    # The value itself is not said: it may be a secret.
    where = ".".join(str(part) for part in first.get("loc", ()))
    problems = [{"where": ".".join(str(p) for p in e["loc"]), "problem": e["msg"]} for e in found[:20]]
    said = Refused("invalid_payload", where=where, problem=first.get("msg", "it does not fit"))
    said.details["problems"] = problems
    return await refused(request, said)


async def _on_http(request: Request, error: Exception) -> Response:
    problem = cast("HTTPException", error)
    cause = problem.__cause__  # what reading the body failed of
    if isinstance(cause, CounterfoilError):
        return await refused(request, cause)
    if isinstance(cause, RecursionError):
        return await refused(request, Refused("malformed_json", problem="it is nested too deeply"))
    if problem.status_code == 405:
        response = await refused(request, Refused("method_unknown", method=request.method))
        response.headers.update(problem.headers or {})
        return response
    if problem.status_code == 404:
        return await refused(request, Refused("not_found", what="address", id=request.url.path))
    return await refused(request, Refused("usage", problem=str(problem.detail)))


async def defect(request: Request, error: Exception) -> Response:
    """The answer to an error of our own. What it says may hold anything, so only its type is told."""
    log.error("%s %s met a defect of ours", request.method, logged_path(request.scope), exc_info=error)
    return await refused(request, CounterfoilError("defect", problem=type(error).__name__))
