"""A view of the inbox: the filters that stand in its address, and the addresses that somebody kept under a name."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import parse_qsl, urlencode

from fastapi import Request

from counterfoil.console.cookies import kept_json, kept_text
from counterfoil.model.inbox import InboxFilter

COOKIE = "counterfoil-views"
MOST_KEPT = 8
LONGEST_NAME = 40
LONGEST_QUERY = 300
NAMES = ("reason", "owner", "workflow", "receiver", "mine", "text", "snoozed")


@dataclass(frozen=True, slots=True)
class View:
    """What is set in the address, by name; empty texts are not set."""

    given: dict[str, str]

    @staticmethod
    def of(request: Request) -> "View":
        """From the query of a request."""
        return View.named(request.query_params)

    @staticmethod
    def named(values: Any) -> "View":
        """From a mapping: a query, or the fields of a form."""
        given = {name: str(values.get(name, "")).strip() for name in NAMES}
        return View({name: value for name, value in given.items() if value})

    def wanted(self, me: str) -> InboxFilter:
        """As the inbox asks for it. `mine` in an address means whoever reads it."""
        given = dict(self.given)
        mine, snoozed = given.pop("mine", None), given.pop("snoozed", None)
        return InboxFilter(**given, mine=me if mine else None, snoozed=snoozed is not None)

    def query(self, **changes: str | None) -> str:
        """As a query with its `?`, some of it changed; None takes a name out. Empty without any."""
        kept = {name: value for name, value in (self.given | changes).items() if value is not None}
        return f"?{urlencode(kept)}" if kept else ""


def kept_views(request: Request) -> list[tuple[str, str]]:
    """`(name, query)` of the views that this browser keeps."""
    found = kept_json(request, COOKIE)
    views = cast("list[Any]", found) if isinstance(found, list) else []
    return [(name[:LONGEST_NAME], filters_only(query)) for name, query in _pairs(views)][:MOST_KEPT]


def _pairs(views: list[Any]) -> Iterator[tuple[str, str]]:
    for view in views:
        match view:
            case [str(name), str(query)]:
                yield name, query
            case _:
                continue


def with_view(views: list[tuple[str, str]], name: str, query: str) -> str:
    """The cookie's value with one view more, or with another meaning for its name."""
    others = [view for view in views if view[0] != name]
    return _cookie([*others, (name[:LONGEST_NAME], filters_only(query))][-MOST_KEPT:])


def without_view(views: list[tuple[str, str]], name: str) -> str:
    """The cookie's value with one view less."""
    return _cookie([view for view in views if view[0] != name])


def _cookie(views: list[tuple[str, str]]) -> str:
    return kept_text(views)


def filters_only(query: str) -> str:
    """A query with the names of filters only: a kept view leads nowhere else."""
    return View.named(dict(parse_qsl(query.lstrip("?")[:LONGEST_QUERY]))).query()
