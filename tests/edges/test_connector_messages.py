"""Genuine messages of Stripe and GitHub reach the operations of the connectors as they are, through the server, by no word of ours."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from counterfoil.app import App
from counterfoil.app.duties.known import DUTIES
from counterfoil.app.duties.rounds import Rounds
from counterfoil.connectors import github, stripe
from counterfoil.connectors.drilled.github import Issues, Pulls
from counterfoil.connectors.drilled.stripe import Intents, Mock
from counterfoil.console.asgi import asgi
from counterfoil.engine.definitions import Bearer, Env, SignedBy
from counterfoil.engine.port import Run
from counterfoil.model.delivery import DeliveryRecord
from counterfoil.model.receipt import Receipt
from counterfoil.model.run import RunRecord
from tests.edges import vendor_messages as said
from tests.engine.answers import submit
from tests.engine.house import BUDGET, House
from tests.engine.messages import STANDARD
from tests.engine.messages import github as signed_by_github
from tests.engine.messages import stripe as signed_by_stripe

Declared = Callable[[App], Any]
NOBODYS = "op_" + "0" * 23


class Connected:
    """A house with one receiver, whose operation is a connector's as it is shipped."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, server: Any, vendor: str, declared: Declared) -> None:
        patch.setenv("WEBHOOK_SECRET", STANDARD)
        for name, value in server.environ.items():
            patch.setenv(name, value)
        self.house, self.server, self.vendor = House(folder, patch), server, vendor
        app = self.house.app
        url, key = Env(f"{vendor.upper()}_URL"), Env("STRIPE_KEY" if vendor == "stripe" else "GITHUB_TOKEN")
        scheme: Any = vendor
        app.receiver(
            vendor, url=url, credential=Bearer(key), environment="test",
            webhook=SignedBy(scheme, Env("WEBHOOK_SECRET")),
        )  # fmt: skip
        self.workflow, self.payload = declared(app)
        self.house.found()
        self.server_side = asgi(app)

    async def written(self, number: str) -> str:
        return await submit(self.house, self.workflow, self._given(number), f"r-{number}")

    async def left_in_doubt(self, number: str) -> str:
        """The receiver has it, its answer is lost, and it can be asked nothing. Time stands still: nobody tries again."""
        given = self._given(number)
        self.server.blind()
        self.server.arm("drop-reply")
        run_id = await submit(self.house, self.workflow, given, f"r-{number}")

        def lost(run: RunRecord) -> bool:
            found = self.house.operations(run_id)
            return bool(found) and found[0].attempts == 1 and run.state.value in ("waiting", "parked")

        await self.house.until(run_id, lost)
        assert self.operation(run_id).status.value in ("in_flight", "unknown")
        return run_id

    def _given(self, number: str) -> Any:
        return self.payload.model_validate(self.server.prepare(number))

    async def tells(self, body: Mapping[str, Any], event: str | None = None, secret: str = STANDARD) -> httpx2.Response:
        """The vendor's message through the server, signed as the vendor signs. It is matched when this returns."""
        sent = json.dumps(body, separators=(",", ":")).encode()
        headers = (
            signed_by_stripe(sent, self.house.clock.now_us(), secret=secret)
            if self.vendor == "stripe"
            else signed_by_github(sent, secret=secret) | {"x-github-event": event or "", "cookie": "planted"}
        )
        transport = httpx2.ASGITransport(app=self.server_side)
        async with httpx2.AsyncClient(transport=transport, base_url="http://ledger.example") as client:
            return await client.post(f"/webhooks/{self.vendor}", content=sent, headers=headers)

    def operation(self, run_id: str) -> Any:
        (found,) = self.house.operations(run_id)
        return found

    def receipts(self, run_id: str) -> list[tuple[str, str, str]]:
        shown = self.house.app.operations.show(self.operation(run_id).operation_id)["receipts"]
        return [(each["how"], each["reference"], each["proves"]) for each in shown]

    def deliveries(self) -> list[DeliveryRecord]:
        with self.house.app.open().read() as reader:
            return list(reader.rows(DeliveryRecord))

    def states(self) -> list[str]:
        return [each.state.value for each in self.deliveries()]

    def incidents(self) -> list[dict[str, Any]]:
        return self.house.app.incidents.list(open_only=True)["items"]


