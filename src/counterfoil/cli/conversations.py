"""`counterfoil conversations`."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterfoil.cli import conversation_pages as pages
from counterfoil.cli.awaiting import awaited
from counterfoil.cli.command import Answer, Cursor, Limit, group
from counterfoil.cli.documents import json_of, read_bytes
from counterfoil.cli.invocation import Invocation
from counterfoil.cli.runs import By
from counterfoil.cli.submit import FAILED, WAITS, ended_within
from counterfoil.cli.tables import fields
from counterfoil.model.errors import Refused

if TYPE_CHECKING:
    from counterfoil.app import App

conversations = group("conversations", "What was said to agents: one accepted message is one turn, and one run.")

Which = Annotated[str, typer.Argument(metavar="CONVERSATION", help="Its name, its id, or conversation-NUMBER.")]
Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; it is recorded.")]
ABORTED = "{run_id, number, state, heading, withdrawn:[run_id], kept:[run_id], sentence}"
ITEM = "{type: snapshot|entry|partial}"


@conversations.command("list", data="{items:[CONVERSATION], next_cursor}", shows=pages.listed)
def list_conversations(invocation: Invocation, cursor: Cursor = None, limit: Limit = 50) -> Any:
    """List conversations, the newest first."""
    return invocation.app().conversations.list(cursor=cursor, limit=limit)


@conversations.command(
    "show",
    data="CONVERSATION and {transcript:{items:[TURN], next_cursor}, documents:[WORKING_DOCUMENT]}",
    shows=pages.with_transcript,
)
def show(invocation: Invocation, conversation: Which, cursor: Cursor = None, limit: Limit = 50) -> Any:
    """Show a conversation and its newest turns, in the order in which they were said."""
    return invocation.app().conversations.show(conversation, before=cursor, limit=limit)


@conversations.command("send", data="SENT", shows=pages.sent, also=(FAILED, WAITS))
def send(  # noqa: PLR0913 - an option each
    invocation: Invocation,
    agent: Annotated[str, typer.Argument(metavar="AGENT", help="Its name in the application.")],
    text: Annotated[str | None, typer.Argument(metavar="[TEXT]", help="The message; or --file.")] = None,
    conversation: Annotated[
        str, typer.Option("--conversation", metavar="NAME", help="A new name begins a conversation.")
    ] = "",
    request_id: Annotated[
        str, typer.Option("--request-id", metavar="ID", help="The same id with the same text is one message, for ever.")
    ] = "",
    when_busy: Annotated[
        str | None,
        typer.Option(
            "--when-busy",
            metavar="reject|follow_up|steer",
            help="While a turn is at work; else the conversation's setting, else reject.",
        ),
    ] = None,
    file: Annotated[
        str | None, typer.Option("--file", metavar="FILE", help="The text; - reads standard input.")
    ] = None,
    wait: Annotated[
        float | None,
        typer.Option("--wait", metavar="S", min=0, max=1e9, help="Wait for the answer, at most so many seconds."),
    ] = None,
    by: By = None,
) -> Any:
    """Send a message. With --wait: exit 5 when its turn waits for a person, 1 when it failed."""
    if not conversation or not request_id:
        raise Refused("usage", problem="a message needs --conversation and --request-id")
    said = _text(text, file)
    app = invocation.with_code()
    return awaited(_sent(app, agent, said, conversation, request_id, when_busy, wait, by))


async def _sent(
    app: "App",
    agent: str,
    text: str,
    conversation: str,
    request_id: str,
    when_busy: str | None,
    wait: float | None,
    by: str | None,
) -> Answer:
    talks = app.conversations
    data = await talks.send(
        text, conversation=conversation, request_id=request_id, agent=agent, when_busy=when_busy, by=by
    )
    if wait is None:
        return Answer(data)
    status = await ended_within(app, data["run_id"], wait)
    by_whom = talks.answered_by(data["run_id"])
    if by_whom != data["run_id"]:  # the turn at work has read it, and answers it
        status = await ended_within(app, by_whom, wait)
    run = app.runs.show(by_whom)
    names = ("state", "reason", "sentence", "result", "next_action")
    return Answer(data | {name: run[name] for name in names}, status)


@conversations.command("fork", data="CONVERSATION", shows=pages.one)
def fork(
    invocation: Invocation,
    conversation: Which,
    into: Annotated[str, typer.Option("--into", metavar="NAME", help="The new conversation's name.")],
    at: Annotated[
        int | None, typer.Option("--at", metavar="N", min=1, help="The last turn that is shared; else the newest.")
    ] = None,
    by: By = None,
) -> Any:
    """Begin another conversation that shares the past up to a turn. Refused over a turn that has not ended."""
    return awaited(invocation.app().conversations.fork(conversation, into=into, at=at, by=by))


@conversations.command("reset", data="CONVERSATION", shows=pages.one)
def reset(invocation: Invocation, conversation: Which, reason: Reason = "", by: By = None) -> Any:
    """Let later turns begin with an empty history. What was said stays readable."""
    return awaited(invocation.app().conversations.reset(conversation, reason=reason, by=by))


@conversations.command("compact", data="SENT", shows=pages.sent)
def compact(invocation: Invocation, conversation: Which, by: By = None) -> Any:
    """Have the agent tell what was said in short: later turns begin with that. What was said stays readable."""
    return awaited(invocation.with_code().conversations.compact(conversation, by=by))


@conversations.command("revise", data="SENT", shows=pages.sent)
def revise(
    invocation: Invocation,
    conversation: Which,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="What is wrong with it; the model reads it.")],
    by: By = None,
) -> Any:
    """Have the newest answer revised: the agent answers the same message anew. Both versions stay."""
    return awaited(invocation.with_code().conversations.revise(conversation, reason=reason, by=by))


@conversations.command("abort", data=ABORTED, shows=pages.aborted)
def abort(
    invocation: Invocation,
    conversation: Which,
    queued: Annotated[bool, typer.Option("--queued", help="Withdraw the queued messages too.")] = False,
    reason: Reason = "",
    by: By = None,
) -> Any:
    """Cancel the turn at work: nothing more is sent. Queued messages are kept and run next."""
    return awaited(invocation.app().conversations.abort(conversation, queued=queued, reason=reason, by=by))


@conversations.command("handoff", data="CONVERSATION", shows=pages.one)
def handoff(
    invocation: Invocation,
    conversation: Which,
    to: Annotated[str, typer.Option("--to", metavar="AGENT", help="The agent of later turns.")],
    note: Annotated[
        str, typer.Option("--note", metavar="TEXT", help="What the new agent is told; it is recorded.")
    ] = "",
    by: By = None,
) -> Any:
    """Let later turns be another agent's. The history is shared."""
    return awaited(invocation.with_code().conversations.handoff(conversation, to=to, note=note, by=by))


