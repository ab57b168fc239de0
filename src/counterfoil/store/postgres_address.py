"""Where a PostgreSQL ledger is: a connection URL, and the schema of it that holds the ledger."""

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from counterfoil.model.errors import Refused

PREFIXES = ("postgresql://", "postgres://")
_HIDDEN = "***"


@dataclass(frozen=True, slots=True)
class PostgresAddress:
    """`url` is what libpq is given, password included. `shown` is the whole address without it, for messages.

    `schema`: None stands for the schema that the server chooses (`public`, unless it was told otherwise).
    """

    url: str
    schema: str | None
    shown: str
    password: str | None

    @staticmethod
    def of(text: str) -> "PostgresAddress":
        """Read `postgresql://USER@HOST:PORT/DATABASE?schema=NAME`; other parameters are libpq's. Raises Refused(usage).

        An address as it is shown is one without a password: a printed command works where libpq finds it (PGPASSWORD, ~/.pgpass).
        """
        try:
            parts = urlsplit(text)
            _ = parts.hostname, parts.port if "," not in parts.netloc else None
            asked = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
        except ValueError as problem:
            raise Refused("usage", problem=f"the address of the database cannot be read: {problem}") from problem
        schemas = [value for name, value in asked if name == "schema"]
        if len(schemas) > 1 or any(re.fullmatch(r"\w{1,63}", schema) is None for schema in schemas):
            raise Refused("usage", problem="`schema` in the address takes one name of at most 63 letters, digits and _")
        others = [(name, value) for name, value in asked if name != "schema" and value != _HIDDEN]
        hidden = [(name, _HIDDEN if name in {"password", "sslpassword"} else value) for name, value in asked]
        return PostgresAddress(
            url=_joined(parts.netloc.replace(f":{_HIDDEN}@", "@"), parts.path, others),
            schema=schemas[0] if schemas else None,
            shown=_joined(_without_password(parts.netloc), parts.path, hidden),
            password=next((value for name, value in others if name == "password"), None) or _password(parts.netloc),
        )

    def in_schema(self, name: str) -> "PostgresAddress":
        """The same database, and this schema of it."""
        joint = "&" if "?" in self.url else "?"
        return PostgresAddress.of(f"{self.url}{joint}schema={name}")

    @property
    def given(self) -> str:
        """The whole address with its password, as `of` reads it."""
        joint = "&" if "?" in self.url else "?"
        return self.url if self.schema is None else f"{self.url}{joint}schema={self.schema}"

    def masked(self, text: str) -> str:
        """A text of somebody else's, without the password."""
        return text.replace(self.password, _HIDDEN) if self.password else text


def is_postgres(text: str) -> bool:
    """Whether a database is named by such an address."""
    return text.startswith(PREFIXES)


def _joined(netloc: str, path: str, asked: list[tuple[str, str]]) -> str:
    query = "&".join(f"{quote(name, safe='')}={quote(value, safe='/*')}" for name, value in asked)
    return f"postgresql://{netloc}{path}{'?' if query else ''}{query}"


def _without_password(netloc: str) -> str:
    user, at, host = netloc.rpartition("@")
    name, colon, _ = user.partition(":")
    return f"{name}{colon and ':' + _HIDDEN}{at}{host}"


def _password(netloc: str) -> str | None:
    _, colon, password = netloc.rpartition("@")[0].partition(":")
    return unquote(password) if colon and password not in ("", _HIDDEN) else None
