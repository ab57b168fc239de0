"""The life of an operation: the states it can be in, the one it is in, and the way it took, each move with its entry."""

from collections.abc import Sequence
from typing import Any

from counterfoil.app.views.evidence import entry_line
from counterfoil.app.views.moments import rfc3339
from counterfoil.model.codec import parsed
from counterfoil.model.journal import Entry
from counterfoil.model.operation import OPERATION_SENTENCES, OperationRecord, OperationStatus

MOVES: tuple[tuple[OperationStatus, OperationStatus, str], ...] = (
    (OperationStatus.PREPARED, OperationStatus.IN_FLIGHT, "approved, bytes known"),
    (OperationStatus.PREPARED, OperationStatus.FAILED, "rejected or withdrawn"),
    (OperationStatus.IN_FLIGHT, OperationStatus.SUCCEEDED, "evidence of success"),
    (OperationStatus.IN_FLIGHT, OperationStatus.FAILED, "refused"),
    (OperationStatus.IN_FLIGHT, OperationStatus.PREPARED, "proven absent"),
    (OperationStatus.IN_FLIGHT, OperationStatus.UNKNOWN, "nothing automatic is left"),
    (OperationStatus.UNKNOWN, OperationStatus.IN_FLIGHT, "sent again"),
    (OperationStatus.UNKNOWN, OperationStatus.PREPARED, "ordered again"),
    (OperationStatus.UNKNOWN, OperationStatus.SUCCEEDED, "evidence or a person"),
    (OperationStatus.UNKNOWN, OperationStatus.FAILED, "evidence or a person"),
)
"""Every move that the picture draws, with its words. Another move of a stored life is drawn too, without words."""


def life_view(operation: OperationRecord, entries: Sequence[Entry]) -> dict[str, Any]:
    """`{status, states: [{status, sentence, reached, current}], moves: [{begins, ends, words, taken}], path: [MOVED]}`.

    MOVED: `{status, before, at, sequence, kind, why, digest}`, oldest first; `why` is the sentence of the case that was ruled.
    """
    path = _path(operation, entries)
    reached = {step["status"] for step in path} | {operation.status.value}
    taken = {(step["before"], step["status"]) for step in path if step["before"] is not None}
    known = {(begins.value, ends.value): words for begins, ends, words in MOVES}
    return {
        "status": operation.status.value,
        "states": [
            {
                "status": status.value, "sentence": OPERATION_SENTENCES[status], "reached": status.value in reached,
                "current": status is operation.status,
            }
            for status in OperationStatus
        ],
        "moves": [
            {"begins": begins, "ends": ends, "words": known.get((begins, ends), ""), "taken": (begins, ends) in taken}
            for begins, ends in [*known, *sorted(taken - set(known))]
        ],
        "path": path,
    }  # fmt: skip


def moves_after(operation: OperationRecord, entries: Sequence[Entry], version: int) -> list[dict[str, Any]]:
    """`[{sequence, kind, name, at, actor, digest, columns}]`: what was recorded about the operation after a version of it.

    One commit may hold several entries, of which the last carries the rows: all of them are told.
    """
    about: list[tuple[Entry, dict[str, Any]]] = []
    for entry in entries:
        columns = _columns(operation, entry)
        if 0 < columns.get("version", 0) <= version:
            about.clear()
        elif columns or _is_about(operation, entry):
            about.append((entry, columns))
    commits = {entry.at for entry, columns in about if columns}
    return [
        entry_line(entry) | {"columns": sorted(set(columns) - {"version"})}
        for entry, columns in about
        if entry.at in commits
    ]


def _is_about(operation: OperationRecord, entry: Entry) -> bool:
    """The entry names the operation in what it says."""
    named = f'"operation_id":"{operation.operation_id}"'
    return named in entry.body and parsed(entry.body)["data"].get("operation_id") == operation.operation_id


def _columns(operation: OperationRecord, entry: Entry) -> dict[str, Any]:
    """What the entry changed in the operation's row."""
    if f'"{operation.operation_id}":' not in entry.body:
        return {}
    return parsed(entry.body).get("rows", {}).get("operations", {}).get(operation.operation_id, {})


def _path(operation: OperationRecord, entries: Sequence[Entry]) -> list[dict[str, Any]]:
    path: list[dict[str, Any]] = []
    before: str | None = None
    for entry in entries:
        status = _columns(operation, entry).get("status")
        if status is None or status == before:
            continue
        path.append(
            {
                "status": status, "before": before, "at": rfc3339(entry.at), "sequence": entry.sequence,
                "kind": entry.kind.value, "why": parsed(entry.body)["data"].get("sentence"), "digest": f"sha256:{entry.digest.hex()}",
            }
        )  # fmt: skip
        before = status
    return path
