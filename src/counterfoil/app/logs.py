"""The log: one line for each thing that happened, with run, operation, case letter and worker. Never what was said or written.

A line is made of the names below and of nothing else of an entry: no payload, no prompt, no reason that a person typed. Of an
exception it has the type and our code, and where it came from, since its text may hold anything. An address loses its parameters.
"""

import json
import logging
import re
import traceback
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

from counterfoil.engine.problem_log import log
from counterfoil.model.errors import CounterfoilError, Refused
from counterfoil.model.journal import Entry, EntryKind
from counterfoil.model.moments import rfc3339

FIELDS = "counterfoil"  # where a record keeps them
ALWAYS = ("run", "operation", "case", "worker")
REMEMBERED = 10_000  # runs whose worker is known

_OPERATION = ("operation_id",)
_TOLD: Mapping[EntryKind, tuple[str, ...]] = {
    EntryKind.SUBMITTED: (),
    EntryKind.STARTED: ("worker", "fence", "after_crash"),
    EntryKind.DECISION: ("model",),
    EntryKind.PROPOSAL: _OPERATION,
    EntryKind.PREPARED: _OPERATION,
    EntryKind.REVIEW: ("operation_id", "case"),
    EntryKind.ANSWER: ("review_id", "operation_id"),
    EntryKind.WITHDRAWN: ("review_id", "operation_id"),
    EntryKind.EXPIRED: ("review_id", "operation_id"),
    EntryKind.IN_FLIGHT: ("operation_id", "attempt_id", "n", "ruling"),
    EntryKind.CLASSIFIED: ("operation_id", "attempt_id", "reached", "sent", "status", "class"),
    EntryKind.LATE: ("operation_id", "attempt_id", "reached", "sent", "status", "class"),
    EntryKind.LOOKED_UP: ("operation_id", "result", "complete"),
    EntryKind.DELIVERED: ("operation_id", "delivery_id", "proves", "later"),
    EntryKind.RULED: ("operation_id", "case", "ruling", "reason", "status"),
    EntryKind.CLOSED: ("operation_id", "case", "ruling", "status"),
    EntryKind.RESOLVED: ("operation_id", "as", "new_key"),
    EntryKind.INCIDENT_CLOSED: ("operation_id",),
    EntryKind.SUSPENDED: (),
    EntryKind.PARKED: (),
    EntryKind.RESUMED: ("retry",),
    EntryKind.CANCEL_ASKED: (),
    EntryKind.FINISHED: (),
    EntryKind.WRITES: (),
    EntryKind.RESTORE: (),
}
_NAMED = frozenset({EntryKind.PARKED, EntryKind.FINISHED})  # their name is a reason or a state of ours
_PARAMETERS = re.compile(r"(?<=[a-z0-9/])\?[^\s'\"<>]+|(?<=://)[^/\s@]+@", re.IGNORECASE)


class EntryLog:
    """Logs the entries of this process's commits, as information. Costs nothing while nobody listens."""

    def __init__(self) -> None:
        self._workers: dict[str, str] = {}

    def committed(self, entries: Sequence[Entry]) -> None:
        """Called by the writer's thread after each commit."""
        if log.isEnabledFor(logging.INFO):
            for entry in entries:
                if entry.kind in _TOLD:
                    self._tell(entry)

    def _tell(self, entry: Entry) -> None:
        body = json.loads(entry.body)
        data: dict[str, Any] = body["data"] or {}
        fields: dict[str, Any] = {name: data[name] for name in _TOLD[entry.kind] if data.get(name) is not None}
        operation = fields.pop("operation_id", None)
        if operation is not None:
            fields["operation"] = operation
            changed = body.get("rows", {}).get("operations", {}).get(operation, {})
            fields.setdefault("case", changed.get("case_letter"))
        if entry.kind is EntryKind.STARTED:
            if len(self._workers) >= REMEMBERED:
                self._workers.clear()
            self._workers[entry.run_id] = fields["worker"]
        fields |= {"run": entry.run_id, "sequence": entry.sequence, "kind": entry.kind.value}
        fields.setdefault("worker", self._workers.get(entry.run_id))
        said = entry.kind.value.replace("_", " ")
        if entry.kind in _NAMED and entry.name is not None:
            fields["reason" if entry.kind is EntryKind.PARKED else "state"] = entry.name
            said = f"{said}: {entry.name}"
        log.info(said, extra={FIELDS: fields})


