"""From a template and what it shows to an answer: the frame's own facts, filters, addresses, and what was just said."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any, Literal
from urllib.parse import urlencode

from fastapi import Request
from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from starlette.responses import HTMLResponse, RedirectResponse

from counterfoil.console.addresses import address, route_path, safe_next
from counterfoil.console.cookies import kept_json, kept_text
from counterfoil.console.pages import words
from counterfoil.console.pages.charts import figure, measured
from counterfoil.console.pages.navigation import NAVIGATION
from counterfoil.console.state import console_of
from counterfoil.engine.definitions import Registry
from counterfoil.model.moments import rfc3339

THEME, SAID = "counterfoil-theme", "counterfoil-said"
THEMES = ("auto", "light", "dark")
# What a template may set and need not.
UNSAID: dict[str, Any] = {"active": None, "live": None, "page_width": "wide", "found_text": ""}


@dataclass(frozen=True, slots=True)
class Said:
    """What the last act did, shown once. `tone`: good, bad or calm."""

    text: str
    tone: str


@dataclass(frozen=True, slots=True)
class Chrome:
    """What the frame shows of every page. `me` is `desk.me()`, None for who is not signed in."""

    me: Mapping[str, Any] | None
    environment: Literal["test", "live"]
    environment_sentence: str
    installation: str
    development: bool
    stops: tuple[Mapping[str, Any], ...]
    restore_open: bool
    inbox_count: int | None
    theme: str
    said: Said | None
    here: str
    now: str


def page(
    request: Request, template: str, *, desk: Any = None, status: int = 200, waiting: int | None = None, **shown: Any
) -> HTMLResponse:
    """An HTML page in the frame. `desk`: that of the signed-in person, None where nobody is.

    `waiting`: how much needs a person, where the page has counted that already.
    """
    chrome = _chrome(request, desk, waiting)
    frame = {"c": chrome, "navigation": NAVIGATION, "root": str(request.scope.get("root_path", ""))}
    text = _templates().get_template(template).render(UNSAID | frame | shown)
    response = HTMLResponse(text, status)
    if chrome.said is not None:
        response.delete_cookie(SAID, path=address(request, "/"), httponly=True, samesite="lax")
    return response


def done(request: Request, where: str, text: str, tone: str = "good") -> RedirectResponse:
    """After an act: back to a page of this console, which says once what was done. Never a secret or a payload."""
    response = RedirectResponse(safe_next(request, where), 303)
    said = kept_text([text[:600], tone])
    response.set_cookie(
        SAID, said, max_age=60, path=address(request, "/"), httponly=True, samesite="lax",
        secure=request.url.scheme == "https",
    )  # fmt: skip
    return response


def here(request: Request) -> str:
    """The address of this page, as a form gives it back."""
    return request.scope["path"] + (f"?{request.url.query}" if request.url.query else "")


def with_query(request: Request, **changes: Any) -> str:
    """This page's address with some of its query changed; None takes a name out."""
    query = {name: value for name, value in request.query_params.items() if value}
    query |= {name: str(value) for name, value in changes.items() if value is not None}
    for name in [name for name, value in changes.items() if value is None]:
        query.pop(name, None)
    return request.scope["path"] + (f"?{urlencode(query)}" if query else "")


def pages_of(request: Request, listed: Mapping[str, Any]) -> dict[str, str | None]:
    """`{next_address, first_address}` for the pager under a list that is read by cursor."""
    more = listed["next_cursor"]
    return {
        "next_address": None if more is None else with_query(request, cursor=more),
        "first_address": with_query(request, cursor=None) if request.query_params.get("cursor") else None,
    }


def _chrome(request: Request, desk: Any, waiting: int | None) -> Chrome:
    console = console_of(request)
    opened = console.app.open()
    stopped = None if desk is None else desk.writes.status()
    live = any(receiver.environment == "live" for receiver in opened.registry.receivers.values())
    theme = request.cookies.get(THEME, "auto")
    return Chrome(
        me=None if desk is None else desk.me(),
        environment="live" if live else "test",
        environment_sentence=_environment_sentence(opened.registry, live, named=desk is not None and desk.sight.sees_installation()),
        installation=console.app.name,
        development=console.development,
        stops=() if stopped is None else tuple(s for s in stopped["items"] if s["lifted_at"] is None),
        restore_open=stopped is not None and stopped["restore"] == "open",
        inbox_count=None if desk is None else desk.inbox.counts()["total"] if waiting is None else waiting,
        theme=theme if theme in THEMES else "auto",
        said=_said(request),
        here=here(request),
        now=str(rfc3339(opened.clock.now_us())),
    )  # fmt: skip


def _environment_sentence(registry: Registry, live: bool, *, named: bool) -> str:
    """Which receivers there are is told to who sees them."""
    kind = "live" if live else "test"
    names = ", ".join(name for name, receiver in registry.receivers.items() if receiver.environment == kind)
    said = "Real receivers" if live else "Test receivers only"
    return f"{said}: {names or 'none'}." if named else f"{said}."


def _said(request: Request) -> Said | None:
    if request.headers.get("HX-Request"):  # a part that refreshes itself must not take the message away
        return None
    match kept_json(request, SAID):
        case [str(text), str(tone)]:
            return Said(text, tone if tone in ("good", "bad", "calm") else "calm")
        case _:
            return None


@cache
def _templates() -> Environment:
    found: Any = Environment(
        loader=PackageLoader("counterfoil.console"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, auto_reload=False,
    )  # fmt: skip
    found.filters.update(
        words=words.words, utc=words.utc, short=words.short, money=words.money, lasting=words.lasting,
        percent=words.percent, scope=words.scope, ago=_at_now(words.ago), until=_at_now(words.until),
        past=_at_now(words.past), reason=words.reason, park_sentence=words.park_sentence, option=words.option,
        plainly=words.plainly, metric=words.metric, figure=figure, measured=measured, budget=words.budget,
        marked=words.marked, shortened=words.shortened, in_order=words.in_order,
    )  # fmt: skip
    found.globals.update(to=_to, static=_static)
    return found


def _at_now(shown: Any) -> Any:
    """A filter that counts from the time at which the page is shown."""

    @pass_context
    def filtered(context: Context, when: str) -> Any:
        return shown(when, context["c"].now)

    return filtered


@pass_context
def _to(context: Context, path: str) -> str:
    """A path of this console as a link, wherever the console is mounted."""
    return f"{context['root']}{path}"


@pass_context
def _static(context: Context, name: str) -> str:
    """A static file's address, with the start of its digest: it may be cached for ever."""
    return f"{context['root']}/static/{name}?v={_version(name)}"


@cache
def _version(name: str) -> str:
    return sha256(files("counterfoil.console").joinpath("static", *name.split("/")).read_bytes()).hexdigest()[:12]


def shows_static(request: Request) -> bool:
    """Whether a request is for a static file."""
    return route_path(request.scope).startswith("/static/")
