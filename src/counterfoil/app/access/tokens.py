"""A personal token's text, digest and scope."""

import hashlib

from counterfoil.model.access import Scope
from counterfoil.model.codec import compact, parsed

PREFIX = "cft_"  # so that a scanner of leaked secrets knows one


def digest_of_token(token: str) -> str:
    """What is stored: 256 random bits need no slow hash."""
    return hashlib.sha256(token.encode()).hexdigest()


def scope_of(text: str) -> Scope:
    """The stored JSON as a Scope."""
    given = parsed(text)
    return Scope(*(None if given[name] is None else frozenset(given[name]) for name in _PARTS))


def scope_text(scope: Scope) -> str:
    """A Scope as it is stored: sorted lists, null for any."""
    values = (scope.verbs, scope.workflows, scope.operations)
    return compact({name: None if v is None else sorted(v) for name, v in zip(_PARTS, values, strict=True)})


_PARTS = ("verbs", "workflows", "operations")
