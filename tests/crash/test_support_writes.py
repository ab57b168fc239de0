"""A refund and an e-mail, killed at every boundary of their sending: one record, one message, or a doubt in view."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from counterfoil.examples.support_desk.app import Refund
from counterfoil.examples.support_desk.mail import Mail, message_id_of
from counterfoil.examples.support_desk.processes import MailServerProcess
from counterfoil.testing import Bench
from counterfoil.testing.bench import target_of
from counterfoil.testing.children import Children
from tests.crash import support_writes
from tests.crash.support_played import Played

pytest.importorskip("aiosmtpd")

MAIL = Mail(
    order="A-1001",
    to="mara@customer.example",
    subject="Your refund for A-1001: 15,00 \u20ac",
    body="Dear Mara,\n\nwe have given back 15,00 \u20ac.\n.\nYour desk\n",
)
WANTED = support_writes.Wanted(refund=Refund(order="A-1001", cents=1500), mail=MAIL)
ASKED = ("operation.prepared", "review.opened", "run.waiting")
SENT = ("operation.in_flight", "marker.flushed", "operation.first_byte", "operation.replied", "operation.classified")
# By worker: until the refund is asked for, until the e-mail is asked for, to the end.
LIVES = (ASKED, (*SENT, *ASKED), (*SENT, "run.finished"))
POINTS = [
    (life, f"{when}:{name}") for life, names in enumerate(LIVES) for name in names for when in ("before", "after")
]


@pytest.fixture(scope="module")
def servers() -> Iterator[Children]:
    with Children(target_of(support_writes.app)) as forks:
        yield forks


@pytest.fixture
def mail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MailServerProcess]:
    with MailServerProcess(mailbox=tmp_path / "box") as process:
        for name, value in process.environment.items():
            monkeypatch.setenv(name, value)
        yield process


@asynccontextmanager
async def played(folder: Path, servers: Children, wanted: support_writes.Wanted) -> AsyncGenerator[Played]:
    async with Bench(support_writes.app, folder, children=servers) as bench:
        payments = await bench.sandbox("payments", kind="key")
        run = await bench.submit(support_writes.both, wanted, request_id="r-1")
        yield Played(bench, payments, run)


def sent_once(mail: MailServerProcess, operation: dict[str, Any]) -> None:
    """One message, with our marker, and what it says is what was approved."""
    (message,) = mail.messages()
    assert message["Message-ID"] == message_id_of(operation["operation_id"]) == operation["receipts"][0]["reference"]
    assert (message["To"], message["Delivered-To"], message["Subject"]) == (MAIL.to, MAIL.to, MAIL.subject)
    assert message.get_content().replace("\r\n", "\n") == MAIL.body + "\n", "the line with one dot, too"


@pytest.mark.parametrize(("life", "point"), POINTS)
def test_killed_at(tmp_path: Path, servers: Children, mail: MailServerProcess, life: int, point: str) -> None:
    async def body() -> None:
        async with played(tmp_path, servers, WANTED) as case:
            stored = await case.driven(life, point)
            assert case.run.crashes == [9], "the point is passed"
            assert stored.state == "completed", stored
            assert len(case.payments.records) == 1
            sent_once(mail, case.operation("send_email"))

    asyncio.run(body())


@pytest.mark.parametrize(
    ("fault", "attempts", "how"),
    [
        ("drop-reply", 1, "lookup"),  # it is in the mailbox
        ("hang", 1, "lookup"),
        ("error-after-accept", 1, "lookup"),  # a 451 after the content proves nothing: look
        ("error-before-accept", 2, "reply"),  # absent, late enough: sent again
        ("greylist", 2, "reply"),  # no content had left: sent again without a look
    ],
)
def test_a_fault_of_the_mail_server(
    tmp_path: Path, servers: Children, mail: MailServerProcess, fault: str, attempts: int, how: str
) -> None:
    async def body() -> None:
        mail.fault(fault)
        async with played(tmp_path, servers, support_writes.Wanted(mail=MAIL)) as case:
            assert (await case.driven()).state == "completed"
            operation = case.operation("send_email")
            sent_once(mail, operation)
            assert len(operation["attempts"]) == attempts
            assert operation["receipts"][0]["how"] == how

    asyncio.run(body())


def test_a_refusal_is_final(tmp_path: Path, servers: Children, mail: MailServerProcess) -> None:
    async def body() -> None:
        mail.fault("refuse")
        async with played(tmp_path, servers, support_writes.Wanted(mail=MAIL)) as case:
            await case.driven()
            assert case.operation("send_email")["status"] == "failed" and mail.messages() == []

    asyncio.run(body())


def test_nobody_listens(tmp_path: Path, servers: Children, mail: MailServerProcess) -> None:
    """Nothing was in flight: no doubt. The tries are counted, and its owner hears of it."""

    async def body() -> None:
        mail.close()
        async with played(tmp_path, servers, support_writes.Wanted(mail=MAIL)) as case:
            stored = await case.driven()
            operation = case.operation("send_email")
            assert (stored.state, stored.reason) == ("parked", "budget_attempts")
            assert (operation["status"], operation["attempts"]) == ("prepared", [])

    asyncio.run(body())


def test_a_mailbox_that_is_gone_is_no_absence(
    tmp_path: Path, servers: Children, mail: MailServerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def body() -> None:
        mail.fault("drop-reply")
        monkeypatch.setenv("MAILBOX", str(tmp_path / "no-such-box"))
        async with played(tmp_path, servers, support_writes.Wanted(mail=MAIL)) as case:
            stored = await case.driven()
            operation = case.operation("send_email")
            assert (stored.state, stored.reason, operation["status"]) == ("parked", "outcome_unknown", "unknown")
            assert len(mail.messages()) == 1, "and it was not sent again"
            assert operation["next_action"]["who"]["name"] == "support-desk"

    asyncio.run(body())


def test_two_messages_with_one_marker_are_an_incident(
    tmp_path: Path, servers: Children, mail: MailServerProcess
) -> None:
    """Somebody delivers it twice, as mail servers may: the mailbox is believed, and a person is asked."""

    async def body() -> None:
        mail.fault("drop-reply")
        async with played(tmp_path, servers, support_writes.Wanted(mail=MAIL)) as case:
            await case.bench.approve(case.run, by="ana")
            child = case.bench.start_worker(case.run.run_id, crash_at="before:operation.classified")
            await asyncio.to_thread(child.wait)
            (file,) = (tmp_path / "box" / "new").iterdir()
            (file.parent / f"{file.name}.again").write_bytes(file.read_bytes())
            await case.driven()
            assert case.bench.app.incidents.list()["items"]

    asyncio.run(body())