Connect = Callable[[Any, str, Declared], Connected]


@pytest.fixture
def connect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Connect]:
    made: list[Connected] = []

    def connected(kind: Any, vendor: str, declared: Declared) -> Connected:
        made.append(Connected(tmp_path, monkeypatch, kind(tmp_path), vendor, declared))
        return made[-1]

    yield connected
    for each in made:
        each.house.clean()
        each.house.app.close()
        each.server.close()


@asynccontextmanager
async def at_work(told: Connected) -> AsyncIterator[None]:
    async with told.house.working():
        yield


def refund(app: App) -> Any:
    operation = stripe.refund(app, owner="lead")

    async def writing(run: Run, asked: stripe.Refund) -> stripe.RefundReceipt:
        return await run.perform(operation, asked)

    return app.workflow(version=1, budget=BUDGET)(writing), stripe.Refund


def intent(app: App) -> Any:
    operation = stripe.payment_intent(app, owner="lead")

    async def writing(run: Run, asked: stripe.PaymentIntent) -> stripe.PaymentReceipt:
        return await run.perform(operation, asked)

    return app.workflow(version=1, budget=BUDGET)(writing), stripe.PaymentIntent


def comment(app: App) -> Any:
    operation = github.comment(app, owner="lead")

    async def writing(run: Run, asked: github.Comment) -> github.CommentReceipt:
        return await run.perform(operation, asked)

    return app.workflow(version=1, budget=BUDGET)(writing), github.Comment


def merge(app: App) -> Any:
    operation = github.merge(app, owner="lead")

    async def writing(run: Run, asked: github.Merge) -> Receipt:
        return await run.perform(operation, asked)

    return app.workflow(version=1, budget=BUDGET)(writing), github.Merge


@pytest.mark.parametrize("type", ["refund.created", "refund.updated", "charge.refund.updated", "refund.failed"])
def test_stripes_word_about_a_refund_closes_its_doubt(connect: Connect, type: str) -> None:
    told = connect(Mock, "stripe", refund)

    async def story() -> None:
        async with at_work(told):
            run_id = await told.left_in_doubt("1")
            object = said.stripe_refund(
                "re_7", told.operation(run_id).operation_id, status="failed" if "failed" in type else "succeeded"
            )
            assert (await told.tells(said.stripe_event(type, object))).status_code == 200
            await told.house.state(run_id, "completed")
        closed = told.operation(run_id)
        assert (closed.status.value, closed.case_letter, closed.attempts) == ("succeeded", "E", 1)
        proves = "current_state" if type == "refund.failed" else "first_result"
        assert told.receipts(run_id) == [("webhook", "re_7", proves)]

    asyncio.run(story())


def test_a_refund_that_fails_after_its_success_is_a_later_receipt_and_reopens_nothing(connect: Connect) -> None:
    told = connect(Mock, "stripe", refund)

    async def story() -> None:
        async with at_work(told):
            run_id = await told.written("1")
            await told.house.state(run_id, "completed")
            (first,) = told.receipts(run_id)
            reference = first[1]
            # Found by the refund's id alone: a refund loses its metadata where somebody edits them.
            for n, (type, id) in enumerate(
                (("refund.updated", None), ("charge.refund.updated", None), ("refund.failed", "ours")), 1
            ):
                told.house.clock.advance(1)
                ours = None if id is None else told.operation(run_id).operation_id
                failed = said.stripe_refund(reference, ours, status="failed", failure_reason="expired_or_canceled_card")
                await told.tells(said.stripe_event(type, failed, id=f"evt_{n}", status="succeeded"))
        assert told.states() == ["matched"] * 3
        assert told.receipts(run_id) == [first, *[("webhook", reference, "current_state")] * 3]
        assert told.operation(run_id).status.value == "succeeded" and told.incidents() == []
        assert told.house.run(run_id).state.value == "completed"

    asyncio.run(story())


