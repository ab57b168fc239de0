"""What a person sees of conversations."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from counterfoil.cli.tables import fields, heading, more, next_action, plain, sentence, table

if TYPE_CHECKING:
    from rich.console import Console

Data = Mapping[str, Any]


def listed(console: "Console", data: Data) -> None:
    """Each conversation, and who is at work in it."""
    rows = [
        (each["name"], each["agent"], each["turns"], _at_work(each), each["queued"], each["created_at"])
        for each in data["items"]
    ]
    columns = ("conversation", "agent", "turns", "at work", "queued", "began")
    table(console, columns, rows, empty="There is no conversation.")
    more(console, data)


def one(console: "Console", data: Data) -> None:
    """A conversation without its transcript."""
    heading(console, f"{data['name']} (conversation-{data['number']}) with {data['agent']}")
    sentence(console, f"{data['turns']} turns; at work: {_at_work(data)}; queued: {data['queued']}")
    if data["forked_from"]:
        sentence(console, f"forked from {data['forked_from']['name']} at turn {data['forked_from']['turn']}")
    if data["next"] != "message":
        sentence(console, f"The next turn is a {data['next']}.")
    if data["settings"]:
        fields(console, data["settings"])


def with_transcript(console: "Console", data: Data) -> None:
    """The conversation, and what was said in it, turn by turn."""
    one(console, data)
    for each in data.get("documents", ()):
        sentence(
            console,
            f"working context: {each['name']} (doc-{each['number']}, {each['scope']}), version {each['version']}",
        )
    for turn in data["transcript"]["items"]:
        _turn(console, turn)
    more(console, data["transcript"])


def sent(console: "Console", data: Data) -> None:
    """What became of a message."""
    how = {
        "new": "its turn begins", "follow_up": "its turn waits for the one at work", "existing": "known; nothing new was stored",
        "steer": "for the turn at work to read",
    }  # fmt: skip
    sentence(console, f"turn {data['turn']} of {data['conversation']}, run-{data['number']}: {how[data['admitted']]}")
    sentence(console, data["sentence"])
    if data["result"] is not None:
        sentence(console, plain(data["result"]))
    next_action(console, data["next_action"])


def aborted(console: "Console", data: Data) -> None:
    """What an abort did, to the turn at work and to the queue."""
    sentence(console, f"run-{data['number']} is {data['state']}. {data['sentence']}")


def watched(console: "Console", data: Data) -> None:
    """Where a watch came to; its items were drawn as they came."""
    sentence(console, f"position {data['position']}")


def item(console: "Console", data: Data) -> None:
    """One item of a watch, as it comes."""
    match data["type"]:
        case "snapshot":
            with_transcript(
                console, data["conversation"] | {"transcript": {"items": data["turns"], "next_cursor": None}}
            )
        case "partial":
            console.print(plain(data["text"]), style="dim", end="", markup=False)
        case _:
            sentence(console, f"turn {data['n']}  {data['kind']} {data['name'] or ''}  {data['at']}")


def _at_work(data: Data) -> str | None:
    at_work = data["at_work"]
    return None if at_work is None else f"run-{at_work['number']} {at_work['state']}"


def _turn(console: "Console", turn: Data) -> None:
    about = f"{turn['n']}  run-{turn['number']} {turn['state']}" + (
        "" if turn["kind"] == "message" else f" ({turn['kind']})"
    )
    heading(console, about)
    said = turn["messages"] or [{"role": "user", "text": turn["text"]}]
    for message in said:
        sentence(console, f"{message['role']}: {plain(message['text'])}")
