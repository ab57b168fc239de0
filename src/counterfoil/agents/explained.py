"""What a crash does with each tool of an agent, from the code alone; and what is refused before anything runs."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pydantic_ai import Agent, Tool
from pydantic_ai.toolsets import ExternalToolset, FunctionToolset

from counterfoil.agents.declared import SAFE_TOOL, Declared, declared_by
from counterfoil.agents.made import maker_of, seen_through
from counterfoil.agents.marked import Held, Server, held_in
from counterfoil.engine.definitions import Operation
from counterfoil.model.errors import Refused

if TYPE_CHECKING:
    from counterfoil.agents.agent import DurableAgent
    from counterfoil.agents.attached import Known

# Kinds of rows behind which more names may stand than the code shows.
_MORE = frozenset({"run", "trusted", "untrusted", "dynamic"})

_SENTENCES = {
    "safe": "May run again: after a crash it is run again, and its result is recorded once.",
    "run": "A part of the workflow: it is replayed, and what it does stands at positions of the run.",
    "operation": "Through the ledger, under its contract: after a crash it is repeated, looked up or brought to a person as "
    "`counterfoil explain {tool}` says; the run stops until its outcome is known.",
    "agent": "Another agent's turn, as a run of its own: a crash leaves it as that run is. While that is in doubt, this run "
    "sends nothing.",
    "undeclared": "Once only: interrupted, it is never run again. The model hears at once that its outcome is unknown; every "
    "further write waits until a person says what happened.",
    "resolve": "Once only: interrupted, it is never run again. {asked} is asked what it did, again and again; until it or a "
    "person says so, every further write waits.",
    "trusted": "What a tool says of itself is believed: with readOnlyHint, or with idempotentHint where it also says that "
    "destructiveHint is false, it may run again. Any other is called once only.",
    "untrusted": "Whatever its tools say of themselves: each is called once only, and interrupted it is never run again until a "
    "person says what happened. `trusted(...)` believes it; `app.operation(...)(mcp_tool(...))` puts a tool under the ledger.",
    "dynamic": "Made by {made}: its tools show when they run. Each is called once only, unless its own function says more.",
}


def servers_of(operations: "Sequence[Operation[Any, Any] | DurableAgent]") -> list[Server]:
    """The operations that are a tool of an MCP server."""
    given = [
        (each, getattr(each.function, "__counterfoil_mcp__", None))
        for each in operations
        if isinstance(each, Operation)
    ]
    return [(place[0], place[1], each) for each, place in given if place is not None]


def lies_in(agent: Agent[Any, Any], known: "Known", given: "Operation[Any, Any] | DurableAgent") -> bool:
    """Whether the agent has this operation's server: the model sees the tool there."""
    held = [each.toolset for each in _held(agent)]
    return any(server in held and operation is given for server, _, operation in known.servers)


def check_tools(agent: Agent[Any, Any], known: "Known") -> None:
    """Every review that its tools name is made known, and every function that is asked after an interruption.

    Raises Refused: no_reviewer, two_reviews, external_tool.
    """
    for held in _held(agent):
        if held.review is not None:
            known.undeclared.has_review(held.review)
        if isinstance(held.toolset, ExternalToolset):
            names = [each.name for each in held.toolset.tool_defs]
            raise Refused("external_tool", tool=", ".join(names))
        for name, tool, declared in _functions(held):
            known.undeclared.learns(name, declared)
            if declared.review is not None:
                known.undeclared.has_review(declared.review)
            if tool.requires_approval:
                known.undeclared.reviewed(name, declared)


def tools_of(
    agent: Agent[Any, Any], known: "Known", given: "Sequence[Operation[Any, Any] | DurableAgent]"
) -> list[dict[str, Any]]:
    """`[{tool, kind, review, sentence, operation}]`; `operation` names the one that it is, or None.

    An MCP server is not asked: it is one row, besides the operations that it holds. A function that makes a toolset is asked
    for it: what it makes here and now stands for what a turn gets.
    """
    return _rows([each for held in _held(agent) for each in seen_through(held)], known) + [
        _row(each.name, "operation" if isinstance(each, Operation) else "agent", each) for each in given
    ]


def called_by(
    agent: Agent[Any, Any], known: "Known", given: "Sequence[Operation[Any, Any] | DurableAgent]"
) -> frozenset[str] | None:
    """The names of all that its turns can call; None where a tool may call more, or shows only when it runs."""
    rows = _rows(list(_held(agent)), known)
    if any(row["kind"] in _MORE for row in rows):
        return None
    named = {name for row in rows for name in (row["tool"], row["operation"]) if name is not None}
    return frozenset(named | {each.name for each in given})


def _rows(found: Sequence[Held], known: "Known") -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for held in found:
        if isinstance(held.toolset, FunctionToolset):
            for name, tool, declared in _functions(held):
                rows.append(_function_row(name, tool, SAFE_TOOL if name in known.safe else declared))
        elif held.is_mcp:
            rows += [
                _row(f"{held.prefix}{own}", "operation", operation, tool=operation.name)
                for server, own, operation in known.servers if server is held.toolset
            ]  # fmt: skip
            rows.append(_row(f"{held.prefix}*", "trusted" if held.trusted else "untrusted", held))
        else:
            rows.append(_row(f"{held.prefix}*", "dynamic", held, made=maker_of(held)))
    return rows


def _function_row(name: str, tool: Tool[Any], declared: Declared) -> dict[str, Any]:
    kind = declared.replay or ("undeclared" if declared.resolve is None else "resolve")
    if tool.requires_approval and kind in ("safe", "run"):
        kind = "undeclared"
    function = declared.resolve
    asked = "" if function is None else f"{function.__module__}:{function.__qualname__}"
    row = _row(name, kind, declared, asked=asked)
    if row["review"] is not None:
        row["sentence"] += f" Where it asks for an approval, {row['review']} lets these arguments pass, once."
    return row


def _row(name: str, kind: str, of: Any, **words: str) -> dict[str, Any]:
    review = getattr(of, "review", None)
    sentence = _SENTENCES[kind].format(**{"tool": name} | words)
    return {
        "tool": name, "kind": kind, "review": None if review is None else review.role, "sentence": sentence,
        "operation": of.name if isinstance(of, Operation) else None,
    }  # fmt: skip


def _held(agent: Agent[Any, Any]) -> Iterator[Held]:
    for toolset in agent.toolsets:
        yield from held_in(toolset)


def _functions(held: Held) -> Iterator[tuple[str, Tool[Any], Declared]]:
    """The tools of a toolset of functions, by the names that the model sees, with what each declares."""
    if isinstance(held.toolset, FunctionToolset):
        for name, tool in held.toolset.tools.items():
            declared = declared_by(tool.function)
            yield (
                f"{held.prefix}{name}",
                tool,
                Declared(
                    declared.replay, declared.resolve, declared.review or held.review, declared.tries, declared.pause
                ),
            )
