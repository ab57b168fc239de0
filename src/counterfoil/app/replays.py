"""Hold a model's new answers against the saved ones. Nothing is written, and nothing acts on an answer."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from counterfoil.app.views.difference import payload_difference
from counterfoil.model.errors import Refused

USED = ("requests", "input_tokens", "output_tokens")


@dataclass(frozen=True, slots=True)
class Replay:
    """What is asked anew. `ignore`: fields that may differ, and what lies below them. `at_once`: requests at the same time."""

    model: str
    prompt: str | None = None
    agent: Any = None
    ignore: Sequence[str] = ()
    at_once: int = 4


async def replay(cases: Sequence[dict[str, Any]], wanted: Replay) -> dict[str, Any]:
    """REPLAY: `{model, equal, different, failed, items, saved, now, left_out}`.

    A case that the model did not answer is failed, with its problem; the others are asked all the same.
    Raises Refused(usage, tool_missing) before anybody is asked.
    """
    from counterfoil.agents.replaying import Replayer, replayer

    places = asyncio.Semaphore(wanted.at_once)

    async def one(asker: Replayer, case: dict[str, Any]) -> dict[str, Any]:
        async with places:
            return await _held(asker, case, wanted)

    async with replayer(wanted.model, wanted.prompt, wanted.agent) as asker:
        items = await asyncio.gather(*(one(asker, case) for case in cases))
        left_out = list(asker.left_out)
    counts: dict[str, Any] = {
        status: sum(item["status"] == status for item in items) for status in ("equal", "different", "failed")
    }
    return {"model": wanted.model} | counts | {
        "saved": _total([_then(case) for case in cases]), "now": _total(items), "left_out": left_out, "items": items,
    }  # fmt: skip


async def _held(asker: Any, case: dict[str, Any], wanted: Replay) -> dict[str, Any]:
    metadata: dict[str, Any] = case["metadata"]
    versions: dict[str, Any] = metadata.get("versions") or {}
    saved: Any = None
    none: list[dict[str, Any]] = []
    item: dict[str, Any] = {
        "name": case["name"], "decision_id": metadata.get("decision_id"), "verdict": metadata.get("verdict"),
        "saved_model": versions.get("model"), "prompt_version": versions.get("prompt_version"),
    }  # fmt: skip
    try:
        saved = saved_output(case)
        asked = await asker.ask(case["inputs"], case["expected_output"])
    except Refused:
        raise
    except Exception as problem:  # whatever a model, its provider, the network or a damaged case says
        said = f"{type(problem).__name__}: {problem}"
        nothing: dict[str, Any] = {"output": None, "usage": {}, "cost_micros": None}
        return item | {"status": "failed", "problem": said, "differences": none, "saved_output": saved} | nothing
    rows = [
        row
        for row in payload_difference(saved, asked.output)
        if row["what"] != "same" and not _ignored(row["field"], wanted.ignore)
    ]
    return item | {
        "status": "different" if rows else "equal", "problem": None, "differences": rows, "saved_output": saved,
        "output": asked.output, "usage": asked.usage, "cost_micros": asked.cost_micros,
    }  # fmt: skip


def saved_output(case: dict[str, Any]) -> Any:
    """As it is compared: of a turn's response the text and the calls, of anything else the whole."""
    if "messages" not in case["inputs"]:
        return case["expected_output"]
    from counterfoil.agents.answered import said_in
    from counterfoil.agents.messages import response_of

    return said_in(response_of(case["expected_output"]))


def _ignored(field: str, ignore: Sequence[str]) -> bool:
    return any(field == each or field.startswith((f"{each}.", f"{each}[")) for each in ignore)


def _then(case: dict[str, Any]) -> dict[str, Any]:
    metadata: dict[str, Any] = case["metadata"]
    return {"usage": metadata.get("usage") or {}, "cost_micros": metadata.get("cost_micros"), "status": "equal"}


def _total(items: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Usage and cost of those that were answered; the cost is null where none is known."""
    answered = [item for item in items if item["status"] != "failed"]
    costs = [item["cost_micros"] for item in answered if item["cost_micros"] is not None]
    used = {name: sum(item["usage"].get(name, 0) for item in answered) for name in USED}
    return used | {"cost_micros": sum(costs) if costs else None, "unpriced": len(answered) - len(costs)}
