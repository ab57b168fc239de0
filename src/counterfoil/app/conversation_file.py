"""A conversation as JSON lines: a line says what it is, one each of its turns, entries, kept inputs and documents, one the end."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, cast

from pydantic import ValidationError

from counterfoil.app.imported_lines import (
    SAID,
    DocumentLine,
    EntryLine,
    First,
    Last,
    TurnLine,
    artifact_of,
    document_of,
    entry_of,
    first_of,
    line_of,
    turn_of,
)
from counterfoil.app.views.conversation import past_of, text_of
from counterfoil.engine.importing import ImportConversation, PastEntry, PastTurn, PastVersion
from counterfoil.engine.opened import Opened
from counterfoil.model.codec import BODY_LIMIT, compact, digest_of, parsed
from counterfoil.model.conversation import ConversationRecord, MessageRecord, TurnKind, TurnRecord
from counterfoil.model.document import DocumentScope, DocumentVersionRecord, TypedDocumentRecord
from counterfoil.model.errors import Refused
from counterfoil.model.journal import Entry, EntryKind
from counterfoil.model.run import RunRecord, RunState
from counterfoil.store.artifacts import kept_as
from counterfoil.store.port import Reader

FORMAT = 1
_PAST = frozenset({TurnKind.RESET, TurnKind.HANDOFF, TurnKind.COMPACTION})


# ---------------------------------------------------------------------- out


def exported(opened: Opened, reader: Reader, conversation: ConversationRecord) -> bytes:
    """Every turn that has ended, oldest first, those of the parent too. The last line holds the digest of all before it.

    Raises Refused: artifact_missing, artifact_damaged, where a kept input is gone.
    """
    lines = [compact(line) for line in _lines(opened, reader, conversation)]
    body = "".join(line + "\n" for line in lines).encode()
    return body + (compact({"type": "end", "lines": len(lines), "digest": digest_of(body)}) + "\n").encode()


def _lines(opened: Opened, reader: Reader, conversation: ConversationRecord) -> Iterator[dict[str, Any]]:
    yield {
        "type": "conversation", "format": FORMAT, "name": conversation.name, "agent": conversation.agent,
        "settings": parsed(conversation.settings),
    }  # fmt: skip
    kept: set[str] = set()
    past = [(t, r) for t, r in past_of(reader, conversation) if r.state.ended and t.kind is not TurnKind.STEER]
    for n, (turn, run) in enumerate(reversed(past), start=1):
        entries = reader.entries(run.run_id)
        yield _turn(n, turn, run) | _closing(opened, reader, entries)
        texts = {said.sequence: said.text for said in reader.find(MessageRecord, "run_id", run.run_id)}
        for entry in entries:
            if entry.kind in SAID:
                line = _entry(n, entry, texts.get(entry.sequence))
                for digest in filter(None, map(kept_as, line["data"].values())):
                    opened.artifacts.read(digest)  # a file without it could not be read back
                yield from _kept(opened, line["data"], kept)
                yield line
        yield from _documents(n, reader, run)


def _documents(n: int, reader: Reader, run: RunRecord) -> Iterator[dict[str, Any]]:
    """What the turn wrote into the conversation's own documents. What others share stays where it is."""
    for version in reader.find(DocumentVersionRecord, "run_id", run.run_id):
        document = reader.get(TypedDocumentRecord, version.document_id)
        if document is not None and document.scope is DocumentScope.CONVERSATION:
            yield {
                "type": "document", "n": n, "name": document.name, "version": version.version, "at": version.at,
                "body": version.body,
            }  # fmt: skip


def _turn(n: int, turn: TurnRecord, run: RunRecord) -> dict[str, Any]:
    return {
        "type": "turn", "n": n, "kind": turn.kind.value, "agent": run.workflow, "version": run.workflow_version,
        "request_id": _request_id(turn, run), "text": text_of(run),
        "state": run.state.value, "result": parsed(run.result), "at": run.created_at, "note": turn.note,
    }  # fmt: skip


def _request_id(turn: TurnRecord, run: RunRecord) -> str:
    """As its sender named it, also where it was said elsewhere first."""
    return run.request_id if turn.message_key is None else turn.message_key.partition("\x1f")[2]


def _closing(opened: Opened, reader: Reader, entries: Sequence[Entry]) -> dict[str, Any]:
    """What became of the calls of its last answer stands in entries and rows that stay here: it goes along as it is told."""
    if not any(entry.kind is EntryKind.DECISION for entry in entries):
        return {}
    from counterfoil.agents.history import closing_of

    return {"closing": closing_of(reader, entries[0].run_id, opened.artifacts.whole)}


def _entry(n: int, entry: Entry, text: str | None) -> dict[str, Any]:
    return {
        "type": "entry", "n": n, "kind": entry.kind.value, "place": entry.position, "name": entry.name, "at": entry.at,
        "data": parsed(entry.body)["data"], "text": text,
    }  # fmt: skip


def _kept(opened: Opened, value: Any, known: set[str]) -> Iterator[dict[str, Any]]:
    """The artifacts that an entry names, each once, before it."""
    if isinstance(value, dict):
        for part in cast("dict[str, Any]", value).values():
            yield from _kept(opened, part, known)
    elif isinstance(value, list):
        for part in cast("list[Any]", value):
            yield from _kept(opened, part, known)
    elif isinstance(value, str) and value.startswith("sha256:") and value not in known:
        try:
            content = opened.artifacts.read(value)
            text = content.decode()
        except (Refused, UnicodeDecodeError):
            return  # some other digest, or no text: nothing of what was said
        known.add(value)
        yield {"type": "artifact", "digest": value, "name": "imported", "content": text}


