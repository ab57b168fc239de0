"""`counterfoil decisions`."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterfoil.cli import decision_pages
from counterfoil.cli.awaiting import awaited
from counterfoil.cli.command import Answer, Limit, group
from counterfoil.cli.invocation import Invocation
from counterfoil.model.errors import Refused

if TYPE_CHECKING:
    from counterfoil.app.decisions import DecisionFilter

decisions = group("decisions", "What models answered, what came of it, and what another model would have answered.")

FOUND_SOMETHING = 1
INSTALL = "pip install 'counterfoil[agents]'"
USED = "{requests, input_tokens, output_tokens, cost_micros, unpriced}"
EXPORTED = "{file, format: yaml|json, cases, verdicts:{name:count}, missing:[{decision_id, code, problem}], more}"
REPLAYED = (
    "{model, prompt, agent, source, equal, different, failed, "
    f"saved:{USED}, now:{USED}, left_out, missing:[{{decision_id, code, problem}}], "
    "items:[{name, decision_id, verdict, saved_model, prompt_version, status: equal|different|failed, problem, "
    "differences:[{field, what: changed|added|removed, before, after}], saved_output, output, usage, cost_micros}]}"
)

Workflow = Annotated[str | None, typer.Option(help="Of runs of this workflow only.")]
ByAgent = Annotated[str | None, typer.Option("--agent", metavar="NAME", help="Of this agent only.")]
Since = Annotated[str | None, typer.Option(metavar="TIME", help="Not older: a day in UTC, or an RFC 3339 time.")]
Verdict = Annotated[str | None, typer.Option(help="approved, rejected, corrected, expired, open or none.")]
Talk = Annotated[str | None, typer.Option("--conversation", metavar="NAME", help="Of the turns of this one only.")]
AtMost = Annotated[int | None, typer.Option("--limit", min=1, max=1_000_000, help="The newest so many; else all.")]


@decisions.command("list", data="{items:[DECISION], more}", shows=decision_pages.listed)
def list_decisions(
    invocation: Invocation,
    workflow: Workflow = None,
    agent: ByAgent = None,
    since: Since = None,
    verdict: Verdict = None,
    conversation: Talk = None,
    limit: Limit = 50,
) -> Any:
    """List what models answered, the newest run first, with what people and receivers made of it."""
    return invocation.app().decisions.list(_wanted(workflow, agent, since, verdict, conversation, limit))


@decisions.command("show", data="DECISION and {input, output}", shows=decision_pages.one)
def show(
    invocation: Invocation,
    decision: Annotated[str, typer.Argument(metavar="DECISION", help="As `decisions list` names it: run-3/7.")],
) -> Any:
    """Show one decision: what was asked, what was answered, its versions, and its verdicts."""
    return invocation.app().decisions.show(decision)


@decisions.command("usage", data="{by, items:[USAGE], total:USAGE}", shows=decision_pages.used)
def usage(
    invocation: Invocation,
    by: Annotated[
        str, typer.Option(metavar="KIND", help="model, agent, workflow, conversation, day or tool.")
    ] = "model",
    workflow: Workflow = None,
    agent: ByAgent = None,
    since: Since = None,
    conversation: Talk = None,
) -> Any:
    """Sum what models were asked, used and cost. A lost call is counted and measured nowhere; an unknown price is no zero."""
    return invocation.app().decisions.usage(_wanted(workflow, agent, since, None, conversation, None), by=by)


@decisions.command("export", data=EXPORTED, shows=decision_pages.exported, also=(FOUND_SOMETHING,))
def export(
    invocation: Invocation,
    out: Annotated[
        str, typer.Option("--out", metavar="FILE", help="A .yaml or .json file; an existing one is refused.")
    ],
    workflow: Workflow = None,
    agent: ByAgent = None,
    since: Since = None,
    verdict: Verdict = None,
    conversation: Talk = None,
    limit: AtMost = None,
) -> Any:
    """Write decisions as a data set of pydantic-evals. Exit 1 when an input or output of one cannot be read any more."""
    from collections import Counter
    from pathlib import Path

    wanted = _wanted(workflow, agent, since, verdict, conversation, limit)
    with _agents_extra():
        from counterfoil.agents.datasets import dataset_text, form_of

        form = form_of(out)
        found = invocation.app().decisions.cases(wanted)
    with Path(out).open("x", encoding="utf-8") as file:
        file.write(dataset_text(workflow or agent or "decisions", found["cases"], form))
    data = {
        "file": out, "format": form, "cases": len(found["cases"]),
        "verdicts": dict(Counter(case["metadata"]["verdict"] for case in found["cases"])),
        "missing": found["missing"], "more": found["more"],
    }  # fmt: skip
    return Answer(data, FOUND_SOMETHING if found["missing"] else 0)


@decisions.command("replay", data=REPLAYED, shows=decision_pages.replayed, also=(FOUND_SOMETHING,))
def replay(  # noqa: PLR0913 - an option each
    invocation: Invocation,
    file: Annotated[
        str | None, typer.Argument(metavar="[FILE]", help="An exported data set; else the database's decisions.")
    ] = None,
    model: Annotated[
        str, typer.Option("--model", metavar="PROVIDER:NAME", help="Whom to ask, as Pydantic AI names it.")
    ] = "",
    prompt: Annotated[
        str | None, typer.Option("--prompt", metavar="FILE", help="Instructions, in place of those of then.")
    ] = None,
    agent: Annotated[
        str | None, typer.Option("--agent", metavar="MODULE:NAME", help="An agent of yours: it says how it asks now.")
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option("--ignore", metavar="FIELD", help="A field that may differ. Repeatable.")
    ] = None,
    at_once: Annotated[int, typer.Option("--at-once", min=1, max=64, help="Requests at the same time.")] = 4,
    workflow: Workflow = None,
    of: Annotated[str | None, typer.Option("--of", metavar="NAME", help="Of the agent of this name only.")] = None,
    since: Since = None,
    verdict: Verdict = None,
    conversation: Talk = None,
    limit: AtMost = None,
) -> Any:
    """Ask another model, or under another prompt, and show what differs. Nothing is written, no tool is run, no receiver
    is reached. Exit 1 when an answer differs, none came, or nothing was compared."""
    if not model:
        raise Refused("usage", problem="name the model with --model PROVIDER:NAME")
    wanted = _wanted(workflow, of, since, verdict, conversation, limit)
    text = None if prompt is None else _text(prompt)
    known = None if agent is None else _agent(agent)
    from counterfoil.app.replays import Replay, replay

    with _agents_extra():
        found = invocation.app().decisions.cases(wanted) if file is None else _cases_of(file, wanted)
        held = awaited(replay(found["cases"], Replay(model, text, known, ignore or (), at_once)))
    data = held | {"prompt": prompt, "agent": agent, "source": file, "missing": found["missing"]}
    for name in held["left_out"]:
        invocation.warn(
            "tools_left_out", f"The tools of {name} were not offered to the model: only a server lists them."
        )
    compared: list[Any] = held["items"]
    if not compared:
        invocation.warn("nothing_compared", "No decision fits, so nobody was asked.")
    sound = data["equal"] == len(compared) > 0 and not data["missing"]
    return Answer(data, 0 if sound else FOUND_SOMETHING)


@contextmanager
def _agents_extra() -> Generator[None]:
    """Raises Refused(tool_missing) where the extra is not installed: the rest of the noun does without."""
    try:
        yield
    except ModuleNotFoundError as problem:
        raise Refused(
            "tool_missing", tool=f"The Python package {problem.name}", install=f"Install it: {INSTALL}"
        ) from problem


def _wanted(
    workflow: str | None,
    agent: str | None,
    since: str | None,
    verdict: str | None,
    conversation: str | None,
    limit: int | None,
) -> "DecisionFilter":
    from counterfoil.app.decisions import DecisionFilter

    return DecisionFilter(workflow, agent, since, verdict, conversation, limit)


def _cases_of(file: str, wanted: "DecisionFilter") -> dict[str, Any]:
    """The cases of a file that fit; no database is opened."""
    from pathlib import Path

    from counterfoil.agents.datasets import cases_in, form_of
    from counterfoil.app.decisions import check, fits

    check(wanted)
    form_of(file)
    cases = [case for case in cases_in(Path(file).read_bytes(), file) if fits(case["metadata"], wanted)]
    return {"cases": cases[-wanted.limit :] if wanted.limit else cases, "missing": []}


def _text(file: str) -> str:
    from counterfoil.cli.documents import read_bytes

    try:
        return read_bytes(file, what="the prompt").decode()
    except UnicodeDecodeError as problem:
        raise Refused("usage", problem=f"the prompt in {file} is not UTF-8") from problem


def _agent(target: str) -> Any:
    """MODULE:NAME from the working folder or the path. Raises Refused(usage)."""
    import importlib
    import sys
    from pathlib import Path

    module, _, name = target.partition(":")
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)
    try:
        return getattr(importlib.import_module(module), name)
    except (Exception, SystemExit) as problem:
        raise Refused("usage", problem=f"the agent {target} cannot be loaded: {problem}") from problem
