"""A request as it counts: under whose name, under which key, and with which parameters."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl

import rfc8785

from counterfoil.receiving.promise import Promise


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request. `scope`: whose keys these are (a tenant, an account, a credential): only its digest is ever stored.

    `keys`: every value of the key's header, as they came. Headers do not count as parameters, nor does their order.
    """

    method: str
    path: str
    query: str
    body: bytes
    keys: Sequence[str]
    scope: str

    def unfit(self, promise: Promise) -> str | None:
        """Why the key is none, as a sentence; None: it is one."""
        if len(self.keys) != 1:
            return f"{promise.header} is {'missing' if not self.keys else 'given more than once'}."
        return unfit(self.keys[0], promise)

    def digest(self, promise: Promise) -> str:
        """Over scope, key, method, path, query and body: it says the same about no other key, so nobody can compare rows."""
        query = sorted(parse_qsl(self.query, keep_blank_values=True))
        kind, body = _counted(self.body, promise)
        parts = [scope_of(self.scope), self.keys[0], self.method.upper(), self.path, json.dumps(query), kind]
        return _hashed([*(part.encode() for part in parts), body])


def unfit(key: str, promise: Promise) -> str | None:
    """Why a text cannot be a key: its length, or characters that are not visible ASCII."""
    if not 1 <= len(key) <= promise.longest_key:
        return f"{promise.header} has {len(key)} characters; 1 to {promise.longest_key} are taken."
    if not all("!" <= letter <= "~" for letter in key):
        return f"{promise.header} holds a character that is not visible ASCII."
    return None


def scope_of(scope: str) -> str:
    """What is stored of a scope. A credential that was given for one is not in the database."""
    return _hashed([b"scope", scope.encode("utf-8", "surrogatepass")])


def number_of(scope: str, key: str) -> int:
    """64 bits for a database's lock. Two keys that share them wait for one another, and nothing worse."""
    return int.from_bytes(bytes.fromhex(_hashed([b"lock", scope.encode(), key.encode()]))[:8], "big", signed=True)


def _counted(body: bytes, promise: Promise) -> tuple[str, bytes]:
    if promise.counts == "json":
        try:
            return "json", rfc8785.dumps(json.loads(body))
        except (ValueError, RecursionError):
            pass  # no JSON, or a number that JSON does not carry exactly: then its bytes count
    return "bytes", body


def _hashed(parts: Sequence[bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()
