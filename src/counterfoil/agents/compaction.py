"""Compaction: what was said is told again in short, saved as a decision. The messages themselves stay in their turns."""

from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import ModelRequest, UserPromptPart

from counterfoil.agents.messages import messages_of, plain_of

COMPACT = "compact "  # how the name of the question begins
KEPT_TURNS = 2  # so many of the newest exchanges stay as they were said

INSTRUCTIONS = (
    "You are given the messages of a conversation between a user and an agent with tools. Write a summary that lets the agent "
    "go on without them: what the user wants, what was found out, what was decided and why, each outside action with its "
    "outcome and its reference exactly as it stands there, what is open. Do not invent anything. Do not address the user."
)


def split(messages: list[dict[str, Any]], turns: int = KEPT_TURNS) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """(older, newest): cut before what a user said, so that no call is parted from its return."""
    starts = [n for n, message in enumerate(messages) if _is_said_by_user(message)]
    cut = starts[-turns] if len(starts) > turns else 0
    return messages[:cut], messages[cut:]


def compacted(output: dict[str, Any]) -> list[dict[str, Any]]:
    """The messages that stand for all before: the summary, then those that were kept."""
    summary = UserPromptPart(f"Summary of this conversation so far, written by the agent:\n{output['summary']}")
    return [*plain_of([ModelRequest(parts=[summary])]), *output["kept"]]


def summarizer(agent: Agent[Any, Any], model: Any) -> Agent[None, str]:
    """Asks the model, or the agent's own, without its tools."""
    return Agent(model or agent.model, output_type=str, instructions=INSTRUCTIONS)


def transcript(messages: list[dict[str, Any]]) -> str:
    """The messages as text for the summary."""
    lines: list[str] = []
    for message in messages_of(messages):
        for part in message.parts:
            content = getattr(part, "content", None) or getattr(part, "args", None)
            name = getattr(part, "tool_name", None)
            lines.append(f"[{part.part_kind}{f' {name}' if name else ''}] {content}")
    return "\n".join(lines)


def _is_said_by_user(message: dict[str, Any]) -> bool:
    kinds = [part["part_kind"] for part in message["parts"]]
    return message["kind"] == "request" and "user-prompt" in kinds and "tool-return" not in kinds
