"""What a person sees of decisions."""

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from counterfoil.cli.tables import fields, heading, sentence, table

if TYPE_CHECKING:
    from rich.console import Console

Data = Mapping[str, Any]
LONGEST = 60  # characters of a value in a table; the whole is in --json, and in `decisions show`
_USED = ("asked", "decisions", "failed", "lost", "input_tokens", "output_tokens")


def listed(console: "Console", data: Data) -> None:
    """A line each."""
    rows = [
        (
            f"run-{each['run_number']}/{each['sequence']}", _of(each, "workflow"), each["agent"], _of(each, "model"),
            _of(each, "prompt_version"), each["verdict"], usd(each["cost_micros"]),
        )
        for each in data["items"]
    ]  # fmt: skip
    columns = ("decision", "workflow", "agent", "model", "prompt", "verdict", "cost")
    table(console, columns, rows, empty="No decision fits.")
    if data["more"]:
        sentence(console, "There are more: raise --limit, or narrow with --since.")


def one(console: "Console", data: Data) -> None:
    """Versions and cost, what was asked and answered, then what became of it."""
    heading(console, f"run-{data['run_number']}/{data['sequence']} {data['agent']}: {data['verdict']}")
    versions = {name: value for name, value in data["versions"].items() if value is not None}
    fields(console, versions | data["usage"] | {"cost": usd(data["cost_micros"]), "lost calls": data["lost"]})
    heading(console, "input")
    if "messages" in data["input"]:
        table(
            console, ("who", "what"), [row for message in data["input"]["messages"] for row in said(message)], empty=""
        )
        heading(console, "output")
        table(console, ("who", "what"), said(data["output"]), empty="An empty answer.")
    else:
        sentence(console, json.dumps(data["input"]["input"], indent=1, ensure_ascii=False))
        heading(console, "output")
        sentence(console, json.dumps(data["output"], indent=1, ensure_ascii=False))
    verdicts(console, data["verdicts"])
    if data["operations"]:
        heading(console, "operations")
        rows = [(f"op-{o['number']}", o["operation"], o["status"], o["reason"]) for o in data["operations"]]
        table(console, ("op", "operation", "status", "reason"), rows, empty="")


def said(message: Data) -> list[tuple[str, str]]:
    """Who said what in one message of a turn: a line for each part that has words."""
    rows: list[tuple[str, str]] = []
    for part in message["parts"]:
        what = part.get("args") if part["part_kind"] == "tool-call" else part.get("content")
        text = what if isinstance(what, str) else json.dumps(what, ensure_ascii=False)
        rows.append((part["part_kind"], f"{part['tool_name']}: {text}" if part.get("tool_name") else text))
    return rows


def verdicts(console: "Console", said: Sequence[Data]) -> None:
    """Who said what."""
    if said:
        heading(console, "verdicts")
        rows = [(v["verdict"], v["by"] or v["how"], v["comment"], v["at"]) for v in said]
        table(console, ("verdict", "by", "comment", "at"), rows, empty="")


def used(console: "Console", data: Data) -> None:
    """A line for each kind, and the sum; `in` and `out` are tokens."""
    rows = [_used(each, each["key"] or "-") for each in data["items"]]
    if len(rows) > 1:
        rows.append(_used(data["total"], "all"))
    columns = (data["by"], "asked", "decided", "failed", "lost", "in", "out", "cost")
    table(console, columns, rows, empty="No model was asked.")


def _used(each: Data, key: str) -> tuple[Any, ...]:
    return (key, *(each[name] for name in _USED), _cost(each))


def exported(console: "Console", data: Data) -> None:
    """How many, and what is missing."""
    counts = ", ".join(f"{count} {name}" for name, count in sorted(data["verdicts"].items()))
    sentence(console, f"{data['cases']} decisions in {data['file']}" + (f": {counts}" if counts else ""))
    missing(console, data["missing"])


def missing(console: "Console", found: Sequence[Data]) -> None:
    """Decisions that fit and cannot be read any more."""
    if found:
        heading(console, "not there any more")
        rows = [(each["decision_id"], each["code"], each["problem"]) for each in found]
        table(console, ("decision", "code", "problem"), rows, empty="")


def replayed(console: "Console", data: Data) -> None:
    """What differs, field by field; then the totals."""
    for item in data["items"]:
        if item["status"] == "equal":
            continue
        heading(console, f"{item['name']} {item['status']} (verdict then: {item['verdict'] or '-'})")
        if item["problem"]:
            sentence(console, item["problem"])
        rows = [(row["field"], _short(row["before"]), _short(row["after"])) for row in item["differences"]]
        if rows:
            table(console, ("field", item["saved_model"] or "saved", data["model"]), rows, empty="")
    missing(console, data["missing"])
    heading(console, f"{data['equal']} equal, {data['different']} different, {data['failed']} failed")
    names = ("requests", "input_tokens", "output_tokens")
    rows = [(who, *(data[who][name] for name in names), _cost(data[who])) for who in ("saved", "now")]
    table(console, ("", *(name.replace("_", " ") for name in names), "cost"), rows, empty="")


def _cost(total: Data) -> str | None:
    """An unknown price is said beside what is known."""
    shown = usd(total["cost_micros"])
    return f"{shown or '-'} ({total['unpriced']} unpriced)" if total["unpriced"] else shown


def usd(micros: int | None) -> str | None:
    """Micro-USD as people read them: `0.001250 USD`."""
    return None if micros is None else f"{Decimal(micros) / 1_000_000:f} USD"


def _of(each: Data, name: str) -> Any:
    versions: Data = each["versions"] or {}
    return versions.get(name)


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
