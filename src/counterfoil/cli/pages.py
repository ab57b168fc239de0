"""What a person sees of runs, operations, reviews and what stands around them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from counterfoil.cli.amounts import shown_amount
from counterfoil.cli.tables import fields, heading, more, next_action, plain, sentence, table

if TYPE_CHECKING:
    from rich.console import Console

Data = Mapping[str, Any]


def runs(console: "Console", data: Data) -> None:
    """A list of runs."""
    rows = [
        (
            f"run-{run['number']}",
            run["workflow"],
            run["request_id"],
            run["state"],
            run["reason"],
            _short(run["sentence"]),
        )
        for run in data["items"]
    ]
    table(console, ("run", "workflow", "request", "state", "reason", "sentence"), rows, empty="No run fits.")
    more(console, data)


def run(console: "Console", data: Data) -> None:
    """The sentence first, then what is established, pending, uncertain, who can move it, and the records."""
    title = f"run-{data['number']} {data['workflow']} {data['state']}" + (
        f" ({data['reason']})" if data["reason"] else ""
    )
    heading(console, title)
    sentence(console, data["sentence"])
    next_action(console, data["next_action"])
    if data["temporal"] is not None:
        sentence(console, f"Temporal executes it: {data['temporal']['url'] or data['temporal']['workflow_id']}")
    heading(console, "established")
    table(console, ("what", "at"), [(e["what"], e["at"]) for e in data["established"]], empty="Nothing yet.")
    if data["pending"]:
        heading(console, "pending")
        rows = [(p["kind"], p["id"], p["since_at"], p["deadline_at"]) for p in data["pending"]]
        table(console, ("kind", "id", "since", "until"), rows, empty="")
    if data["uncertain"]:
        heading(console, "uncertain")
        for operation_id in data["uncertain"]:
            sentence(console, operation_id)
    if data["changed_since_approval"]:
        heading(console, "changed since approval")
        rows = [(c["what"], c["approved"], c["now"]) for c in data["changed_since_approval"]]
        table(console, ("what", "approved", "now"), rows, empty="")
    heading(console, "operations")
    operations(console, {"items": data["records"]["operations"]})
    heading(console, "budgets")
    rows = [
        (
            b["kind"] + (f" {b['of']}" if b["of"] else ""), b["name"] and f"{b['name']} ({b['key']})", b["limit"], b["used"],
            b["reserved"], b["owner"],
        )
        for b in data["budgets"]
    ]  # fmt: skip
    table(console, ("kind", "shared", "limit", "used", "reserved", "owner"), rows, empty="None.")
    records = data["records"]
    counts = ", ".join(
        f"{len(records[name])} {name}" for name in ("conversation", "working_context", "receipts", "approvals")
    )
    sentence(console, f"{len(records['execution_state']['entries'])} entries, {counts}; all of it with --json")


def moved_run(console: "Console", data: Data) -> None:
    """A run after a command moved it."""
    sentence(console, f"run-{data['number']} is {data['state']}" + (f" ({data['reason']})" if data["reason"] else ""))
    next_action(console, data["next_action"])


def operations(console: "Console", data: Data) -> None:
    """A list of operations."""
    rows = [
        (
            f"op-{each['number']}", each["operation"], each["business_key"], each["status"], each["reason"],
            len(each["attempts"]), each["receipts"][-1]["reference"] if each["receipts"] else None,
        )
        for each in data["items"]
    ]  # fmt: skip
    columns = ("op", "operation", "business key", "status", "reason", "tries", "reference")
    table(console, columns, rows, empty="No operation.")
    more(console, data)


def operation(console: "Console", data: Data) -> None:
    """One operation with its evidence."""
    heading(console, f"op-{data['number']} {data['operation']} {data['status']}")
    case = data["case"]
    if case["letter"]:
        sentence(console, f"case {case['letter']}: {case['sentence']}")
    next_action(console, data["next_action"])
    names = (
        "operation_id", "version", "run_id", "receiver", "environment", "action", "api_version", "business_key", "occurrence",
        "proposal_version", "payload_digest", "target", "idempotency_key", "owner",
    )  # fmt: skip
    fields(console, {name: data[name] for name in names} | {"amount": shown_amount(data["amount"])})
    if data["contract"]["procedure"]:
        heading(console, "to find out")
        sentence(console, data["contract"]["procedure"])
    heading(console, "attempts")
    rows = [
        (a["n"], a["worker_id"], a["started_at"], a["sent"], a["reached"], a["answer"]["status"], a["answer"]["class"])
        if a["answer"]
        else (a["n"], a["worker_id"], a["started_at"], a["sent"], a["reached"], None, None)
        for a in data["attempts"]
    ]
    table(console, ("n", "worker", "started", "sent", "reached", "status", "class"), rows, empty="None.")
    heading(console, "receipts")
    rows = [(r["receipt_id"], r["how"], r["reference"], r["proves"], r["received_at"]) for r in data["receipts"]]
    table(console, ("receipt", "how", "reference", "proves", "received"), rows, empty="None.")
    if data["approval"]:
        heading(console, "approval")
        fields(console, {name: data["approval"][name] for name in ("review_id", "state", "reviewer", "role", "digest")})


def reviews(console: "Console", data: Data) -> None:
    """A list of reviews."""
    rows = [
        (
            f"rev-{r['number']}",
            r["operation"],
            r["proposal_version"],
            r["role"],
            r["state"],
            r["reviewer"],
            r["expires_at"],
        )
        for r in data["items"]
    ]
    table(
        console, ("review", "operation", "draft", "role", "state", "reviewer", "expires"), rows, empty="No review fits."
    )
    more(console, data)


def review(console: "Console", data: Data) -> None:
    """What is asked, with the payload as it would leave."""
    heading(console, f"rev-{data['number']} {data['operation']} draft {data['proposal_version']} {data['state']}")
    sentence(console, data["sentence"])
    next_action(console, data["next_action"])
    fields(
        console,
        {name: data[name] for name in ("digest", "role", "owner", "reviewer", "expires_at", "comment", "target")}
        | {"amount": shown_amount(data["amount"]), "approvals": _approvals(data["answers"])},
    )
    heading(console, "payload")
    payload = data["payload"]
    if isinstance(payload, dict):
        fields(console, payload)  # pyright: ignore[reportUnknownArgumentType] - JSON
    else:
        sentence(console, payload)
    if data["sources"]:
        heading(console, "sources")
        rows = [(s.get("name"), s.get("size"), s.get("digest")) for s in data["sources"]]
        table(console, ("name", "bytes", "digest"), rows, empty="")


def _approvals(answers: Data) -> str:
    """`1 of 2: ana`."""
    names = [each["person"] for each in answers["given"] if each["decision"] == "approve"]
    return f"{len(names)} of {answers['needed']}" + (f": {', '.join(names)}" if names else "")


def answered(console: "Console", data: Data) -> None:
    """What an answer did."""
    earlier = " (it was answered earlier; that answer stands)" if data["decided"] == "earlier" else ""
    sentence(console, f"{data['review_id']} is {data['state']}{earlier}")


def people(console: "Console", data: Data) -> None:
    """Everybody."""
    rows = [(p["name"], ", ".join(p["roles"]), p["stand_in_for"], p["revoked_at"]) for p in data["items"]]
    table(console, ("name", "roles", "stands in for", "revoked"), rows, empty="Nobody.")


def person(console: "Console", data: Data) -> None:
    """One person."""
    people(console, {"items": [data]})


def incidents(console: "Console", data: Data) -> None:
    """A list of incidents."""
    rows = [
        (f"inc-{i['number']}", i["operation_id"], i["business_key"], i["what"], i["opened_at"], i["closed_at"])
        for i in data["items"]
    ]
    table(console, ("incident", "operation", "business key", "what", "opened", "closed"), rows, empty="No incident.")
    more(console, data)


def incident(console: "Console", data: Data) -> None:
    """One incident."""
    incidents(console, {"items": [data]})
    next_action(console, data["next_action"])


def suspensions(console: "Console", data: Data) -> None:
    """What stops sending."""
    state = "Sending is suspended." if data["suspended"] else "Nothing is suspended."
    sentence(console, f"{state} {'A restore is unfinished.' if data['restore'] == 'open' else ''}".strip())
    rows = [(s["scope"], s["reason"], s["by"], s["at"], s["lifted_at"], s["lifted_by"]) for s in data["items"]]
    table(console, ("scope", "reason", "by", "at", "lifted", "lifted by"), rows, empty="There never was a suspension.")


def workers(console: "Console", data: Data) -> None:
    """A list of worker processes."""
    from counterfoil.app.views.worker import state_of

    rows = [
        (
            w["worker_id"],
            f"{w['host']} {w['pid']}",
            state_of(w),
            w["seen_at"],
        )
        for w in data["items"]
    ]
    table(console, ("worker", "host, process", "state", "seen"), rows, empty="No worker was ever here.")


def duties(console: "Console", data: Data) -> None:
    """What is done by itself, when it last was, and what went wrong."""
    rows = [
        (d["name"], f"{d['every_seconds']} s", d["succeeded_at"], d["next_at"], d["late"], d["problem"], d["about"])
        for d in data["items"]
    ]
    table(console, ("duty", "every", "last success", "next", "late", "problem", "does"), rows, empty="No duty.")


def record(console: "Console", data: Data) -> None:
    """Names and values, for what is small."""
    fields(console, {name: _flat(value) for name, value in data.items() if name != "next_action"})
    next_action(console, data.get("next_action"))


def items(console: "Console", data: Data) -> None:
    """A list of small things, each with the same names."""
    found = data["items"]
    columns = list(found[0]) if found else []
    table(console, columns, [[_flat(each.get(name)) for name in columns] for each in found], empty="Nothing.")
    more(console, data)


def _flat(value: Any) -> Any:
    if isinstance(value, list):
        return ", ".join(str(_flat(each)) for each in value) or None  # pyright: ignore[reportUnknownVariableType] - JSON
    if isinstance(value, dict):
        return ", ".join(f"{name}={_flat(each)}" for name, each in value.items())  # pyright: ignore[reportUnknownVariableType]
    return value


def _short(text: str) -> str:
    return plain(text) if len(text) <= 60 else plain(text[:59]) + "…"
