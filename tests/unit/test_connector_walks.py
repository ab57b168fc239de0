"""A connector's lookup walks a list to a bound. Behind it, nothing found is no absence."""

import asyncio
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from counterfoil.connectors import aws_secret, github, jira, slack, stripe, walking
from counterfoil.model.contract import Seen

OPERATION = "op_" + "1" * 23
FIRST = datetime(2026, 1, 1, tzinfo=UTC)
LATER = int(FIRST.timestamp()) + 60


class Pages:
    """A receiver whose list never ends. `ours`: what stands on its first page."""

    def __init__(self, page: Callable[[int, bool], Any], *, ours: bool) -> None:
        self._page, self._ours, self.read = page, ours, 0
        self.http, self.operation_id, self.key, self.first_sent_at = self, OPERATION, "k", FIRST

    async def get(self, path: str, *, params: Mapping[str, Any] | None = None, headers: Any = None) -> Any:
        self.read += 1
        said = self._page(self.read, self._ours and self.read == 1)

        class Reply:
            status = 200

            def json(self) -> Any:
                return said

        return Reply()


def of_stripe(n: int, ours: bool) -> Any:
    item = {
        "id": f"x_{n}", "created": LATER, "amount": 5, "charge": "ch", "currency": "eur",
        "metadata": {"operation": OPERATION if ours else "another"},
    }  # fmt: skip
    return {"data": [item], "has_more": True}


def of_github(n: int, ours: bool) -> Any:
    body = f"done\n\n{github.marker(OPERATION)}" if ours else "somebody else"
    return [{"id": n * 1000 + each, "body": body if not each else "another"} for each in range(github.PAGE)]


def of_slack(n: int, ours: bool) -> Any:
    mark = {"event_type": slack.MARK, "event_payload": {"operation": OPERATION}}
    message = {"ts": f"{n}.0", "metadata": mark if ours else {}}
    return {"ok": True, "messages": [message], "has_more": True, "response_metadata": {"next_cursor": str(n)}}


def of_jira(n: int, ours: bool) -> Any:
    fields = {"project": {"key": "P"}, "issuetype": {"name": "T"}, "summary": "s"}
    return {"issues": [{"key": "P-1", "fields": fields}] if ours else [], "nextPageToken": str(n)}


WALKS: dict[str, tuple[Any, Any, Callable[[int, bool], Any]]] = {
    "stripe.refund": (stripe.find_refund, stripe.Refund(number="1", charge="ch", amount=5, currency="eur"), of_stripe),
    "stripe.payment_intent": (
        stripe.find_payment_intent, stripe.PaymentIntent(number="1", amount=5, currency="eur"), of_stripe,
    ),
    "github.comment": (
        github.find_comment, github.Comment(number="1", repository="a/b", issue=1, body="done"), of_github,
    ),
    "slack.post": (slack.find_message, slack.Message(number="1", channel="C1", text="t"), of_slack),
    "jira.create": (jira.find_issue, jira.Issue(number="1", project="PR", type="T", summary="s"), of_jira),
}  # fmt: skip


@pytest.mark.parametrize("name", WALKS)
def test_a_list_without_an_end_is_no_absence(name: str) -> None:
    find, payload, page = WALKS[name]
    nothing = Pages(page, ours=False)
    with pytest.raises(walking.NotFarEnough, match="could not look far enough"):
        asyncio.run(find(nothing, payload))
    assert nothing.read == walking.MOST_PAGES
    there = Pages(page, ours=True)
    seen: Seen[Any] = asyncio.run(find(there, payload))
    assert len(seen.records) == 1 and not seen.complete, "what was found is ours, and there may be another"


def test_a_secret_with_versions_without_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    read = list[Any]()

    def versions(ask: Any, version: Any, after: Any) -> Any:
        read.append(after)
        return {"Versions": [{"VersionId": "another"}], "NextToken": str(len(read))}

    monkeypatch.setattr(aws_secret, "_versions", versions)
    secret = aws_secret.SecretVersion(
        number="1", secret="arn:aws:secretsmanager:eu-west-1:123456789012:secret:x", value_from="X"
    )
    with pytest.raises(walking.NotFarEnough):
        aws_secret.find_version(cast("Any", Pages(of_stripe, ours=False)), secret)
    assert len(read) == walking.MOST_PAGES
