"""The noun `decisions`: what models answered, what came of it, and what it cost."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from counterfoil.app.decision_usage import calls_in, summed
from counterfoil.app.finding import known_id
from counterfoil.app.views.decision import Around, Decided, conversation_of, decided_in, decision_view
from counterfoil.app.views.verdict import VERDICTS, made_in, revised_by, verdicts_of
from counterfoil.engine.opened import Opened
from counterfoil.model.errors import Refused
from counterfoil.model.journal import Entry, EntryKind
from counterfoil.model.run import RunRecord
from counterfoil.store.port import Reader, Workflows

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PAGE = 500


@dataclass(frozen=True, slots=True)
class DecisionFilter:
    """None means any. `since`: a day (YYYY-MM-DD, in UTC) or an RFC 3339 time. `limit`: how many at most, the newest."""

    workflow: str | None = None
    agent: str | None = None
    since: str | None = None
    verdict: str | None = None
    conversation: str | None = None
    limit: int | None = None


ANY = DecisionFilter()


class Decisions:
    """`app.decisions`. A decision is named by its run and its entry: `run-3/7`, or the run's id in place of `run-3`.

    `workflows`, everywhere: those that may be seen, None for all.
    """

    def __init__(self, opened: Callable[[], Opened]) -> None:
        self._opened = opened

    def list(self, wanted: DecisionFilter = ANY, *, workflows: Workflows = None) -> dict[str, Any]:
        """`{items: [DECISION], more}`, the newest run first; `more`: whether others fit that `limit` left off.

        Raises Refused(usage) for an unknown verdict or a time that is none.
        """
        with self._opened().read() as reader:
            items, more = _taken(_found(reader, wanted, workflows), wanted.limit)
            return {"items": [view for _, _, view in items], "more": more}

    def show(self, decision: str) -> dict[str, Any]:
        """DECISION with `input` and `output` as they were, kept artifacts read back. Raises Refused(not_found, ambiguous_id,
        artifact_missing, artifact_damaged, messages_missing)."""
        opened = self._opened()
        run_text, _, sequence = decision.rpartition("/")
        with opened.read() as reader:
            run = reader.get(RunRecord, known_id(reader, "run", run_text or decision))
            assert run is not None, "the id was just found in this snapshot"
            found = [each for each in _of_run(reader, run) if str(each[1].sequence) == sequence]
            if not found:
                raise Refused("not_found", what="decision", id=decision)
            (_, decided, view) = found[0]
            given = Inputs(opened, reader).of(run, decided)
            return view | {"input": given, "output": output_of(opened, decided)}

    def cases(self, wanted: DecisionFilter = ANY, *, workflows: Workflows = None) -> dict[str, Any]:
        """`{cases: [{name, inputs, expected_output, metadata}], missing: [{decision_id, code, problem}], more}`, oldest first.

        `missing`: decisions that fit and whose input or output cannot be read any more; nothing is left out without a word.
        """
        opened = self._opened()
        cases: list[dict[str, Any]] = []
        missing: list[dict[str, Any]] = []
        with opened.read() as reader:
            items, more = _taken(_found(reader, wanted, workflows), wanted.limit)
            inputs = Inputs(opened, reader)
            for run, decided, view in sorted(items, key=lambda item: (item[0].number, item[1].sequence)):
                try:
                    cases.append(
                        {
                            "name": f"run-{run.number}/{decided.sequence}",
                            "inputs": inputs.of(run, decided),
                            "expected_output": output_of(opened, decided),
                            "metadata": view,
                        }
                    )
                except Refused as refused:
                    missing.append(
                        {"decision_id": view["decision_id"], "code": refused.code, "problem": refused.message}
                    )
        return {"cases": cases, "missing": missing, "more": more}

    def usage(self, wanted: DecisionFilter = ANY, *, by: str = "model", workflows: Workflows = None) -> dict[str, Any]:
        """`{by, items: [USAGE], total: USAGE}`: what models were asked, used and cost; by what `by` names.

        `asked` is the sum of decisions, failed, lost and open. A lost call is one whose answer never came: it is counted, and
        measured nowhere. `unmeasured`: decisions that did not say their tokens. `cost_micros` sums the decisions whose price
        is known, null where that is none; `unpriced` counts the others. Raises Refused(usage).
        """
        opened = self._opened()
        since = instant(wanted.since)
        with opened.read() as reader:
            runs = ((run, conversation_of(reader, run.run_id)) for run in _runs(reader, wanted, workflows, since))
            calls = (
                call
                for run, conversation in runs
                if wanted.conversation in (None, conversation)
                for call in calls_in(run, reader.entries(run.run_id), conversation)
                if wanted.agent in (None, call.agent) and (since is None or call.at >= since)
            )
            return summed(calls, by, opened.artifacts.whole)


class Inputs:
    """Reads back what models were asked; one run's messages are put together once."""

    def __init__(self, opened: Opened, reader: Reader) -> None:
        self._opened = opened
        self._reader = reader
        self._run_id = ""
        self._turn: dict[int, Any] = {}

    def of(self, run: RunRecord, decided: Decided) -> dict[str, Any]:
        """`{input}` of a workflow's decision, `{messages, params}` of a turn's, `{input, instructions}` of a compaction.

        Raises Refused as `Decisions.show`.
        """
        if decided.kind == "workflow":
            return {"input": self._opened.artifacts.whole(decided.asked["input"])}
        if decided.kind == "compaction":
            return self._compacted(run, decided)
        if self._run_id != run.run_id:
            self._run_id, self._turn = run.run_id, self._asked(run)
        found = self._turn[decided.sequence]
        if isinstance(found, Refused):
            raise found
        return found

    def _asked(self, run: RunRecord) -> dict[int, Any]:
        from counterfoil.agents.saved import asked_in

        history = self._history(run)
        turn = [each for each in decided_in(self._reader.entries(run.run_id)) if each.turn]
        if isinstance(history, Refused):
            return {each.sequence: history for each in turn}
        questions = [(each.asked, each.data["output"]) for each in turn]
        asked = asked_in(questions, self._opened.artifacts.whole, history)
        return {each.sequence: found for each, found in zip(turn, asked, strict=True)}

    def _compacted(self, run: RunRecord, decided: Decided) -> dict[str, Any]:
        from counterfoil.agents.saved import compaction_of

        history = self._history(run)
        if isinstance(history, Refused):
            raise history
        return compaction_of(decided.asked, history)

    def _history(self, run: RunRecord) -> list[dict[str, Any]] | Refused:
        """The messages of the turns before."""
        from counterfoil.agents.history import history_before

        try:
            return history_before(self._opened, self._reader, run.run_id)
        except Refused as refused:
            return refused