def test_a_refund_message_counts_once_and_another_refund_under_our_id_is_an_incident(connect: Connect) -> None:
    told = connect(Mock, "stripe", refund)

    async def story() -> None:
        async with at_work(told):
            run_id = await told.left_in_doubt("1")
            ours = told.operation(run_id).operation_id
            event = said.stripe_event("refund.updated", said.stripe_refund("re_7", ours))
            again = [(await told.tells(event | {"pending_webhooks": n})).json()["new"] for n in (2, 1, 0)]
            assert again == [True, False, False]
            await told.house.state(run_id, "completed")
            assert len(told.receipts(run_id)) == 1
            await told.tells(said.stripe_event("refund.created", said.stripe_refund("re_8", ours), id="evt_2"))
        assert len(told.incidents()) == 1 and told.operation(run_id).status.value == "succeeded"

    asyncio.run(story())


def test_what_is_not_ours_is_no_orphan_and_what_names_an_operation_that_we_do_not_know_is_one(connect: Connect) -> None:
    told = connect(Mock, "stripe", refund)

    async def story() -> None:
        await told.tells(said.stripe_event("payment_intent.succeeded", said.stripe_intent("pi_1", None), id="evt_1"))
        await told.tells(said.stripe_event("refund.updated", said.stripe_refund("re_1", NOBODYS), id="evt_2"))
        await told.tells(said.stripe_event("customer.created", {"id": "cus_1", "object": "customer"}, id="evt_3"))
        refused = await told.tells(said.stripe_event("refund.failed", said.stripe_refund("re_1", NOBODYS)), secret="x")
        assert refused.status_code == 403

    asyncio.run(story())
    assert [(each.type, each.state.value) for each in told.deliveries()] == [
        ("payment_intent.succeeded", "other"), ("refund.updated", "orphan"), ("customer.created", "other"),
    ]  # fmt: skip


def test_stripes_word_about_a_payment_closes_its_doubt(connect: Connect) -> None:
    told = connect(Intents, "stripe", intent)

    async def story() -> None:
        async with at_work(told):
            run_id = await told.left_in_doubt("1")
            ours = told.operation(run_id).operation_id
            # A confirmation that was declined is a refusal to us: these two come then as well, and prove nothing.
            for n, type in enumerate(("payment_intent.created", "payment_intent.payment_failed")):
                await told.tells(said.stripe_event(type, said.stripe_intent("pi_3", ours), id=f"evt_{n}"))
            assert told.operation(run_id).status.value != "succeeded" and told.states() == ["other", "other"]
            await told.tells(
                said.stripe_event("payment_intent.succeeded", said.stripe_intent("pi_3", ours), id="evt_9")
            )
            await told.house.state(run_id, "completed")
            told.house.clock.advance(1)
            cancelled = said.stripe_intent("pi_3", None, status="canceled")
            await told.tells(said.stripe_event("payment_intent.canceled", cancelled, id="evt_10"))
        assert told.receipts(run_id) == [("webhook", "pi_3", "first_result"), ("webhook", "pi_3", "current_state")]
        assert told.operation(run_id).status.value == "succeeded" and told.incidents() == []

    asyncio.run(story())


def test_githubs_word_about_a_comment_closes_its_doubt_by_the_marker(connect: Connect) -> None:
    told = connect(Issues, "github", comment)

    async def story() -> None:
        async with at_work(told):
            run_id = await told.left_in_doubt("1")
            marked = f"It is there.\r\n\r\n{github.marker(told.operation(run_id).operation_id)}\r\n"
            quoted = f"> {github.marker(told.operation(run_id).operation_id)}\n\nWhat is this?"
            await told.tells(said.github_comment(6, quoted), "issue_comment")
            await told.tells(said.github_comment(7, marked, action="edited"), "issue_comment")
            await told.tells(said.github_comment(7, marked), "discussion_comment")
            assert told.states() == ["other"] * 3 and told.operation(run_id).status.value != "succeeded"
            # The same bytes under another header are the same message: the header that came first is kept.
            body = said.github_comment(7, marked) | {"installation": {"id": 1}}
            answers = [(await told.tells(body, event)).json()["new"] for event in ("issue_comment", "ping")]
            assert answers == [True, False]
            await told.house.state(run_id, "completed")
            told.house.clock.advance(1)
            await told.tells(said.github_comment(7, marked, action="deleted"), "issue_comment")
        assert told.receipts(run_id) == [("webhook", "7", "first_result"), ("webhook", "7", "current_state")]
        assert told.operation(run_id).status.value == "succeeded" and told.incidents() == []

    asyncio.run(story())
    assert {each.headers for each in told.deliveries()} == {
        '{"x-github-event":"issue_comment"}', '{"x-github-event":"discussion_comment"}',
    }  # fmt: skip


