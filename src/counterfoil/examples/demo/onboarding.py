"""The three stories of the onboarding case."""

from pathlib import Path

from counterfoil.examples.demo.options import DemoOptions
from counterfoil.examples.demo.receivers import OtherReceiver, SandboxReceiver
from counterfoil.examples.demo.story import Plan, Staged
from counterfoil.examples.onboarding.documents import SAMPLE_FOLDERS
from counterfoil.model.run import ParkReason

APP = "counterfoil.examples.onboarding.app:app"
NOBODY_LISTENS = "http://127.0.0.1:9"  # the discard port: every try of this step is refused


def stories(options: DemoOptions, kept: Path) -> list[Staged]:
    """All three, or the first alone as the options want it. `kept`: where the receivers' record files lie."""
    folder = Path(options.input or SAMPLE_FOLDERS / "acme").absolute()
    kind = options.receiver or "key"
    plan = _asked(options, folder, kind)
    first = _staged(plan, kept, _crash_at(options, kind), options.fault, options.receiver_url)
    if options.one_story:
        return [first]
    return [first, _staged(_no_way(folder), kept, REPLIED), _staged(_fails(folder), kept, None)]


def _staged(plan: Plan, kept: Path, crash_at: str | None, fault: str | None = None, url: str | None = None) -> Staged:
    def receiver() -> SandboxReceiver | OtherReceiver:
        if url is not None:
            return OtherReceiver(url, fault=fault)
        return SandboxReceiver(plan.receiver_kind, fault=fault, records=kept / f"{plan.name}.records.jsonl")

    return Staged(plan=plan, crash_at=crash_at, receiver=receiver, url_name="CRM_URL")


REPLIED = "operation.replied"  # the receiver has accepted, and the receipt is not saved yet


def _crash_at(options: DemoOptions, kind: str) -> str | None:
    if options.crash_at is not None:
        return None if options.crash_at == "none" else options.crash_at
    # A reply that never comes is no boundary; at a receiver without a key the first one is the only one.
    silent = options.fault in ("drop-reply", "hang") and kind != "key"
    return "operation.classified" if silent else REPLIED


def _asked(options: DemoOptions, folder: Path, kind: str) -> Plan:
    certain = kind == "key" and options.fault != "error-after-accept" and options.receiver_url is None
    return Plan(
        name="accepted-no-receipt",
        title="1. The CRM has accepted; the worker is killed before it can save the receipt.",
        receiver_kind=kind,
        workflow="onboard",
        request_id=f"onboarding-{folder.name}",
        input={"customer": folder.name, "path": str(folder), "crm": kind},
        ends="succeeded" if certain else None,
        refused_once=options.fault == "refuse",
    )


def _no_way(folder: Path) -> Plan:
    return Plan(
        name="no-key-no-lookup",
        title="2. The same at a CRM that honours no key and cannot be asked: nothing but a person can tell.",
        receiver_kind="none",
        workflow="onboard",
        request_id=f"onboarding-{folder.name}-blind",
        input={"customer": folder.name, "path": str(folder), "crm": "none"},
        ends="unresolved",
        reason=ParkReason.OUTCOME_UNKNOWN,
    )


def _fails(folder: Path) -> Plan:
    return Plan(
        name="step-always-fails",
        title="3. A step that fails every time: the budget of attempts ends it, and nothing goes on by itself.",
        receiver_kind="key",
        workflow="onboard",
        request_id=f"onboarding-{folder.name}-register",
        input={"customer": folder.name, "path": str(folder), "register_url": NOBODY_LISTENS},
        ends="unresolved",
        reason=ParkReason.BUDGET_ATTEMPTS,
        records=0,
    )
