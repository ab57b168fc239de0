"""Kinds of credentials beside `Bearer`: what goes out as a header, and what a connector or a vendor's SDK is given."""

import base64
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from counterfoil.engine.definitions import Credential, Env, Held, Reference, Resolve

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Basic:
    """A name and a password by reference: sent as `Authorization: Basic ...`, or as a login where it is no HTTP."""

    user: str | Reference
    password: Reference

    @property
    def blocks(self) -> bool:
        """Whether reading it may take its time."""
        return not isinstance(self.password, Env) or not isinstance(self.user, str | Env)

    def held(self, read: Resolve) -> Held:
        """As it is now. Raises Refused(setting_missing, credential_missing)."""
        user, password = self.user if isinstance(self.user, str) else read(self.user), read(self.password)
        coded = base64.b64encode(f"{user}:{password}".encode()).decode()
        values = {"user": user, "password": password}
        return Held({"Authorization": f"Basic {coded}"}, values, f"{user}\x1f{password}", (password,))


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key by reference, sent in a header of its own: `ApiKey("X-Api-Key", Env("DESK_KEY"))`."""

    header: str
    key: Reference

    @property
    def blocks(self) -> bool:
        """Whether reading it may take its time."""
        return not isinstance(self.key, Env)

    def held(self, read: Resolve) -> Held:
        """As it is now. Raises Refused(setting_missing, credential_missing)."""
        key = read(self.key)
        return Held({self.header: key}, {"key": key}, f"{self.header}\x1f{key}", (key,))


@dataclass(frozen=True, slots=True, init=False)
class Named:
    """Several values by reference, which a connector or an SDK takes by their names; none is sent as a header.

    `Named(access_key_id=Env("AWS_ACCESS_KEY_ID"), secret_access_key=SecretFile("/run/secrets/aws"))`
    """

    parts: tuple[tuple[str, Reference], ...]

    def __init__(self, **parts: Reference) -> None:
        object.__setattr__(self, "parts", tuple(sorted(parts.items())))

    @property
    def blocks(self) -> bool:
        """Whether reading it may take its time."""
        return not all(isinstance(part, Env) for _, part in self.parts)

    def held(self, read: Resolve) -> Held:
        """As it is now. Raises Refused(setting_missing, credential_missing)."""
        values = {name: read(part) for name, part in self.parts}
        identity = "\x1f".join(f"{name}\x1e{value}" for name, value in values.items())
        return Held({}, values, identity, tuple(values.values()))


def acts_as(credential: Credential) -> Callable[[F], F]:
    """Say as whom an operation's function acts where its receiver names no credential: what its SDK finds by itself."""

    def mark(function: F) -> F:
        function.__counterfoil_credential__ = credential  # type: ignore[attr-defined]
        return function

    return mark


def found_by(function: Callable[..., Any]) -> Credential | None:
    """The credential that a function's SDK finds by itself; None where it uses none, or only what the receiver names."""
    found: Credential | None = getattr(function, "__counterfoil_credential__", None)
    return found
