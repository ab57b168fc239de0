"""The lines of a conversation's file, and what must be true inside of them: whatever is read later is looked at here."""

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from counterfoil.engine.conversations import LONGEST_NAME, check_settings
from counterfoil.model.codec import digest_of
from counterfoil.model.conversation import TurnKind
from counterfoil.model.journal import EntryKind
from counterfoil.model.run import RunState
from counterfoil.store.artifacts import kept_as

SAID = frozenset({EntryKind.ASKED, EntryKind.DECISION, EntryKind.LOST, EntryKind.RECEIVED, EntryKind.MESSAGE})
"""The entries of a turn that are what was said: of them its messages are a fold."""

LONGEST_REQUEST_ID = 500
_ASK, _COMPACT, _DECIDE = (
    "ask ",
    "compact ",
    "decide ",
)  # how the names of questions begin: of a turn, and of a workflow

At = Annotated[int, Field(ge=0, le=253_402_300_799_000_000)]  # microseconds; the last year of the calendar
Count = Annotated[int, Field(ge=0, lt=1 << 53)]
Number = Annotated[int, Field(ge=1, lt=1 << 31)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_NAME)]
Place = Annotated[str, StringConstraints(pattern=r"^[0-9A-Za-z_.\- ]+$", max_length=200)]


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class First(_Line):
    type: str
    format: int
    name: str
    agent: Name
    settings: dict[str, Any]


class TurnLine(_Line):
    type: str
    n: int
    kind: str
    agent: Name
    version: Number
    request_id: Annotated[str, StringConstraints(min_length=1, max_length=2 * LONGEST_REQUEST_ID)]
    text: str
    state: str
    result: Any
    at: At
    note: str | None = None
    closing: list[dict[str, Any]] | None = None  # what the history says behind its last answer


class EntryLine(_Line):
    type: str
    n: int
    kind: str
    place: Place | None
    name: Name | None
    at: At
    data: dict[str, Any]
    text: str | None


class DocumentLine(_Line):
    type: str
    n: int
    name: Name
    version: int
    at: At
    body: str


class ArtifactLine(_Line):
    type: str
    digest: str
    name: Name
    content: str


class Last(_Line):
    type: str
    lines: int
    digest: str


class _Data(BaseModel):
    """What is read later of an entry's data; what else stands in it is told as it is."""

    model_config = ConfigDict(extra="allow", strict=True)


class _Question(_Data):
    agent: Name | None = None
    model: str | None = None
    prompt_version: str | None = None
    policy_version: str | None = None
    n: Count = 1
    lost: bool = False


class _AskedInTurn(_Question):
    keep: Count
    add: list[dict[str, Any]]
    head: str
    params: dict[str, Any]


class _AskedToCompact(_Question):
    messages: Count
    head: str


class _AskedByWorkflow(_Question):
    input: Any


class _Usage(_Data):
    requests: Count = 0
    input_tokens: Count = 0
    output_tokens: Count = 0


class _Decision(_Question):
    output: Any
    usage: _Usage
    cost_micros: Count | None = None
    spent_elsewhere_micros: Count | None = None


class _Summary(_Data):
    summary: str
    kept: list[dict[str, Any]]


class _Message(_Data):
    role: Literal["user", "agent"] = "user"


Artifacts = Mapping[str, str]
"""The artifacts of a file, by digest: what an entry names it must hold."""


def line_of(text: bytes) -> Any:
    """One line as JSON. Raises ValueError for what no record can hold: a number that is none, half a character."""
    line = json.loads(text, parse_constant=_no_number)
    json.dumps(line, ensure_ascii=False).encode()
    return line


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number")


def turn_of(line: Any, n: int) -> TurnLine:
    """Raises ValueError."""
    turn = TurnLine.model_validate(line)
    if turn.kind not in set(TurnKind):
        raise ValueError(f"a turn of kind {turn.kind!r} is unknown")
    if turn.n != n:
        raise ValueError(f"turn {n} is missing")
    if not RunState(turn.state).ended:
        raise ValueError("the turn has not ended")
    check_messages(turn.closing or [], "request")
    return turn


def entry_of(line: Any, n: int, artifacts: Artifacts) -> EntryLine:
    """An entry of turn `n`, whose inside can be read. Raises ValueError."""
    entry = EntryLine.model_validate(line)
    if entry.n != n or EntryKind(entry.kind) not in SAID:
        raise ValueError(f"turn {entry.n} has no entry {entry.kind} here")
    whole = {name: _whole(value, artifacts) for name, value in entry.data.items()}
    name, kind = entry.name or "", EntryKind(entry.kind)
    if kind in (EntryKind.ASKED, EntryKind.DECISION) and entry.place is None:
        raise ValueError("it has no place")
    if kind is EntryKind.ASKED:
        _question(name).model_validate(whole)
        if name.startswith(_ASK):
            check_messages(whole["add"])
    elif kind is EntryKind.DECISION:
        output = _Decision.model_validate(whole).output
        if name.startswith(_ASK):
            check_messages([output], "response")
        elif name.startswith(_COMPACT):
            _Summary.model_validate(output)
    elif kind is EntryKind.MESSAGE:
        _Message.model_validate(whole)
    return entry


def document_of(line: Any, n: int, versions: int) -> DocumentLine:
    """The next version of a document of which there are so many. Raises ValueError."""
    document = DocumentLine.model_validate(line)
    if document.n != n or document.version != versions + 1:
        raise ValueError(f"turn {document.n} has no version {document.version} of {document.name} here")
    json.loads(document.body, parse_constant=_no_number)
    return document


def artifact_of(line: Any) -> ArtifactLine:
    """Raises ValueError."""
    artifact = ArtifactLine.model_validate(line)
    if digest_of(artifact.content.encode()) != artifact.digest:
        raise ValueError("its content does not fit its digest")
    return artifact


def first_of(line: Any, form: int) -> First:
    """What the file is, in this format. Raises ValueError; Refused(bad_setting)."""
    first = First.model_validate(line)
    if first.type != "conversation" or first.format != form:
        raise ValueError(f"it is no conversation of format {form}")
    check_settings(first.settings)
    return first


def _question(name: str) -> type[_Question]:
    if name.startswith(_ASK):
        return _AskedInTurn
    if name.startswith(_COMPACT):
        return _AskedToCompact
    if name.startswith(_DECIDE):
        return _AskedByWorkflow
    raise ValueError(f"a question named {name!r} is unknown")


def check_messages(messages: list[Any], kind: str | None = None) -> None:
    """Messages of a model, of this kind. Raises ValueError."""
    from counterfoil.agents.messages import messages_of, said

    for message in messages:
        if not isinstance(message, dict):
            raise ValueError("a message is an object")
        plain = cast("dict[str, Any]", message)
        if kind not in (None, plain.get("kind")):
            raise ValueError(f"a message is {plain.get('kind')!r}, not {kind!r}")
        try:
            messages_of([plain])
            said(plain)
        except (KeyError, TypeError, AttributeError) as problem:
            raise ValueError(f"a message cannot be read: {problem!r}") from problem


def _whole(value: Any, artifacts: Artifacts) -> Any:
    digest = kept_as(value)
    if digest is None:
        return value
    if digest not in artifacts:
        raise ValueError(f"it names the artifact {digest}, which the file does not hold before it")
    return json.loads(artifacts[digest])
