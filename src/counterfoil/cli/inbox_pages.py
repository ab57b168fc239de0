"""What a person sees of the inbox and of the audit."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from counterfoil.cli.amounts import shown_amount
from counterfoil.cli.tables import fields, heading, more, next_action, sentence, table

if TYPE_CHECKING:
    from rich.console import Console

Data = Mapping[str, Any]

_NAMES = {"review": "rev", "run": "run", "incident": "inc"}
EMPTY = "Nothing needs a person. Open reviews, parked runs, open incidents and overdue runs would appear here."


def items(console: "Console", data: Data) -> None:
    """The list: what, why, until when, whose."""
    rows = [
        (
            f"{_NAMES[each['kind']]}-{each['number']}", each["reason"], each["deadline_at"], each["overdue"] or None,
            each["owner"], each["taken_by"], each["target"] or each["business_key"] or each["request_id"],
            shown_amount(each["amount"]), each["next_action"]["code"],
        )
        for each in data["items"]
    ]  # fmt: skip
    columns = ("what", "reason", "deadline", "overdue", "owner", "taken by", "about", "amount", "next")
    table(console, columns, rows, empty=EMPTY)
    if rows:
        sentence(console, f"What to do and the command: counterfoil inbox show {rows[0][0]}")
    more(console, data)


def item(console: "Console", data: Data) -> None:
    """One thing, and what was said about it."""
    heading(console, f"{_NAMES[data['kind']]}-{data['number']} {data['reason']}")
    next_action(console, data["next_action"])
    names = (
        "subject", "workflow", "run_id", "operation", "receiver", "target", "business_key", "since_at", "deadline_at", "overdue",
        "owner", "owner_then", "escalated_to", "taken_by", "snoozed_until", "snooze_reason",
    )  # fmt: skip
    fields(console, {name: data[name] for name in names} | {"amount": shown_amount(data["amount"])})
    if data["said"]:
        heading(console, "said")
        table(console, ("at", "who", "what"), [(c["at"], c["person"], c["text"]) for c in data["said"]], empty="")


def counts(console: "Console", data: Data) -> None:
    """By reason."""
    sentence(console, f"{data['total']} things need a person, {data['overdue']} overdue; {data['snoozed']} put off.")
    rows = [(each["reason"], each["count"], each["overdue"]) for each in data["reasons"]]
    table(console, ("reason", "count", "overdue"), rows, empty=EMPTY)


def preview(console: "Console", data: Data) -> None:
    """The count first: it is what is typed next."""
    sentence(
        console, f"{data['act']} would act on {data['count']}; {data['left_out']} more fit and cannot be moved so."
    )
    items(console, {"items": data["items"]})
    command = f"counterfoil inbox carry-out {data['act']} with the same filter"
    sentence(console, f"carry out: {command}, --count {data['count']} --digest {data['digest']}")


def carried_out(console: "Console", data: Data) -> None:
    """How many are done, and each refusal."""
    sentence(console, f"{data['act']}: {len(data['done'])} done, {len(data['refused'])} refused.")
    rows = [(each["subject"], each["code"], each["message"]) for each in data["refused"]]
    if rows:
        table(console, ("subject", "code", "message"), rows, empty="")


def acts(console: "Console", data: Data) -> None:
    """Who did what."""
    rows = [(each["at"], each["person"], each["verb"], each["what"], each["subject"]) for each in data["items"]]
    table(console, ("at", "who", "verb", "what", "subject"), rows, empty="Nobody did anything that fits.")
    more(console, data)
