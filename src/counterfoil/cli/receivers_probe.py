"""`counterfoil receivers probe`: what a receiver in test mode really does, beside what its contract says."""

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from counterfoil.cli.command import Answer, Group
from counterfoil.cli.invocation import Invocation
from counterfoil.cli.receivers import FOUND, OWN, overrides_of
from counterfoil.cli.tables import fields, heading, sentence
from counterfoil.model.errors import Refused

if TYPE_CHECKING:
    from rich.console import Console

PROBED = (
    "{observed:{same_key, marked, other_body, concurrent, after_wait, visible_after_seconds}, declared, "
    "differences:[{attribute, declared, observed, sentence}], records}"
)


def probed(console: "Console", data: Any) -> None:
    """Where the contract is wrong, and what was seen."""
    for each in data["differences"]:
        sentence(console, f"- {each['attribute']} says {each['declared']}. {each['sentence']}")
    if not data["differences"]:
        sentence(console, "Nothing that was seen contradicts the contract.")
    heading(console, "what was seen")
    fields(console, data["observed"])
    sentence(console, f"{data['records']} records were made")


def probe(  # noqa: PLR0913 - each is an option
    invocation: Invocation,
    url: Annotated[str, typer.Argument(metavar="URL", help="The receiver's address.")],
    entry: Annotated[
        str, typer.Option("--entry", metavar="ENTRY", help="The contract that it should keep: an entry, or FILE.toml.")
    ],
    path: Annotated[str, typer.Option(help="Where a record is made, by POST.")] = "/",
    marker: Annotated[
        str | None,
        typer.Option("--test-mode", metavar="NAME=VALUE", help="A header that it answers in test mode only."),
    ] = None,
    confirm: Annotated[
        str | None, typer.Option(metavar="HOST", help="The host of URL again: records will be made there.")
    ] = None,
    body: Annotated[
        str | None, typer.Option(metavar="FILE", help="JSON: what is written; else a small object.")
    ] = None,
    field: Annotated[str, typer.Option(help="The field of it that is changed for other parameters.")] = "note",
    reference: Annotated[str, typer.Option(metavar="PATH", help="Where an answer shows the record's id.")] = "id",
    lookup: Annotated[
        str | None, typer.Option(metavar="PATH", help="A GET with {reference} where our id goes, or {key}.")
    ] = None,
    wait: Annotated[float, typer.Option(min=0, max=600, help="Seconds before the key is tried once more.")] = 2.0,
    overrides: Annotated[str | None, typer.Option(metavar="FILE", help="As for `receivers check`.")] = None,
    token: Annotated[
        str | None, typer.Option("--token-env", metavar="NAME", help="The variable that holds a bearer token.")
    ] = None,
) -> Any:
    """Write the same key twice, with other parameters, at once and later, in a receiver of yours; status 1 where it differs.

    It makes records. It wants the host confirmed, and a header by which the receiver itself says that it is in test mode.
    """
    import asyncio

    from counterfoil.cli.documents import read_json
    from counterfoil.engine.clock import Chance
    from counterfoil.receivers.probe import Plan
    from counterfoil.receivers.probe import probe as ask

    del invocation
    name, _, value = (marker or "").partition("=")
    if not name or not value:
        raise Refused("usage", problem="--test-mode names a header and its value: NAME=VALUE")
    _confirmed(url, confirm)
    content = {"note": "probe"} if body is None else read_json(body, what="the body")
    if not isinstance(content, dict):
        raise Refused("usage", problem="--body is not a JSON object")
    chance = Chance()
    plan = Plan(
        url=url, path=path, body=cast("dict[str, Any]", content), changes=field, marker=(name, value), reference=reference,
        lookup=lookup, wait=timedelta(seconds=wait), headers=_credential(token),
        chance=lambda: chance.hex(128), pause=_pause,
    )  # fmt: skip
    found = asyncio.run(ask(_contract(entry, overrides), plan))
    return Answer(found, FOUND if found["differences"] else 0)


async def _pause(seconds: float) -> None:
    import asyncio

    from counterfoil.engine.clock import SystemClock

    clock = SystemClock()
    await clock.wait(asyncio.Event(), clock.now_us() + round(seconds * 1_000_000))


def _confirmed(url: str, confirm: str | None) -> None:
    from urllib.parse import urlsplit

    try:
        host = urlsplit(url).hostname if urlsplit(url).scheme in ("http", "https") else None
    except ValueError:
        host = None
    if not host:
        raise Refused("usage", problem=f"{url!r} is not the address of a receiver")
    if confirm != host:
        raise Refused("probe_not_confirmed", url=url, host=host)


def _credential(token: str | None) -> dict[str, str]:
    from counterfoil.settings import environment

    if token is None:
        return {}
    held = environment().get(token)
    if not held:
        raise Refused("setting_missing", name=token)
    return {"Authorization": f"Bearer {held}"}


def _contract(entry: str, file: str | None) -> Any:
    from counterfoil.receivers.catalogue.entry import entry as read
    from counterfoil.receivers.catalogue.entry import read_file
    from counterfoil.receivers.catalogue.reading import Misread, overridden

    found = read_file(entry) if entry.endswith(OWN) else read(entry).contract
    changes = overrides_of(file)
    try:
        return overridden(found, changes) if changes else found
    except (Misread, TypeError, ValueError) as problem:
        raise Refused("usage", problem=str(problem)) from problem


def add_to(group: Group) -> None:
    """Register the command."""
    group.command("probe", data=PROBED, shows=probed, also=(FOUND,))(probe)
