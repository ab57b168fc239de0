"""The rows of the table in docs/agents.md: what a crash does to an agent, at which moment. Each is proven by tests.

A test says which rows it proves: `@row("asking")`. tests/docs writes the page from here, and refuses a row without a test
and a test without a row.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

F = TypeVar("F", bound=Callable[..., object])


@dataclass(frozen=True)
class Row:
    """`at` is when the worker is killed; `does` and `left` what that does and leaves; `who` goes on."""

    at: str
    does: str
    left: str
    who: str


ROWS = {
    "admission": Row(
        "before a message is admitted",
        "Nothing is accepted, and nobody was told that it was.",
        "no run; or, where only the answer was lost, one run",
        "the sender, with the same request id",
    ),
    "asking": Row(
        "while the model is asked, before anything came",
        "The request is counted as lost. The same question is asked again.",
        "one `asked` entry more, its reserve spent",
        "the next worker",
    ),
    "loop": Row(
        "twice in one request to the model",
        "The model is not asked a third time: a crash loop spends no money.",
        "two lost requests, and `poisoned`",
        "a person with `runs resume`",
    ),
    "streaming": Row(
        "while an answer is streamed",
        "The pieces that came were provisional and are dropped. The same question is asked again.",
        "one `asked` entry more; no piece stands in the journal",
        "the next worker",
    ),
    "deciding": Row(
        "between an answer and its first tool",
        "The saved answer is used. The model is not asked.",
        "the decision",
        "the next worker",
    ),
    "safe": Row(
        "in a safe tool",
        "It runs again.",
        "one result, the one that was saved",
        "the next worker",
    ),
    "part": Row(
        "in a tool that is a part of the workflow, also while it sleeps",
        "It is run again from its top. What it did stands at positions of the run and is given back; it sleeps no longer than it was to.",
        "one timer, which fires once; one result of each step",
        "the next worker, when the time has come",
    ),
    "undeclared": Row(
        "in an undeclared tool",
        "It is never run again. The model hears that its outcome is unknown, and goes on with safe tools; every write is held.",
        "one call, `interrupted_tool` when a write or the end is reached",
        "a person with `operations resolve`",
    ),
    "resolve": Row(
        "in an undeclared tool that has `resolve=`",
        "Its function is asked what the call did, with growing pauses. What it says closes the call.",
        "one call, and its function's answer as evidence",
        "the next worker; a person when the owner's time is over",
    ),
    "again": Row(
        "in an undeclared tool, and the model calls it again",
        "The second call is not run. Once a person said that the first one happened, another is held as `possible_repeat`.",
        "one effect",
        "a person: refuses it, or allows it",
    ),
    "changed": Row(
        "in an undeclared tool, and the next worker's code refuses the saved call",
        "The model is not asked on: it would plan in the new form what may have happened in the old one.",
        "`code_changed`, which names the call",
        "a worker with the old version, or `runs cancel`",
    ),
    "held": Row(
        "while a write is held",
        "It stays held: it was planned without knowing, also for the next worker.",
        "the same question to the same person",
        "the person who was asked",
    ),
    "operation": Row(
        "in an operation whose receiver takes a key, or can be asked",
        "It is repeated under its key, or looked up.",
        "one record, and its receipt",
        "the next worker",
    ),
    "doubt": Row(
        "in an operation that only a person can clear up",
        "The run stands still: no request to the model, no tool, no other write.",
        "`outcome_unknown`; the model hears the resolution next",
        "a person with `operations resolve`",
    ),
    "business key": Row(
        "in an operation, and the model plans it again",
        "The business key finds the first one: its receipt is the answer. Other content is held as `business_key_conflict`.",
        "one record for each business key",
        "the next worker, or a person",
    ),
    "batch": Row(
        "between the tools of one answer",
        "Those that ended keep their results. The others run as if nothing had happened, each by its own row.",
        "each effect once",
        "the next worker",
    ),
    "review": Row(
        "while a review is open, or at its answer",
        "Nothing is lost: the review, its digest and its answer are rows.",
        "one use of one approval",
        "the reviewer, then the next worker",
    ),
    "child": Row(
        "in another agent that it asked",
        "That agent's turn is a run of its own and goes by its own rows. The asking turn waits, and sends nothing meanwhile.",
        "one child run, found again by its request id",
        "the next worker, or whoever clears up the child's doubt",
    ),
    "ending": Row(
        "at the end of a turn",
        "The saved answers lead to the same end. The model is not asked.",
        "one message of the agent",
        "the next worker",
    ),
    "compaction": Row(
        "during a compaction",
        "It is a decision like any other: lost and asked again, or saved and used. The older messages are kept.",
        "one summary",
        "the next worker",
    ),
    "abort": Row(
        "during an abort",
        "Nothing is sent any more, and no model is asked; nor by an agent that it asked. What may have happened is cleared up first.",
        "a cancelled run, or `interrupted_tool` until somebody knows",
        "the next worker, or a person",
    ),
    "server": Row(
        "not at all: its MCP server is out of reach when a turn begins, or goes on after a crash",
        "Each try to reach it is a failed try of the budget, with growing pauses. Nothing is asked and nothing is called meanwhile.",
        "the turn, which goes on where it stood",
        "the next try; the budget's owner once the tries are spent",
    ),
    "two owners": Row(
        "not at all: its worker is frozen until another one has taken over, and thawed",
        "The fence refuses its decisions and steps. What it knows of a write is taken as evidence.",
        "one decision at each position; one record, or a visible doubt",
        "the second worker",
    ),
}
PROOFS: dict[str, list[str]] = {name: [] for name in ROWS}  # by row: FILE::TEST


def row(*names: str) -> Callable[[F], F]:
    """This test proves these rows."""

    def proves(test: F) -> F:
        for name in names:
            PROOFS[name].append(f"{test.__module__.rpartition('.')[2]}.py::{test.__name__}")
        return test

    return proves
