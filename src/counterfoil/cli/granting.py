"""What a person sees of roles, grants and tokens."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from counterfoil.cli.amounts import shown_amount
from counterfoil.cli.tables import fields, sentence, table

if TYPE_CHECKING:
    from rich.console import Console

Data = Mapping[str, Any]


def roles(console: "Console", data: Data) -> None:
    """Each role, then its grants."""
    rows = [
        (each["role"], ", ".join(each["people"]), _meaning(each), ", ".join(map(_line, each["grants"])) or None)
        for each in data["items"]
    ]
    table(console, ("role", "people", "means", "grants"), rows, empty="No role.")


def grant(console: "Console", data: Data) -> None:
    """One grant."""
    state = "withdrawn" if data["withdrawn_at"] else "granted"
    sentence(console, f"{data['grant_id']} {state}: {data['role']} may {_line(data)}")


def tokens(console: "Console", data: Data) -> None:
    """A list of tokens."""
    rows = [
        (t["token_id"], t["person"], t["name"], _scope(t["scope"]), t["expires_at"], t["revoked_at"])
        for t in data["items"]
    ]
    table(console, ("token", "person", "name", "scope", "expires", "revoked"), rows, empty="No token.")


def token(console: "Console", data: Data) -> None:
    """One token, without itself."""
    names = ("token_id", "person", "name", "created_at", "expires_at", "revoked_at")
    fields(console, {name: data[name] for name in names} | {"scope": _scope(data["scope"])})


def created(console: "Console", data: Data) -> None:
    """A new token: this is the one time that it is shown."""
    token(console, data)
    sentence(console, "The token, shown this once:")
    sentence(console, data["token"])


def _meaning(role: Data) -> str:
    return (
        "its grants alone"
        if role["narrowed"]
        else "built in"
        if role["built_in"]
        else "reads all, acts where it is named"
    )


def _line(grant: Data) -> str:
    parts = [grant["verb"], *(f"{name} {grant[name]}" for name in ("kind", "workflow", "operation") if grant[name])]
    if grant["up_to"]:
        parts.append(f"up to {shown_amount(grant['up_to'])}")
    return " ".join(parts)


def _scope(scope: Data) -> str:
    return "; ".join(f"{name} {', '.join(given)}" for name, given in scope.items() if given is not None) or "any"
