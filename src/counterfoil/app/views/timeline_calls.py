"""Steps and decisions of a run as bars."""

from collections.abc import Iterator, Sequence
from typing import Any

from counterfoil.app.views.timeline_bar import Bar
from counterfoil.model.codec import parsed
from counterfoil.model.journal import Entry, EntryKind

_STEP_KINDS = {EntryKind.STEP: "done", EntryKind.STEP_FAILED: "failed", EntryKind.TRY_FAILED: "failed"}


def step_bars(entries: Sequence[Entry]) -> Iterator[Bar]:
    """A step records its end alone. It began after the entry before it in its branch, and after its worker took the run."""
    asked = {entry.position for entry in entries if entry.kind is EntryKind.ASKED}
    last_of: dict[str, int] = {}
    taken_at = 0
    for entry in entries:
        if entry.kind is EntryKind.STARTED:
            taken_at = entry.at
        if entry.position is None:
            continue
        branch = _branch(entry.position)
        if entry.kind in _STEP_KINDS and entry.position not in asked:
            begins = max(taken_at, last_of.get(branch, 0), last_of.get(_outer(branch), 0))
            yield Bar(
                lane="steps", kind=_STEP_KINDS[entry.kind], label=_step_label(entry), begins=min(begins, entry.at),
                ends=entry.at, about=True, sequence=entry.sequence, detail=_problem(entry),
            )  # fmt: skip
        last_of[branch] = entry.at


def decision_bars(entries: Sequence[Entry], end: int) -> Iterator[Bar]:
    """From the asking to the answer, each call of the model, with its cost where it was measured."""
    open_calls: dict[str, Entry] = {}
    for entry in entries:
        if entry.position is None:
            if entry.kind is EntryKind.STARTED:
                yield from (_call(asked, entry.at, "lost", entry.sequence) for asked in open_calls.values())
                open_calls.clear()
            continue
        if entry.kind is EntryKind.ASKED:
            open_calls[entry.position] = entry
        elif (
            entry.kind in (EntryKind.DECISION, EntryKind.TRY_FAILED, EntryKind.STEP_FAILED)
            and entry.position in open_calls
        ):
            kind = "done" if entry.kind is EntryKind.DECISION else "failed"
            yield _call(open_calls.pop(entry.position), entry.at, kind, entry.sequence, entry)
    yield from (_call(asked, end, "live", asked.sequence) for asked in open_calls.values())


def _call(asked: Entry, ends: int, kind: str, sequence: int, answer: Entry | None = None) -> Bar:
    facts: dict[str, Any] = parsed(asked.body)["data"]
    data: dict[str, Any] = {} if answer is None else parsed(answer.body)["data"]
    said = {"lost": "its answer never came; counted, not measured", "live": "asked, not yet answered"}.get(kind, "")
    usage: dict[str, Any] = data.get("usage") or {}
    tokens = f"{usage.get('input_tokens', 0)} tokens in, {usage.get('output_tokens', 0)} out" if usage else ""
    policy = f"policy {facts['policy_version']}" if facts.get("policy_version") else ""
    parts = [
        facts.get("model") or "",
        f"prompt {facts.get('prompt_version')}",
        policy,
        tokens,
        data.get("problem") or "",
        said,
    ]
    return Bar(
        lane="decisions", kind=kind, label=asked.name or "decision", begins=asked.at, ends=ends, sequence=sequence,
        detail=", ".join(part for part in parts if part), open=kind == "live", cost_micros=data.get("cost_micros"),
    )  # fmt: skip


def _step_label(entry: Entry) -> str:
    if entry.kind is EntryKind.TRY_FAILED:
        return f"{entry.name}, try {parsed(entry.body)['data'].get('n', '')} failed"
    return entry.name or "step"


def _problem(entry: Entry) -> str:
    if entry.kind is EntryKind.STEP:
        return ""
    data: dict[str, Any] = parsed(entry.body)["data"]
    failure: dict[str, Any] = data.get("failure") or {}
    return str(data.get("problem") or failure.get("message") or "")


def _branch(position: str) -> str:
    return position.rpartition(".")[0]


def _outer(branch: str) -> str:
    return _branch(_branch(branch)) if "." in branch else ""
