"""What one console holds while it is served: the application, who is signed in without a secret, limits, and its closing."""

import asyncio
from dataclasses import dataclass, field

from fastapi import Request

from counterfoil.app import App
from counterfoil.console.changes import Changes
from counterfoil.console.limits import Limits


@dataclass(slots=True)
class Console:
    """`development`: on loopback a person is chosen without a secret. `person`: who that is from the start, if given.

    `closing` is set when the server drains: streams end then, so that nobody is waited for.
    """

    app: App
    limits: Limits
    changes: Changes
    development: bool = False
    person: str | None = None
    closing: asyncio.Event = field(default_factory=asyncio.Event)


def console_of(request: Request) -> Console:
    """The console that serves this request."""
    console: Console = request.app.state.console
    return console
