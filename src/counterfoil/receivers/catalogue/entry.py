"""One entry of the catalogue: a contract, and the words of the texts that it was read from."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

from counterfoil.model.contract import Contract, IdempotencyKey, Lookup, contradictions
from counterfoil.model.errors import Refused
from counterfoil.receivers.catalogue.reading import Misread, overridden, read_contract

FOLDER = Path(__file__).parent
KINDS: Mapping[str, str] = {
    "A": "stores every answer, errors too",
    "B": "stores successes only; after an error a repeat acts again",
    "C": "drives the same work to its end",
    "D": "answers with today's state",
    "E": "accepts a repeat and drops it",
    "F": "a conflict is the receipt",
    "G": "the client chooses the id",
    "H": "upsert, or create if absent",
    "I": "two steps; the first one's token identifies the second",
    "J": "takes no key",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """`kind` is a letter of KINDS. `actions`: what it covers. `plan`: the reviewed way out of a lost reply, as rulings.

    `facts`: what the texts say in words, by name; nothing of them decides. `not_verified`: facts that rest on general
    knowledge or on a second-hand reading: the contract takes them as unknown.
    """

    id: str
    name: str
    kind: str
    actions: Sequence[str]
    plan: Sequence[str]
    confidence: str
    contract: Contract
    facts: Mapping[str, str]
    not_verified: Sequence[str]


@cache
def ids() -> tuple[str, ...]:
    """Every entry's id, in order. Reads no file."""
    return tuple(sorted(file.stem for file in FOLDER.glob("*.toml")))


@cache
def entry(id: str) -> Entry:
    """Raises Refused: not_found; contract_unreadable where its file cannot be read."""
    if id not in ids():
        raise Refused("not_found", what="receiver's contract", id=id)
    file = FOLDER / f"{id}.toml"
    try:
        return read_entry(tomllib.loads(file.read_text("utf-8")))
    except (tomllib.TOMLDecodeError, Misread) as problem:
        raise Refused("contract_unreadable", name=file.name, problem=str(problem)) from problem


def entries() -> list[Entry]:
    """All of them, by id."""
    return [entry(id) for id in ids()]


def read_entry(table: Mapping[str, Any]) -> Entry:
    """An entry from a parsed file. Raises Misread."""
    known = {field.name for field in fields(Entry)}
    if unknown := sorted(table.keys() - known):
        raise Misread(f"there is nothing called {', '.join(unknown)}")
    if missing := sorted(known - table.keys() - {"facts", "not_verified"}):
        raise Misread(f"{', '.join(missing)} is missing")
    rest: dict[str, Any] = {"facts": {}, "not_verified": [], **table}
    rest["contract"] = read_contract(table["contract"])
    return Entry(**rest)


def contract(
    id: str, *, find: Callable[[Any, Any], Any] | None = None, overrides: Mapping[str, Any] | None = None
) -> Contract:
    """The contract of an entry, for `app.operation(contract=...)`.

    `find` is your lookup; without one nobody can ask, and the entry's lookup is left out. `overrides`: what your account
    knows better, by attribute: `{"key.account_retention": timedelta(hours=72)}`. Each is marked in the provenance.
    Raises Refused: not_found, contract_contradiction.
    """
    return _usable(id, entry(id).contract, find, overrides)


def contract_in(
    file: str | Path,
    *,
    find: Callable[[Any, Any], Any] | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Contract:
    """The contract of a file of your own, such as `receivers new` or a service with `counterfoil.receiving` writes.

    `find` and `overrides` as for `contract`. Raises Refused: not_found, contract_unreadable, contract_contradiction.
    """
    return _usable(str(file), read_file(file), find, overrides)


def read_file(file: str | Path) -> Contract:
    """What a file of your own says, as it is. Raises Refused: not_found, contract_unreadable."""
    try:
        return read_contract(tomllib.loads(Path(file).read_text("utf-8")))
    except FileNotFoundError as problem:
        raise Refused("not_found", what="receiver's contract", id=str(file)) from problem
    except (OSError, ValueError) as problem:
        raise Refused("contract_unreadable", name=str(file), problem=str(problem)) from problem


def _usable(
    name: str, made: Contract, find: Callable[[Any, Any], Any] | None, overrides: Mapping[str, Any] | None
) -> Contract:
    if find is not None:
        made = replace(made, lookup=Lookup(find) if made.lookup is None else replace(made.lookup, function=find))
    elif made.lookup is not None:
        made = _without_lookup(made)
    if overrides:
        made = overridden(made, overrides)
    wrong = contradictions(made)
    if wrong:
        raise Refused("contract_contradiction", name=name, problem="; ".join(wrong))
    return made


def _without_lookup(made: Contract) -> Contract:
    origin = made.provenance
    if origin is not None:
        said = {path: word for path, word in origin.confidence.items() if not path.startswith("lookup.")}
        origin = replace(origin, confidence=said)
    return replace(made, lookup=None, provenance=origin)


def unknown_fields(made: Contract) -> list[str]:
    """The attributes that nobody stands behind, such as `key.saves`: each takes its strictest reading."""
    found = [name for name in ("key", "lookup", "reference", "version", "stages", "procedure") if _unknown(made, name)]
    for holder, kind in (("key", IdempotencyKey), ("lookup", Lookup)):
        part = getattr(made, holder)
        if part is None:
            continue
        places = {"header", "query", "body", "path", "account_retention"}
        names = [field.name for field in fields(kind) if field.name not in places]
        found += [f"{holder}.{name}" for name in names if getattr(part, name) is None]
    return found


def _unknown(made: Contract, name: str) -> bool:
    return getattr(made, name) is None
