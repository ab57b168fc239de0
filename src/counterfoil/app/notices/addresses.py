"""Where notices go: addresses by name of a person or role, and webhooks. Read from the environment, never stored."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from counterfoil.engine.definitions import Env
from counterfoil.model.errors import Refused

EVERYBODY = "*"
"""Told of everything, whoever owns it."""


@dataclass(frozen=True, slots=True)
class WebhookAddress:
    """Another system. `secret` is a Standard Webhooks secret (`whsec_` and base64): https://www.standardwebhooks.com."""

    name: str
    url: str | Env
    secret: Env


@dataclass(slots=True)
class Addresses:
    """What the application's code names. Apprise URLs: https://github.com/caronc/apprise."""

    people: dict[str, tuple[str | Env, ...]] = field(default_factory=lambda: {})
    webhooks: dict[str, WebhookAddress] = field(default_factory=lambda: {})

    @property
    def empty(self) -> bool:
        return not self.people and not self.webhooks

    def reached(self, names: Iterable[str | None]) -> list[str]:
        """The names among these that have an address, each once, and whoever is told of everything."""
        return list(dict.fromkeys(name for name in (*names, EVERYBODY) if name in self.people))


def value_of(where: str | Env, environ: Mapping[str, str]) -> str:
    """The address or secret itself. Raises Refused(setting_missing) naming the variable."""
    if isinstance(where, str):
        return where
    value = environ.get(where.name) or where.default
    if not value:
        raise Refused("setting_missing", name=where.name)
    return value
