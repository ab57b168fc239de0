"""What the record answers at once when a workflow goes on in a new generation: no activity for each call of the past.

Only where the call asks for the very same: its digest is compared as a replay of the embedded engine compares it.
"""

import json
from typing import Any

from counterfoil.engine.asked import approved_digest, decision_digest, input_digest, proposal_digest
from counterfoil.engine.opened import Opened
from counterfoil.engine.receipts import whole_receipt
from counterfoil.integrations.temporal.messages import Call, Said
from counterfoil.model import ids
from counterfoil.model.codec import canonical, compact, digest_of, parsed
from counterfoil.model.journal import EntryKind
from counterfoil.model.operation import OperationRecord, OperationStatus
from counterfoil.model.receipt import ReceiptRecord
from counterfoil.model.run import RunRecord
from counterfoil.rules.replay import Journal

AT_ONCE = 500_000  # bytes of answers in one message to the workflow


def known_of(opened: Opened, run: RunRecord, *, after: int = -1) -> tuple[dict[str, Said], int | None]:
    """Answers by position, from the calls that ended behind `after` on, and where to go on; None: that was all."""
    journal, kinds = Journal(), dict[int, EntryKind]()
    with opened.read() as reader:
        for entry in reader.entries(run.run_id, after=-1):
            data = json.loads(entry.body)["data"]
            journal.fold(entry.sequence, entry.kind, entry.position, entry.name, data, entry.at)
            kinds[entry.sequence] = entry.kind
        operations = {each.operation_id: each for each in reader.find(OperationRecord, "run_id", run.run_id)}
        # One that is reused is another run's.
        receipts = {
            each: reader.get(ReceiptRecord, each) for each in {o.receipt_id for o in operations.values()} if each
        }
    found: list[tuple[int, str, Said]] = []
    for position, outcome in journal.ended.items():
        said = _said(run.run_id, kinds[outcome.sequence], position, outcome.value, opened)
        if said is not None and outcome.failure is None:
            found.append((outcome.sequence, position, Said(*said, at=outcome.at, digest=journal.names[position][1])))
    for position, begun in journal.opened.items():
        operation = operations.get(begun.data.get("operation_id", ""))
        closing = None if operation is None else journal.closings.get(operation.operation_id)
        if begun.kind is not EntryKind.PREPARED or operation is None or closing is None:
            continue
        if operation.status is OperationStatus.SUCCEEDED and not journal.verdicts.get(
            (operation.operation_id, begun.data["version"])
        ):
            receipt = receipts.get(operation.receipt_id or "")
            if receipt is None:
                continue  # purged: the call says so
            value = whole_receipt(receipt.body, opened.artifacts.whole)
            said = Said("done", value, at=closing.at, digest=journal.names[position][1])
            found.append((closing.sequence, position, said))
    return _page(sorted(each for each in found if each[0] > after), after)


def _page(found: list[tuple[int, str, Said]], after: int) -> tuple[dict[str, Said], int | None]:
    page: dict[str, Said] = {}
    size, last = 0, after
    for sequence, position, said in found:
        size += len(compact(said.value)) + 200
        if page and size > AT_ONCE:
            return page, last
        page[position], last = said, sequence
    return page, None


def _said(run_id: str, kind: EntryKind, position: str, value: dict[str, Any], opened: Opened) -> tuple[str, Any] | None:
    """None for what is asked again: it is rare, or its answer is no plain value."""
    match kind:
        case EntryKind.STEP:
            return "done", value["out"]
        case EntryKind.DECISION:
            return "done", opened.artifacts.whole(value["output"])
        case EntryKind.PROPOSAL:
            operation_id, version = value["operation_id"], value["version"]
            proposal_id = ids.proposal_id(operation_id, version)
            return "done", {
                "proposal_id": proposal_id,
                "operation_id": operation_id,
                "version": version,
                "digest": value["digest"],
            }
        case EntryKind.FIRED if "sleep#" in position:
            return "done", None
        case EntryKind.RECEIVED if "signal_id" in value:
            return "done", parsed(value["out"])
        case EntryKind.MESSAGE | EntryKind.DOCUMENT:
            return "done", None
        case _:
            return None


def asks_the_same(call: Call, said: Said) -> bool:
    """Whether this call is the one that was answered."""
    return said.digest is not None and said.digest == _digest(call)


def _digest(call: Call) -> str | None:
    """The digest of a call's input, as the engine's own call records it."""
    given = call.arguments
    match call.kind:
        case "step":
            return input_digest(list(given["inputs"].values()))
        case "decide":
            versions = given["versions"]
            return decision_digest(given["input"], versions["prompt_version"], versions["policy_version"])
        case "propose":
            replaces = given["replaces"]["proposal_id"] if given["replaces"] else None
            return proposal_digest(_payload(given), replaces, given["sources"])
        case "perform" if given["proposal"] is not None:
            proposal = given["proposal"]
            return approved_digest(proposal["operation_id"], proposal["version"], proposal["digest"])
        case "perform":
            return _payload(given)
        case "sleep" | "wait_for":
            return str(given["within_us"])
        case "message":
            return input_digest([given["role"], given["text"]])
        case "document":
            return input_digest([given["name"], given["text"]])
        case _:
            return None


def _payload(given: dict[str, Any]) -> str:
    return digest_of(canonical(given["payload"], where="a payload"))
