"""What only a person moves, told with its evidence, its next allowed action and who may do it."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from counterfoil.cli import pages
from counterfoil.cli.tables import fields, next_action, plain, sentence

if TYPE_CHECKING:
    from rich.console import Console

Data = Mapping[str, Any]


def open_reviews(run: Data) -> Iterator[Data]:
    """The APPROVALs of a RUN that wait for an answer."""
    return (each for each in run["records"]["approvals"] if each["state"] == "open")


def in_doubt(run: Data) -> Iterator[Data]:
    """The OPERATIONs of a RUN about which a person is asked: in doubt, or held."""
    for each in run["records"]["operations"]:
        if each["status"] not in ("succeeded", "failed") and each["next_action"]["code"] == "resolve":
            yield each


def key_of(run: Data) -> tuple[Any, ...]:
    """The same as long as nothing has changed about why it stands."""
    doubts = tuple((each["number"], each["version"]) for each in in_doubt(run))
    return run["run_id"], "stands", run["state"], run["reason"], doubts, run["next_action"]["command"]


def stands(run: Data) -> bool:
    """Whether nobody but a person moves it on, and no review of its own says so already."""
    return run["state"] == "parked" or (
        run["state"] == "waiting" and run["next_action"]["who"]["kind"] != "scheduler" and not any(open_reviews(run))
    )


def draw(console: "Console", run: Data) -> None:
    """Why it stands; each doubt with what is known of it; who does what next."""
    from rich.text import Text

    console.print(Text(f"run-{run['number']} is {run['state']}: {plain(run['sentence'])}", style="bold yellow"))
    doubts = list(in_doubt(run))
    for each in doubts:
        _doubt(console, each)
    if not doubts:
        next_action(console, run["next_action"])
        fields(console, {"owner": run["owner"], "until": run["deadline_at"]})


def _doubt(console: "Console", operation: Data) -> None:
    case = operation["case"]
    sentence(
        console, f"op-{operation['number']} {operation['operation']} {operation['status']}: {operation['sentence']}"
    )
    if case["letter"]:
        sentence(console, f"case {case['letter']}: {case['sentence']}")
    tries = [
        f"try {each['n']}: sent {each['sent']}, reached {each['reached']}, "
        + (f"answer {each['answer']['status']} {each['answer']['class']}" if each["answer"] else "no answer")
        for each in operation["attempts"]
    ]
    fields(
        console,
        {
            "business key": operation["business_key"], "key": operation["idempotency_key"], "tries": "\n".join(tries) or None,
            "receipts": "\n".join(f"{each['how']} {each['reference']}" for each in operation["receipts"]) or None,
            "to find out": operation["contract"]["procedure"] or None, "owner": operation["owner"],
        },
    )  # fmt: skip
    next_action(console, operation["next_action"])


def draw_review(console: "Console", review: Data, forbidden: str | None) -> None:
    """The exact proposal, its digest and version, and how to answer here. `forbidden`: why this person may not."""
    from rich.text import Text

    pages.review(console, review)
    if forbidden is None:
        console.print(Text("here: /approve [COMMENT], /reject [COMMENT], /revise COMMENT", style="bold"))
    else:
        sentence(console, forbidden)