class _Lines(logging.Formatter):
    """What both forms share: the message without what an exception says, and without an address's parameters."""

    def message(self, record: logging.LogRecord) -> str:
        args = record.args
        if isinstance(args, tuple):
            args = tuple(_named(each) if isinstance(each, BaseException) else each for each in args)
        said = str(record.msg) % args if args else str(record.msg)
        return _PARAMETERS.sub("?...", said)

    @staticmethod
    def on_one_line(text: str) -> str:
        """What ends a line or moves a terminal's cursor as its escape: an address is whatever somebody asked for."""
        return "".join(each if each.isprintable() else json.dumps(each)[1:-1] for each in text)

    def came_from(self, record: logging.LogRecord) -> list[str]:
        if not record.exc_info or record.exc_info[2] is None:
            return []
        return [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(record.exc_info[2])]

    def failed(self, record: logging.LogRecord) -> str | None:
        error = record.exc_info[1] if record.exc_info else None
        return None if error is None else _named(error)


class JsonLines(_Lines):
    """One JSON object a line: at, level, message, run, operation, case, worker (null where not known), and what else there is."""

    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, Any] = getattr(record, FIELDS, {})
        line: dict[str, Any] = {
            "at": rfc3339(int(record.created * 1_000_000)), "level": record.levelname.lower(), "message": self.message(record),
        }  # fmt: skip
        line |= {name: fields.get(name) for name in ALWAYS}
        line |= {name: value for name, value in fields.items() if name not in ALWAYS}
        if (failed := self.failed(record)) is not None:
            line |= {"error": failed, "came_from": self.came_from(record)}
        return self.on_one_line(json.dumps(line, ensure_ascii=False))


class TextLines(_Lines):
    """The same for people's eyes."""

    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, Any] = getattr(record, FIELDS, {})
        known = {name: fields[name] for name in (*ALWAYS, *fields) if fields.get(name) is not None}
        parts = [str(rfc3339(int(record.created * 1_000_000))), record.levelname.lower(), self.message(record)]
        parts += [f"{name}={value}" for name, value in known.items()]
        said = self.on_one_line(" ".join(parts))
        if (failed := self.failed(record)) is not None:
            said += " ".join([f" error={failed}", *(f"\n  {place}" for place in self.came_from(record))])
        return said


def set_up(form: str, stream: TextIO) -> None:
    """For processes that are ours alone: `json` or `text` lines of what happens, on this stream; empty: of what goes wrong.

    Without it Python itself would print what an exception says. Raises Refused(usage).
    """
    formatters = {"json": JsonLines, "text": TextLines, "": TextLines}
    if form not in formatters:
        raise Refused("usage", problem=f"COUNTERFOIL_LOG is {form!r}; it is json, text or nothing")
    handler = logging.StreamHandler(stream)
    handler.setFormatter(formatters[form]())
    for known in list(log.handlers):
        log.removeHandler(known)
    log.addHandler(handler)
    log.setLevel(logging.INFO if form else logging.WARNING)
    log.propagate = False


@contextmanager
def what_goes_wrong(stream: TextIO) -> Generator[None]:
    """For a command while it serves or drives: problems on this stream in our own form, unless `set_up` was told another."""
    if log.handlers:
        yield
        return
    set_up("", stream)
    try:
        yield
    finally:
        log.handlers.clear()
        log.setLevel(logging.NOTSET)
        log.propagate = True


def _named(error: BaseException) -> str:
    """Its type, and the code where it is one of ours."""
    name = type(error).__name__
    return f"{name}({error.code})" if isinstance(error, CounterfoilError) else name
