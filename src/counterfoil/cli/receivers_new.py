"""`counterfoil receivers new`: questions about an API of one's own, and the contract that the answers make."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterfoil.cli.command import Group
from counterfoil.cli.invocation import Invocation
from counterfoil.cli.tables import sentence
from counterfoil.model.errors import Refused

if TYPE_CHECKING:
    from rich.console import Console

MADE = "{file, contract, questions:[{name, question, answer}], plan, gaps, sentences}"


def made(console: "Console", data: Any) -> None:
    """The file's text, or where it is; then what it means."""
    if data["file"] is None:
        console.print(data["contract"], markup=False, highlight=False)
    else:
        sentence(console, f"written: {data['file']}")
    for line in data["sentences"]:
        sentence(console, f"- {line}")
    for line in data["gaps"]:
        sentence(console, f"missing before a start: {line}")


def new(
    invocation: Invocation,
    answer: Annotated[
        list[str] | None, typer.Option(metavar="NAME=TEXT", help="An answer, such as key=header:Idempotency-Key.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the contract there; else it is only shown.")
    ] = None,
) -> Any:
    """Make a contract for an API of your own. In a terminal it asks what is not answered; an empty answer is: unknown."""
    import tomllib

    from counterfoil.receivers.catalogue.checking import check_contract
    from counterfoil.receivers.catalogue.reading import read_contract
    from counterfoil.receivers.catalogue.scaffold import QUESTIONS, scaffolded
    from counterfoil.rules.contract_sentences import plain_sentences

    answers = dict(_split(text) for text in answer or ())
    if invocation.streams.interactive:
        answers |= _asked([question for question in QUESTIONS if question.name not in answers])
    text = scaffolded({name: said for name, said in answers.items() if said}, _today())
    contract = read_contract(tomllib.loads(text))
    checked = check_contract("new", contract)
    if checked["contradictions"]:
        raise Refused("contract_contradiction", name="new", problem="; ".join(checked["contradictions"]))
    if out is not None:
        _written(out, text)
    return {
        "file": None if out is None else str(out),
        "contract": text,
        "questions": [{"name": q.name, "question": q.text, "answer": answers.get(q.name) or None} for q in QUESTIONS],
        "plan": checked["plan"],
        "gaps": checked["gaps"],
        "sentences": plain_sentences(contract),
    }


def _split(text: str) -> tuple[str, str]:
    name, found, said = text.partition("=")
    if not found:
        raise Refused("usage", problem=f"--answer {text!r} is not NAME=TEXT")
    return name.strip(), said.strip()


def _asked(questions: list[Any]) -> dict[str, str]:
    answers: dict[str, str] = {}
    for each in questions:
        text = f"{each.text} (such as {each.example}; empty: unknown)"
        answers[each.name] = typer.prompt(text, default="", err=True, show_default=False)
    return answers


def _today() -> str:
    from counterfoil.engine.clock import SystemClock
    from counterfoil.model.moments import rfc3339

    return (rfc3339(SystemClock().now_us()) or "")[:10]


def _written(out: Path, text: str) -> None:
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
    except (OSError, ValueError) as problem:
        raise Refused("usage", problem=f"{out} cannot be written: {problem}") from problem


def add_to(group: Group) -> None:
    """Register the command."""
    group.command("new", data=MADE, shows=made)(new)
