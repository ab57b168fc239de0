"""The attributes of answers, of requests, and of what a person is told."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from counterfoil.connectors.serving import Plain
from counterfoil.engine.port import Call
from counterfoil.model.contract import Meaning, Provenance, Reference, Rule, Version, When
from counterfoil.model.receipt import Receipt
from counterfoil.testing.loopback.digest import as_object, parse_json
from counterfoil.testing.loopback.exchange import Reply, Request
from tests.engine.house import Order
from tests.receivers.attributes import UNASKED, Case, Ended, Story, asked_for, faulty, lost, lost_for, usual
from tests.traps.stage import Stage

TWO = Ended("completed", 2)
DOUBT = Ended("outcome_unknown", 1)
NOTHING_DONE = Ended("completed", 0)
UNFIT = Ended("contract_contradiction", 0)
ZERO, MINUTE = timedelta(0), timedelta(minutes=1)
STRONG = {"lookup.consistency": "strong", "lookup.visible_within": ZERO, "lookup.arrives_within": ZERO}
OTHER_VERSION = Ended("budget_attempts", 0)  # each try refused before its first byte
CREATED = When(status=201).means("applied")


def github(path: str, *, ends: Ended = DOUBT, story: Story = usual, **parts: Any) -> Case:
    return Case(path=path, entry="github_issue_comment", story=story, ends=ends, **parts)


# ------------------------------------------------------------------ where the reference and the version travel


async def bare(call: Call, order: Order) -> Receipt:
    """It names nothing of ours: the contract does."""
    return Receipt(reference=(await call.http.post(Stage.path, json=order.model_dump())).json()["id"])


async def placed(call: Call, order: Order) -> Receipt:
    """It leaves a place for our reference in the path."""
    return Receipt(reference=(await call.http.post(Stage.path + "/{ref}", json=order.model_dump())).json()["id"])


class ReferenceBeside(Plain):
    """The reference stands in the query or is the last part of the path; the sandbox takes it in a header."""

    def asked(self, request: Request) -> Request | Reply:
        if not request.is_write:
            return request
        path, _, last = request.path.rpartition("/")
        if last == "cases":
            path, last = request.path, request.query.get("ref", "")
        return replace(request, path=path, headers={**request.headers, "counterfoil-operation": last})


class ByVersion(Plain):
    """Without its version where the receiver looks for it, it is taken as of another one, which knows no keys."""

    def asked(self, request: Request) -> Request | Reply:
        if not request.is_write:
            return replace(request, query={name: value for name, value in request.query.items() if name != "api"})
        head = dict(request.headers)
        body = as_object(as_object(parse_json(request.body)).get("meta"))
        if "v1" not in (head.get("x-api"), request.query.get("api"), body.get("api"), request.path.split("/")[1]):
            head.pop("idempotency-key", None)
        return replace(request, headers=head)


def reference(path: str, right: Reference, wrong: Reference | None, **how: Any) -> Case:
    return github(path, right={"reference": right}, wrong={"reference": wrong}, story=lost, how=asked_for(**how))


def version(path: str, right: Version, wrong: Version | None, *, ends: Ended = TWO) -> Case:
    return Case(
        path=path,
        entry="stripe_v1",
        right={"version": right},
        wrong={"version": wrong},
        story=lost_for(0),
        ends=ends,
        how=asked_for(dialect=ByVersion()),
    )


CARRIED = [
    reference("reference", Reference(header="Counterfoil-Operation"), None, tool=bare),
    reference("reference.header", Reference(header="Counterfoil-Operation"), Reference(header="X-Other"), tool=bare),
    reference("reference.body", Reference(body="metadata.operation"), Reference(body="note.operation"), tool=bare),
    reference("reference.query", Reference(query="ref"), Reference(query="id"), tool=bare, dialect=ReferenceBeside()),
    replace(
        reference("reference.path", Reference(path="{ref}"), Reference(path="{id}"), tool=placed),
        how=asked_for(tool=placed, dialect=ReferenceBeside()),
        ends=Ended("budget_attempts", 0),
    ),
    version("version", Version(header="X-Api"), None),
    version("version.header", Version(header="X-Api"), Version(header="X-Other")),
    version("version.query", Version(query="api"), Version(query="v")),
    version("version.body", Version(body="meta.api"), Version(body="api")),
    version("version.path", Version(path="/{}/"), Version(path="/version-{}/"), ends=OTHER_VERSION),
    Case(path="api_version", entry="stripe_v1", wrong={"api_version": "v2"}, story=usual, ends=OTHER_VERSION),
]

# ------------------------------------------------------------------ what answers mean


class AtWork(Plain):
    """It says only that it has begun."""

    def told(self, request: Request, reply: Reply) -> Reply:
        return replace(reply, status=202, body={"status": "accepted"}) if request.is_write else reply


def rule(path: str, right: Rule, wrong: Rule) -> Case:
    return github(path, right={"classifier": [right]}, wrong={"classifier": [wrong]}, how=UNASKED)


ANSWERS = [
    github("classifier", wrong={"classifier": [When(status=200).means("applied")]}, how=UNASKED),
    rule("classifier.status", CREATED, When(status=200).means("applied")),
    rule(
        "classifier.header",
        When(header={"Test-Mode": "true"}).means("applied"),
        When(header={"Test-Mode": "false"}).means("applied"),
    ),
    rule("classifier.body", When(body={"amount": 1}).means("applied"), When(body={"amount": True}).means("applied")),
    github(
        "classifier.meaning",
        right={"classifier": [CREATED, When(status=500).means("ambiguous")]},
        wrong={"classifier": [CREATED, Rule(frozenset({500}), {}, {}, Meaning.NOT_APPLIED)]},
        story=faulty("error-after-accept"),
        ends=TWO,
    ),
    github(
        "before_execution",
        right={"before_execution": {503}},
        wrong={"before_execution": {503, 500}},
        story=faulty("error-before-accept", "error-after-accept"),
        ends=TWO,
    ),
    github(
        "stages",
        right={**STRONG, "stages": "asynchronous", "completes_within": MINUTE},
        wrong={"stages": "one", "completes_within": None},
        story=faulty("refuse", status=202, body={"id": "at-work"}),
        ends=NOTHING_DONE,
    ),
    github(
        "completes_within",
        right={**STRONG, "stages": "asynchronous", "completes_within": 2 * MINUTE},
        wrong={"completes_within": timedelta(seconds=1)},
        receiver={"lookup_lag_seconds": 60.0},
        story=usual,
        how=asked_for(dialect=AtWork()),
        ends=TWO,
    ),
    github(
        "request_timeout",
        wrong={"request_timeout": timedelta(milliseconds=200)},
        story=faulty("slow", seconds=1),
        how=UNASKED,
    ),
    github(
        "precondition",
        right={"precondition": "create_if_absent"},
        receiver={"unique_field": "number", "other_body": "replays"},
        differs={"unique_field": None},
        story=lost,
        ends=TWO,
        how=UNASKED,
    ),
]

# ------------------------------------------------------------------ what people are told, and what is counted


def swept(made: Stage) -> list[str]:
    """The receiver's records are counted twice, a lookup's delay apart, after an answer was lost."""
    states = lost_for(0)(made)
    for seconds in (400, 120):
        made.advance(seconds)
        made.swept()
    return states


TOLD = [
    github("action", wrong={"action": " "}, ends=UNFIT),
    github("compensation", right={"compensation": "Delete it."}, wrong={"compensation": ""}, ends=UNFIT),
    github("procedure", wrong={"procedure": None}, ends=Ended("no_way_to_know", 0), how=UNASKED),
    github(
        "duplicate",
        right={"duplicate": "benign"},
        wrong={"duplicate": "irreversible"},
        ends=Ended("no_business_key", 0),
        how=asked_for(business_key=None),
    ),
    Case(
        path="counts_as",
        entry="stripe_v1",
        right={"counts_as": {"type", "reference", "seen_twice"}},
        differs={"key_header": None},
        story=swept,
        ends=Ended("completed", 2, incidents=1),
    ),
    github("provenance", wrong={"provenance": Provenance()}, ends=UNFIT),
    github("provenance.sources", wrong={"provenance.sources": ()}, ends=UNFIT),
    github("provenance.date", wrong={"provenance.date": None}, ends=UNFIT),
    github("provenance.confidence", wrong={"provenance.confidence": {"procedure": "unknown"}}, ends=UNFIT),
]