# ---------------------------------------------------------------------- in


def import_of(opened: Opened, content: bytes, name: str | None, by: str | None) -> ImportConversation:
    """The verb for a file; its artifacts are saved. Raises Refused(malformed_export), and then nothing was kept."""
    lines = _read(content, name)
    first = lines.first
    for kept in lines.artifacts.values():
        opened.artifacts.save(kept.encode(), name="imported")
    turns = tuple(_past(opened, turn, lines) for turn in lines.turns)
    return ImportConversation(
        opened.installation_id, name or first.name, digest_of(content), first.agent, compact(first.settings), turns, by
    )


class _Read:
    """What a file holds, each line checked."""

    def __init__(self, first: First) -> None:
        self.first = first
        self.turns: list[TurnLine] = []
        self.entries: dict[int, list[EntryLine]] = {}
        self.artifacts: dict[str, str] = {}
        self.documents: list[DocumentLine] = []


def _read(content: bytes, name: str | None) -> _Read:
    file = name or "the file"
    raw = content.split(b"\n")
    if len(raw) < 3 or raw[-1] != b"":
        raise Refused("malformed_export", line=len(raw), name=file, problem="it breaks off")
    raw.pop()
    found: _Read | None = None
    for number, line in enumerate(raw[:-1], start=1):
        try:
            found = _taken(found, line_of(line))
        except (ValueError, RecursionError, Refused) as problem:  # pydantic's and JSON's own, and ours
            said = _said(problem)
            raise Refused("malformed_export", line=number, name=file, problem=said) from problem
    _check_end(raw, file)
    assert found is not None, "there is at least one line"
    if not found.turns:
        raise Refused("malformed_export", line=len(raw), name=file, problem="it has no turn")
    return found


def _check_end(raw: list[bytes], file: str) -> None:
    try:
        last = Last.model_validate(json.loads(raw[-1]))
        whole = last.type == "end" and last.lines == len(raw) - 1
        fits = last.digest == digest_of(b"".join(line + b"\n" for line in raw[:-1]))
    except (ValueError, RecursionError):
        whole, fits = False, False
    if not whole or not fits:
        problem = "its digest does not fit what is before it" if whole else "the end is missing"
        raise Refused("malformed_export", line=len(raw), name=file, problem=problem)


def _taken(found: _Read | None, line: Any) -> _Read:
    """Take one line in. Raises ValueError; Refused(bad_setting)."""
    kind: Any = cast("dict[str, Any]", line).get("type") if isinstance(line, dict) else None
    if found is None:
        return _Read(first_of(line, FORMAT))
    n = len(found.turns)
    match kind:
        case "turn":
            found.turns.append(turn_of(line, n + 1))
        case "entry":
            entry, before = entry_of(line, n, found.artifacts), found.entries.setdefault(n, [])
            asked = {each.place for each in before if each.kind == EntryKind.ASKED}
            if entry.kind == EntryKind.DECISION and entry.place not in asked:
                raise ValueError("no question stands before it")
            before.append(entry)
        case "document":
            name: Any = cast("dict[str, Any]", line).get("name")
            found.documents.append(document_of(line, n, sum(each.name == name for each in found.documents)))
        case "artifact":
            artifact = artifact_of(line)
            found.artifacts[artifact.digest] = artifact.content
        case _:
            raise ValueError(f"a line of type {kind!r} is unknown")
    return found


def _said(problem: Exception) -> str:
    if isinstance(problem, ValidationError):
        first = problem.errors()[0]
        return f"{'.'.join(map(str, first['loc'])) or 'the line'}: {first['msg']}"
    return str(problem)


def _past(opened: Opened, turn: TurnLine, lines: _Read) -> PastTurn:
    kind = TurnKind(turn.kind)
    return PastTurn(
        kind if kind in _PAST else TurnKind.IMPORTED, turn.agent, turn.version, turn.text, RunState(turn.state),
        None if turn.result is None else compact(turn.result), turn.at,
        tuple(PastEntry(EntryKind(e.kind), e.place, e.name, _unspent(e), e.at, e.text) for e in lines.entries.get(turn.n, [])),
        tuple(PastVersion(d.name, d.version, d.body, d.at) for d in lines.documents if d.n == turn.n),
        turn.note,
        turn.request_id,
        _shortened(opened, turn.closing),
    )  # fmt: skip


def _shortened(opened: Opened, closing: list[dict[str, Any]] | None) -> Any:
    """Beside the journal where it is long."""
    text = compact(closing)
    if len(text) <= BODY_LIMIT // 2:
        return closing
    return {"artifact": opened.artifacts.save(text.encode(), name="imported").digest}


def _unspent(entry: EntryLine) -> dict[str, Any]:
    """The money was spent where the turn took place: here it is told, and not counted."""
    if entry.kind == EntryKind.DECISION and entry.data.get("cost_micros") is not None:
        return entry.data | {"cost_micros": 0, "spent_elsewhere_micros": entry.data["cost_micros"]}
    return entry.data