def test_a_comment_with_a_marker_that_nobody_knows_is_an_orphan_and_a_persons_comment_is_none(connect: Connect) -> None:
    told = connect(Issues, "github", comment)

    async def story() -> None:
        await told.tells(said.github_comment(1, f"Done.\n\n{github.marker(NOBODYS)}"), "issue_comment")
        await told.tells(said.github_comment(2, "Looks good to me."), "issue_comment")

    asyncio.run(story())
    assert told.states() == ["orphan", "other"]


def test_githubs_word_about_a_merge_closes_its_doubt_by_the_commits_last_line(connect: Connect) -> None:
    told = connect(Pulls, "github", merge)
    commit = "6dcb09b5b57875f334f61aebed695e2e4193db5e"

    async def story() -> None:
        async with at_work(told):
            run_id = await told.left_in_doubt("1")
            ours = f"{github.TRAILER}{told.operation(run_id).operation_id}"
            # It is merged, and by whom is not said: our own id in the commit says that.
            await told.tells(said.github_closed(commit), "pull_request")
            await told.tells(said.github_closed("7" * 40, merged=False), "pull_request")
            await told.tells(said.github_push("8" * 40, f"Mention it\n\n{ours}\nand go on"), "push")
            assert told.states() == ["other"] * 3 and told.operation(run_id).status.value != "succeeded"
            await told.tells(said.github_push(commit, f"Take it in\n\n{ours}"), "push")
            await told.house.state(run_id, "completed")
            assert told.receipts(run_id) == [("webhook", commit, "existence")]
            # Now the merge commit is known, and the message that waited is placed by it.
            told.house.clock.advance(61)
            await Rounds(told.house.app, [duty for duty in DUTIES if duty.name == "deliveries"]).once()
            assert told.receipts(run_id)[1:] == [("webhook", commit, "first_result")]
            # Cherry-picked onto another branch, the message is copied with our id: it is no second merge.
            await told.tells(said.github_push("9" * 40, f"Take it in\n\n{ours}"), "push")
        assert told.operation(run_id).status.value == "succeeded" and told.incidents() == []

    asyncio.run(story())


def test_a_merge_that_was_answered_is_known_by_its_commit(connect: Connect) -> None:
    told = connect(Pulls, "github", merge)

    async def story() -> None:
        async with at_work(told):
            run_id = await told.written("1")
            await told.house.state(run_id, "completed")
            (first,) = told.receipts(run_id)
            told.house.clock.advance(1)
            await told.tells(said.github_closed(first[1]), "pull_request")
        assert told.receipts(run_id) == [first, ("webhook", first[1], "first_result")] and told.incidents() == []

    asyncio.run(story())


def test_a_comment_that_quotes_the_id_of_a_merge_merges_nothing(connect: Connect) -> None:
    """Both are operations of one receiver: what a message means is the word of the operation's own contract."""

    def both(app: App) -> Any:
        github.comment(app, owner="lead")
        return merge(app)

    told = connect(Pulls, "github", both)

    async def story() -> None:
        async with at_work(told):
            run_id = await told.left_in_doubt("1")
            marked = f"Done.\n\n{github.marker(told.operation(run_id).operation_id)}"
            await told.tells(said.github_comment(7, marked), "issue_comment")
        assert told.operation(run_id).status.value != "succeeded" and told.states() == ["orphan"]

    asyncio.run(story())
