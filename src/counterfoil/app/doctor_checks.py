"""The checks of `doctor`: each a code, whether it is well, and what mends it."""

from collections.abc import Iterator

from counterfoil.app import doctor_file, doctor_server
from counterfoil.app.doctor_facts import Facts
from counterfoil.app.doctor_words import Check, either
from counterfoil.model.errors import CounterfoilError
from counterfoil.store.marker import SENTENCES
from counterfoil.store.postgres_facts import PostgresSettings

CLOCK_BEHIND_US = 60 * 1_000_000


def checks_of(facts: Facts, *, production: bool) -> list[Check]:
    """Every check, in the order in which somebody would mend them."""
    return [
        Check("database_opens", "ok", f"Opened with schema {facts.settings.schema_version}."),
        *_storage(facts, production),
        *_marker(facts, production),
        _artifacts(facts),
        *_clock(facts),
        *_people(facts, production),
        _signatures(facts),
        *_gate(facts),
        *_received(facts),
    ]


def refusal(problem: CounterfoilError, location: str) -> Check:
    """The database could not be opened, or a part of it not be read."""
    return Check(problem.code, "refuse", f"{location}: {problem.message}", problem.safe_next)


def _storage(facts: Facts, production: bool) -> Iterator[Check]:
    if isinstance(facts.settings, PostgresSettings):
        yield from doctor_server.checks_of(facts.settings, facts.host_us)
        return
    yield from doctor_file.database_checks(facts.settings, facts.lock_holders)
    if facts.place is not None:
        yield from doctor_file.place_checks(facts.place, production)


def _marker(facts: Facts, production: bool) -> Iterator[Check]:
    restore = "Find out what this database is, then `counterfoil restore finish`."
    if facts.marker_place is None:
        yield Check(
            "marker", "refuse" if production else "warn", "There is no outside marker; its absence was accepted at `init`.",
            "A restored database is not recognised. Initialise with an outside place for the marker.",
        )  # fmt: skip
    elif facts.marker_problem is not None:
        yield Check("marker", "refuse", facts.marker_problem, restore)
    else:
        said = None if facts.marker is None else SENTENCES[facts.marker]
        yield either(
            said is None, "marker", "The database is the one that was sent from.", "refuse", said or "", restore
        )
    together = facts.lies_with_marker
    yield either(
        not together, "restore_undetectable", "Database and marker lie in two places.", "refuse" if production else "warn",
        "Database and marker lie on one file system: a snapshot that takes both back is not recognised.",
        "Set COUNTERFOIL_STATE to a folder on another volume.",
    )  # fmt: skip
    yield either(
        facts.installation.restore_state != "open", "restore_open", "No restore is unfinished.", "refuse",
        f"A restore is unfinished ({facts.installation.restore_reason}); nothing is sent.", "`counterfoil restore finish`.",
    )  # fmt: skip
    scopes = ", ".join(suspension.scope for suspension in facts.suspensions)
    yield either(
        not facts.suspensions, "writes_suspended", "Nobody suspended sending.", "warn", f"Sending is suspended for {scopes}.",
        "`counterfoil writes resume`, when its reason is gone.",
    )  # fmt: skip


def _artifacts(facts: Facts) -> Check:
    lost = facts.artifacts_lost
    return either(
        not lost, "artifacts", f"{facts.artifacts_named} artifacts are named in the record, and each has the bytes of its digest.",
        "warn", f"{facts.artifacts_named} artifacts are named in the record, {len(lost)} are missing or damaged: {', '.join(lost[:3])}"
        + (" and others." if len(lost) > 3 else "."),
        "Bring their files back from a backup of the folder beside the database; the record itself is whole.",
    )  # fmt: skip


def _clock(facts: Facts) -> Iterator[Check]:
    behind = facts.installation.clock_us - facts.now_us
    jumped = facts.clock_jumped or behind > CLOCK_BEHIND_US
    what = "the clock that counts sleep" if facts.clock_jumped else f"the newest stored time by {behind // 1_000_000} s"
    yield either(
        not jumped, "clock", "The clocks agree.", "refuse", f"The wall clock disagrees with {what}; sending is stopped.",
        "Set the clock right, then restart the workers.",
    )  # fmt: skip


