"""Every attribute of a contract is read: its strict and its lax value differ in a ruling, a meaning, a request or a refusal.

A field without a proof here fails the test, and so does a proof that sees no difference.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from typing import Any

import pytest

from counterfoil.model.contract import (
    Contract,
    IdempotencyKey,
    Lookup,
    Provenance,
    Reference,
    Rule,
    Version,
    Webhook,
    When,
    contradictions,
    refusal_at_start,
)
from counterfoil.model.contract_parts import Meaning
from counterfoil.model.errors import Refused
from counterfoil.model.exchange import Exchange
from counterfoil.model.ids import KeyFormat, encode_key
from counterfoil.rules.classify import classify, replayed
from counterfoil.rules.contract_sentences import plain_sentences
from counterfoil.rules.deliveries import heard
from counterfoil.rules.evidence import Sighting, judge_sightings
from counterfoil.rules.gather import gather
from counterfoil.rules.key_window import scope_digest
from counterfoil.rules.recovery import rule
from tests.unit.one_attempt import posted, sender
from tests.unit.operation_records import (
    APPLIED,
    ASKED,
    HOUR,
    KEY,
    MINUTE,
    SECOND,
    START,
    answered,
    attempt,
    contract,
    find,
    in_doubt,
    lookup,
)
from tests.unit.raw_server import Watched, answer, serving

OPERATION_ID = "op_" + "0" * 23
HOLDERS = {
    "key": IdempotencyKey,
    "lookup": Lookup,
    "reference": Reference,
    "version": Version,
    "provenance": Provenance,
    "": Contract,
}


@dataclass(frozen=True)
class Proof:
    """`sees` gives what an outsider would see of a contract; it differs between the strict and the lax value at `path`."""

    path: str
    strict: Any
    lax: Any
    sees: Callable[[Contract], Any]
    base: Contract


def changed(base: Contract, path: str, value: Any) -> Contract:
    holder, _, name = path.rpartition(".")
    if not holder:
        return replace(base, **{name: value})
    part: Any = getattr(base, holder)
    if holder == "receipts":
        return replace(base, receipts=[replace(part[0], **{name: value})])
    if holder == "classifier":
        return replace(base, classifier=[replace(part[0], **{name: value}), *part[1:]])
    return replace(base, **{holder: replace(part, **{name: value})})


def ruling(**parts: Any) -> Callable[[Contract], str]:
    """The letter for a doubt under this contract."""
    return lambda made: rule(gather(in_doubt(contract=made, **parts)))[0].letter


def meaning(status: int, body: bytes = b"{}", headers: dict[str, str] | None = None) -> Callable[[Contract], Meaning]:
    return lambda made: classify(made, Exchange("body", True, status, headers or {}, body))


def started(made: Contract) -> str | None:
    refusal = refusal_at_start("pay", made, has_business_key=False, repeatable=False)
    return None if refusal is None else refusal.code


def words(made: Contract) -> list[str]:
    return plain_sentences(made)


def request(made: Contract) -> bytes:
    """The bytes that reach a server."""
    key = encode_key(OPERATION_ID, 0, made.key.format) if made.key is not None else None
    with serving(answer(200)) as server:
        posted(server.url, Watched(), contract=made, key=key, json={"amount": 1})
    return b"\n".join(line for line in server.requests[0].split(b"\r\n") if not line.startswith(b"host"))


def scoped(made: Contract) -> str:
    """The ruling after the credential was rotated."""
    before, now = ({"endpoint": "u", "environment": "test", "credential": name} for name in ("old", "new"))
    lost = attempt(scope=scope_digest(made, before))
    return ruling(attempts=(lost,), scope_now=scope_digest(made, now))(made)


def marked(made: Contract) -> str:
    """The ruling after a lost try and a refusal that carries a header."""
    mark = replayed(made, {"x-replayed": "1"})
    return ruling(attempts=(attempt(1), answered(2, 402, "refused", replayed=mark)))(made)


def marked_inside(made: Contract) -> str:
    """The same, where only the body says that it is a replay."""
    mark = replayed(made, {}, b'{"again":true}')
    return ruling(attempts=(attempt(1), answered(2, 402, "refused", replayed=mark)))(made)


def addressed(made: Contract) -> str:
    """The path that reaches a server, or why nothing does."""
    with serving(answer(200)) as server:
        try:
            sent(server.url, made)
        except Refused as refused:
            return refused.code
    return server.requests[0].split(b" ")[1].decode()


def sent(url: str, made: Contract) -> None:
    async def once() -> None:
        await sender(url, Watched(), contract=made).put("/1/{}/{key}/{ref}", json={})

    asyncio.run(once())


def keyed(**parts: Any) -> Contract:
    day = {"margin": timedelta(0), "arrives_within": timedelta(0), "retention": timedelta(hours=24)}
    return contract(key=IdempotencyKey(**{"header": "K", **day, **parts}))


NOTHING = contract()
WORKING = (answered(1, 202, "in_progress", at=START + MINUTE),)
AT_WORK = contract(lookup=ASKED, stages="asynchronous")
ASKABLE = contract(lookup=ASKED)
WATCHED = contract(receipts=[Webhook(type="paid", operation="data.ref", dedupe="id")])
SOURCED = replace(keyed(saves={"2xx"}), provenance=Provenance(sources=["doc"], date="2026"))
RULED = contract(classifier=[When(status=200, header={"X-Ok": "1"}, body={"ok": True}).means("applied")])
MESSAGE = {"type": "paid", "kind": "other", "id": "evt_1", "number": 7, "data": {"ref": "op_1"}}
LATE = START + MINUTE + 24 * HOUR - 35 * SECOND  # 35 seconds before the window's end
TWO = (answered(1, 429, "not_applied"), attempt(2, at=START + 20 * HOUR))
NOT_FOUND = (lookup("absent", at=START + HOUR),)
WHOLE = meaning(200, b'{"ok":true}', {"x-ok": "1"})


def webhook(made: Contract) -> object:
    return [(each.operation_ids, each.own_id, each.reference, each.proves) for each in heard([made], MESSAGE)]


PROOFS = [
    Proof("api_version", " ", "1", started, contract(key=KEY, duplicate="benign")),
    Proof("classifier", [APPLIED], [APPLIED, When(status=402).means("refused")], meaning(402), NOTHING),
    Proof("action", None, "POST /refunds", words, NOTHING),
    Proof("key", None, KEY, ruling(), NOTHING),
    Proof("lookup", None, ASKED, ruling(), NOTHING),
    Proof("procedure", None, "Ask the desk.", started, contract(duplicate="benign")),
    Proof("duplicate", "irreversible", "benign", started, contract(key=KEY)),
    Proof("before_execution", set(), {429}, meaning(429), NOTHING),
    Proof("reference", None, Reference(header="X-Reference"), request, NOTHING),
    Proof("version", None, Version(header="X-Version"), request, NOTHING),
    Proof("completes_within", None, timedelta(minutes=1), ruling(attempts=WORKING, lookups=NOT_FOUND), AT_WORK),
    Proof("receipts", [], WATCHED.receipts, webhook, NOTHING),
    Proof("stages", None, "one", meaning(202), NOTHING),
    Proof("precondition", None, "create_if_absent", ruling(), NOTHING),
    Proof("compensation", None, "Refund it.", words, NOTHING),
    Proof("counts_as", {"reference"}, set(), contradictions, NOTHING),
    Proof("provenance", Provenance(), None, contradictions, NOTHING),
    Proof("request_timeout", timedelta(minutes=5), timedelta(seconds=30), ruling(now=LATE), keyed()),
    #
    Proof("key.header", "Token", "Idempotency-Key", request, keyed()),
    Proof("key.query", "token", "key", request, keyed(header=None)),
    Proof("key.body", "token", "meta.key", request, keyed(header=None)),
    Proof("key.path", "{}", "{key}", addressed, keyed(header=None)),
    Proof("key.min_length", 40, None, started, keyed()),
    Proof("key.max_length", 25, None, started, keyed()),
    Proof("key.after_window", "acts_again", "refuses", ruling(now=START + 80 * HOUR), keyed()),
    Proof(
        "key.unsaved", "acts_again", "resumes", ruling(attempts=(answered(1, 500, "ambiguous"),)), keyed(saves={"2xx"})
    ),
    Proof("key.replay_body", None, {"again": True}, marked_inside, keyed(saves={"2xx", "4xx"})),
    Proof("key.format", KeyFormat.UUID, KeyFormat.TEXT, request, keyed()),
    Proof("key.retention", timedelta(minutes=1), timedelta(hours=24), ruling(), keyed()),
    Proof("key.account_retention", timedelta(minutes=1), None, ruling(), keyed()),
    Proof("key.clock", "first_sent", "first_accepted", ruling(attempts=TWO, now=START + 40 * HOUR), keyed()),
    Proof("key.margin", timedelta(minutes=5), timedelta(0), ruling(now=LATE), keyed()),
    Proof("key.scope", None, {"endpoint"}, scoped, keyed()),
    Proof(
        "key.other_body", "identity", "rejects", ruling(attempts=(attempt(1), attempt(2, request_digest="x"))), keyed()
    ),
    Proof("key.saves", {"2xx"}, {"2xx", "4xx"}, marked, keyed(replay_marker={"X-Replayed": "1"})),
    Proof("key.replay_marker", None, {"X-Replayed": "1"}, marked, keyed(saves={"2xx", "4xx"})),
    Proof("key.in_progress", "both_may_fail", "waits", ruling(now=START + 80 * SECOND), keyed()),
    Proof("key.lock_timeout", timedelta(minutes=1), None, ruling(), keyed()),
    Proof("key.arrives_within", timedelta(minutes=5), timedelta(0), ruling(now=LATE), keyed()),
    #
    Proof("lookup.function", "desk:ask", find, lambda made: made.digest(), ASKABLE),
    Proof("lookup.consistency", None, "eventual", ruling(lookups=NOT_FOUND), ASKABLE),
    Proof("lookup.visible_within", timedelta(hours=2), timedelta(0), ruling(lookups=NOT_FOUND), ASKABLE),
    Proof("lookup.arrives_within", timedelta(hours=2), timedelta(0), ruling(lookups=NOT_FOUND), ASKABLE),
    Proof("lookup.absence_authorises", False, None, ruling(lookups=NOT_FOUND), ASKABLE),
    Proof("lookup.finds_by", None, "key", lambda made: judge_sightings(made, "d", [Sighting("a", None)]), ASKABLE),
    Proof(
        "lookup.pause",
        timedelta(hours=1),
        timedelta(0),
        ruling(lookups=(lookup("unreachable", at=START + HOUR - SECOND),)),
        ASKABLE,
    ),
    #
    Proof("reference.header", "X-Mine", "X-Reference", request, contract(reference=Reference(header="X-Ref"))),
    Proof("reference.query", "mine", "ref", request, contract(reference=Reference(query="ref"))),
    Proof("reference.body", "mine", "meta.ref", request, contract(reference=Reference(body="ref"))),
    Proof("reference.path", "{}", "{ref}", addressed, contract(reference=Reference(path="{ref}"))),
    Proof("version.header", "X-Api", "X-Version", request, contract(version=Version(header="X-V"))),
    Proof("version.query", "api", "v", request, contract(version=Version(query="v"))),
    Proof("version.body", "api", "meta.v", request, contract(version=Version(body="v"))),
    Proof("version.path", "/v{}/", "/{}/", addressed, contract(version=Version(path="/{}/"))),
    Proof("receipts.type", "voided", "paid", webhook, WATCHED),
    Proof("receipts.operation", "ref", "data.ref", webhook, WATCHED),
    Proof("receipts.dedupe", "number", "id", webhook, WATCHED),
    Proof("receipts.type_path", "kind", "type", webhook, WATCHED),
    Proof("receipts.reference", None, "number", webhook, WATCHED),
    Proof("receipts.means", "later", "happened", webhook, WATCHED),
    Proof("provenance.sources", [], ["doc"], contradictions, SOURCED),
    Proof("provenance.date", None, "2026", contradictions, SOURCED),
    Proof("provenance.confidence", {"key.saves": "unknown"}, {}, contradictions, SOURCED),
    Proof("classifier.status", frozenset({201}), "2xx", WHOLE, RULED),
    Proof("classifier.header", {"x-ok": "2"}, {}, WHOLE, RULED),
    Proof("classifier.body", {"ok": False}, {}, WHOLE, RULED),
    Proof("classifier.meaning", Meaning.AMBIGUOUS, Meaning.APPLIED, WHOLE, RULED),
]


@pytest.mark.parametrize("proof", PROOFS, ids=lambda proof: proof.path)
def test_the_attribute_is_read(proof: Proof) -> None:
    strict, lax = (changed(proof.base, proof.path, value) for value in (proof.strict, proof.lax))
    assert proof.sees(strict) != proof.sees(lax)


@pytest.mark.parametrize("proof", PROOFS, ids=lambda proof: proof.path)
def test_the_attribute_is_part_of_what_is_stored(proof: Proof) -> None:
    strict, lax = (changed(proof.base, proof.path, value) for value in (proof.strict, proof.lax))
    assert strict.digest() != lax.digest()
    for made in (strict, lax):
        assert Contract.from_stored(made.stored()).stored() == made.stored()


def test_no_attribute_is_without_its_proof() -> None:
    proven = {proof.path for proof in PROOFS}
    parts = {**HOLDERS, "receipts": Webhook, "classifier": Rule}
    declared = {f"{holder}.{field.name}".lstrip(".") for holder, kind in parts.items() for field in fields(kind)}
    assert declared == proven


def test_of_two_rulings_the_lax_value_allows_more() -> None:
    sends = ("P", "Q", "R", "S")
    rulings = 0
    for proof in PROOFS:
        strict, lax = (proof.sees(changed(proof.base, proof.path, value)) for value in (proof.strict, proof.lax))
        if isinstance(strict, str) and not isinstance(strict, Meaning):
            rulings += 1
            assert strict not in sends or lax in sends, proof.path
    assert rulings > 15