def output_of(opened: Opened, decided: Decided) -> Any:
    """What was answered; of a compaction the summary alone. Raises Refused(artifact_missing, artifact_damaged)."""
    output = opened.artifacts.whole(decided.data["output"])
    return output["summary"] if decided.kind == "compaction" else output


def instant(text: str | None) -> int | None:
    """Microseconds since 1970 of a day or a time. Raises Refused(usage)."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
        return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH) // timedelta(microseconds=1)
    except (ValueError, OverflowError) as problem:
        raise Refused("usage", problem=f"{text!r} is no day and no time; write it as 2026-11-29") from problem


Item = tuple[RunRecord, Decided, dict[str, Any]]


def check(wanted: DecisionFilter) -> None:
    """Raises Refused(usage) for a verdict that there is not."""
    if wanted.verdict is not None and wanted.verdict not in VERDICTS:
        raise Refused("usage", problem=f"there is no verdict {wanted.verdict!r}; there are {', '.join(VERDICTS)}")


def _found(reader: Reader, wanted: DecisionFilter, workflows: Workflows) -> Iterator[Item]:
    """What fits, the newest first."""
    check(wanted)
    since = instant(wanted.since)
    for run in _runs(reader, wanted, workflows, since):
        for item in reversed(_of_run(reader, run)):
            if fits(item[2], wanted):
                yield item


def fits(view: Mapping[str, Any], wanted: DecisionFilter) -> bool:
    """Whether a DECISION, as it is or as an export kept it, is asked for. Without `limit`."""
    since = instant(wanted.since)
    versions: Mapping[str, Any] = view.get("versions") or {}
    return (
        wanted.workflow in (None, versions.get("workflow"))
        and wanted.agent in (None, view.get("agent"))
        and wanted.verdict in (None, view.get("verdict"))
        and wanted.conversation in (None, view.get("conversation"))
        and (since is None or (instant(view.get("decided_at")) or 0) >= since)
    )


def _runs(reader: Reader, wanted: DecisionFilter, workflows: Workflows, since: int | None) -> Iterator[RunRecord]:
    """Newest first. A run that was last written to before `since` holds nothing that is asked for."""
    before: int | None = None
    while True:
        page = reader.lists.runs(workflow=wanted.workflow, workflows=workflows, before=before, limit=_PAGE)
        yield from (run for run in page.items if since is None or run.updated_at >= since)
        before = page.next_cursor
        if before is None:
            return


def _of_run(reader: Reader, run: RunRecord) -> list[Item]:
    entries: list[Entry] = reader.entries(run.run_id)
    if not any(entry.kind is EntryKind.DECISION for entry in entries):
        return []
    decisions = decided_in(entries)
    around = Around.of(reader, run.run_id, entries)
    made = made_in(around, decisions)
    conversation = conversation_of(reader, run.run_id)
    revised = {} if conversation is None else revised_by(reader, decisions, run)
    return [
        (run, each, decision_view(run, each, conversation) | verdicts_of(run, each, around, decisions, made, revised))
        for each in decisions
    ]


def _taken(found: Iterator[Item], limit: int | None) -> tuple[list[Item], bool]:
    if limit is None:
        return list(found), False
    items: list[Item] = []
    for item in found:
        if len(items) == limit:
            return items, True
        items.append(item)
    return items, False