def _people(facts: Facts, production: bool) -> Iterator[Check]:
    alone = facts.people < 2 and not facts.installation.single_person
    yield either(
        not alone, "people", "Somebody else than the reviewer can resolve.", "refuse" if production else "warn",
        "Fewer than two people: who approves may not resolve alone.", "`counterfoil people add`, or `init --single-person`.",
    )  # fmt: skip
    yield either(
        bool(facts.workers_alive), "workers", f"{len(facts.workers_alive)} workers were started and have not ended.", "warn",
        "No worker is alive: nothing goes on by itself.", "`counterfoil worker`.",
    )  # fmt: skip
    waits = f"{facts.unresolved} operations are in flight or unknown, {facts.overdue_reviews} reviews are overdue."
    yield either(
        facts.overdue_reviews == 0,
        "waiting",
        waits,
        "warn",
        waits,
        "`counterfoil reviews list`, `counterfoil runs list`.",
    )


def _signatures(facts: Facts) -> Check:
    """Whether approvals are signed, and whether the key to sign them lies where writes are sent from."""
    if not facts.keys.required:
        return Check(
            "approval_keys", "warn", "Approvals are not signed: whoever can write the database can forge one.",
            "`counterfoil keys add --file KEY --by PERSON`, and keep KEY where answers are given.",
        )  # fmt: skip
    if not facts.keys.live:
        return Check(
            "approval_keys", "refuse", "No approval key leads back to the first one: nothing that needs a review is sent.",
            "`counterfoil verify` says what was changed; bring back the database as it was.",
        )  # fmt: skip
    count = f"{len(facts.keys.live)} approval keys count."
    if facts.key_here is False:
        return Check(
            "approval_keys", "warn", f"{count} The private key in this place is not one of them, or cannot be read.",
            "Name the right file in COUNTERFOIL_APPROVAL_KEY; it has mode 0600.",
        )  # fmt: skip
    where = (
        ""
        if facts.key_here is None
        else " A private key lies here: keep it where answers are given, away from workers."
    )
    return Check("approval_keys", "ok", count + where)


def _gate(facts: Facts) -> Iterator[Check]:
    """Whether what is sent without a review was rehearsed as it is now."""
    held = [each for each in facts.unattended if each["gate"] and not each["drilled"] and each["waiver"] is None]
    other = [each["operation"] for each in facts.unattended if each["undrilled_version"]]
    never = [each["operation"] for each in held if each["operation"] not in other]
    yield either(
        not never, "drill_missing", "What is sent without a review is drilled, waived or goes to a test receiver.", "warn",
        f"Without a review and never drilled: {', '.join(never)}. Nothing of it is sent.",
        "`counterfoil drill TARGET --register`, or `counterfoil waivers add OPERATION`.",
    )  # fmt: skip
    yield either(
        not other, "undrilled_version", "No registered drill is of another version than the code.", "warn",
        f"The newest drill is of another contract or another version of the workflow: {', '.join(other)}.",
        "`counterfoil drill TARGET --register` with the code in force.",
    )  # fmt: skip


def _received(facts: Facts) -> Iterator[Check]:
    """Whether what receivers send by themselves is taken in here, and what of it is nobody's."""
    refused = ", ".join(facts.webhooks_without_secret)
    yield either(
        not refused, "webhook_secret", "Each webhook that the code declares has its secret here, or none is declared.", "warn",
        f"All messages of these receivers are refused by this process, since a secret is not set: {refused}.",
        "Set what `SignedBy` names where the console is served.",
    )  # fmt: skip
    named = ", ".join(f"{count} of {receiver}" for receiver, count in sorted(facts.orphans.items()))
    yield either(
        not named, "orphans", "No receiver has sent what names no operation of ours.", "warn",
        f"Messages of receivers name no operation that we know: {named}.",
        "`counterfoil receipts list --orphans`, then `counterfoil receipts close`.",
    )  # fmt: skip