@conversations.command("settings", data="CONVERSATION", shows=pages.one)
def settings(
    invocation: Invocation,
    conversation: Which,
    changes: Annotated[
        list[str], typer.Option("--set", metavar="NAME=JSON", help="A setting; null takes it away. Repeatable.")
    ],
    by: By = None,
) -> Any:
    """Change settings: when_busy, and whatever the agent reads."""
    return awaited(invocation.app().conversations.settings(conversation, changes=dict(map(_setting, changes)), by=by))


@conversations.command("export", data="{file, conversation, lines, digest}", shows=fields)
def export(
    invocation: Invocation,
    conversation: Which,
    out: Annotated[str, typer.Option("--out", metavar="FILE", help="JSON lines; an existing file is refused.")],
) -> Any:
    """Write a conversation into a file: every turn that has ended."""
    import hashlib
    from pathlib import Path

    content = invocation.app().conversations.export_jsonl(conversation)
    with Path(out).open("xb") as file:
        file.write(content)
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    return {"file": out, "conversation": conversation, "lines": content.count(b"\n"), "digest": digest}


@conversations.command("import", data="CONVERSATION and {admitted: new|existing}", shows=pages.one)
def import_(
    invocation: Invocation,
    file: Annotated[str, typer.Argument(metavar="FILE", help="What `export` wrote; - reads standard input.")],
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="The conversation's name here; else as in the file.")
    ] = None,
    by: By = None,
) -> Any:
    """Begin a conversation whose past took place elsewhere. Its turns are history and never run; twice is once."""
    content = read_bytes(file, what="the conversation")
    return awaited(invocation.with_code().conversations.import_jsonl(content, name=name, by=by))


@conversations.command("watch", data=f"{{position, items:[{ITEM}]}}", shows=pages.watched)
def watch(
    invocation: Invocation,
    conversation: Which,
    position: Annotated[
        str | None, typer.Option("--position", metavar="P", help="Go on right behind it, without a snapshot.")
    ] = None,
    idle: Annotated[bool, typer.Option("--idle", help="Leave when nobody is at work; with --json always.")] = False,
    wait: Annotated[
        float | None, typer.Option("--wait", metavar="S", min=0, max=1e9, help="Leave after so many seconds.")
    ] = None,
) -> Any:
    """Watch a conversation: what was said, then each entry as it is committed. With --json the items are one document."""
    return awaited(_watched(invocation, conversation, position, idle or invocation.streams.json, wait))


async def _watched(
    invocation: Invocation, conversation: str, position: str | None, idle: bool, wait: float | None
) -> dict[str, Any]:
    items: list[dict[str, Any]] = []
    watching = invocation.app().conversations.watch(conversation, position=position, idle=idle, seconds=wait)
    async for item in watching:
        position = item.get("position", position)
        if invocation.streams.json:
            items.append(item)
        else:
            invocation.streams.draw(lambda console, item=item: pages.item(console, item))
    return {"position": position, "items": items}


def _text(text: str | None, file: str | None) -> str:
    if (text is None) == (file is None):
        raise Refused("usage", problem="give the message as TEXT or with --file, one of both")
    if file is None:
        return text or ""
    try:
        return read_bytes(file, what="the message").decode()
    except UnicodeDecodeError as problem:
        raise Refused("usage", problem=f"the message in {file} is not UTF-8") from problem


def _setting(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise Refused("usage", problem=f"--set {text!r} is not NAME=JSON")
    try:
        return name, json_of(value.encode())
    except Refused:
        return name, value  # a word by itself is that word
