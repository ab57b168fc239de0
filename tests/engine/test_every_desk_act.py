"""Whatever act a desk has, now or later: who may not do it is refused, and nothing is written."""

import asyncio
import inspect
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from counterfoil.app.desk import Desk
from counterfoil.model.errors import Refused
from tests.engine.desk_stage import REFUSALS, STATEMENT, Stage, stage, texts

# What an act is given, by the name of its parameter.
GIVEN: dict[str, Any] = {
    "run": "run-1", "operation": "op-1", "review": "rev-1", "incident": "inc-1", "subject": "run-1", "worker": "wrk_1",
    "workflow": "refund", "input": {"number": "9"}, "request_id": "r-9", "name": "new", "payload": {}, "signal_id": "s-9",
    "reason": "because", "digest": "sha256:0", "as_": "failed", "evidence": b"letter", "expect_version": 1, "all_": True,
    "secret": "s3cret", "role": "clerk", "verb": "read", "grant": "gra_", "token": "tok_nobody", "text": "hello", "to": "ana",
    "until": "1h", "act": "resume", "count": 1, "content": STATEMENT, "receiver": "bank", "expires_in": timedelta(days=1),
    "person": "ana", "conversation": "talk", "into": "other", "changes": {"model": "small"},
    "raises": {"tokens": 9}, "budget": "budget-1", "delivery": "dlv-1",
}  # fmt: skip
NARROW = {"receiver", "operation"}  # of a stop, where `all_` is given


def acts(desk: Desk) -> dict[str, Callable[..., Any]]:
    """Every act of every noun: what is awaited."""
    nouns: dict[str, Any] = {name: noun for name, noun in vars(desk).items() if type(noun).__name__.startswith("Desk")}
    nouns |= {"access.grants": desk.access.grants, "access.tokens": desk.access.tokens}
    return {
        f"{name}.{method}": getattr(noun, method)
        for name, noun in nouns.items()
        for method, body in inspect.getmembers(type(noun), inspect.iscoroutinefunction)
        if not method.startswith("_") and body
    }


def arguments(act: Callable[..., Any]) -> dict[str, Any]:
    parameters = inspect.signature(act).parameters
    wanted = {n for n, p in parameters.items() if p.default is p.empty} | ({"all_", "person"} & set(parameters))
    chosen = {name: GIVEN[name] for name in wanted - (NARROW if "all_" in parameters else set())}
    if act.__name__ == "carry_out":
        chosen["act"] = "cancel"
    return chosen


@pytest.mark.parametrize(
    "who", ["a token of another workflow", "a token for reading", "no role", "another workflow's role"]
)
def test_no_act_of_a_desk_is_open(tmp_path: Path, who: str) -> None:
    with stage(tmp_path) as on:
        on.contradicted()
        desk = on.app.desk(somebody(on, who))
        found = acts(desk)
        assert len(found) > 25
        before = on.written()
        for name, act in found.items():
            told = answer(act)
            # Many at once name what is refused thing by thing, and nothing where nothing fits any more.
            assert told in REFUSALS | {"selection_changed", "not_waiting"} or (
                name == "inbox.carry_out" and "not_permitted" in told
            ), name
            assert on.written() == before, name


def answer(act: Callable[..., Any]) -> str:
    try:
        return texts(asyncio.run(act(**arguments(act))))
    except Refused as refused:
        return refused.code


def somebody(on: Stage, who: str) -> Any:
    match who:
        case "a token of another workflow":
            on.person("pat", "admin", "approver", "ops")
            return on.token("pat", workflows=["hire"])
        case "a token for reading":
            on.person("pat", "admin", "approver", "ops")
            return on.token("pat", verbs=["read"])
        case "no role":
            return on.nobody
        case _:
            for verb in ("read", "submit", "answer", "withdraw", "resolve", "cancel", "resume", "tend", "signal"):
                on.grant("narrow", verb, workflow="hire")
            return on.person("pat", "narrow")


def test_the_act_that_is_looked_for_is_found(tmp_path: Path) -> None:
    with stage(tmp_path) as on:
        found = acts(on.app.desk(on.person("root", "admin")))
    assert {
        "runs.cancel",
        "inbox.take",
        "access.grants.grant",
        "workers.quiet",
        "money.reconcile",
        "access.tokens.create",
    } <= set(found)
