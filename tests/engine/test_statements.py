"""A provider's statement: what it proves is recorded once, what is not certain is left to people."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from counterfoil.app import money, statement_import
from counterfoil.engine.statements import RecordStatement
from counterfoil.model.errors import Refused
from counterfoil.model.receipt import ReceiptRecord
from counterfoil.model.run import RunRecord
from counterfoil.model.statement import ImportRecord, StatementLineRecord
from counterfoil.rules.statement_lines import Reading
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.engine.answers import approve, asked, submit
from tests.engine.house import SECRET, House, Order
from tests.engine.writes import create_case, writing

Rows = list[dict[str, Any]]


@pytest.fixture
def crm() -> Iterator[SandboxProcess]:
    """A receiver with neither key nor lookup: after a doubt only a person, or its statement, can tell."""
    with SandboxProcess("none") as process:
        yield process


class Books:
    """A house whose receiver drops some replies, and statements about it."""

    def __init__(self, house: House, crm: SandboxProcess) -> None:
        self.house, self.crm = house, crm
        self.review = False
        self.workflow: Any = None

    def begin(self, *, review: bool = False, single_person: bool = False) -> None:
        self.review = review
        operation = create_case(self.house.app, "none", review=review)
        self.workflow = writing(self.house.app, operation)
        self.house.found(single_person=single_person)

    async def doubted(self, number: str, amount: int) -> Any:
        """An operation whose reply was lost."""
        self.crm.fault("drop-reply")
        run_id = await self._asked(number, amount)

        def tried(run: RunRecord) -> bool:
            (operation,) = self.house.operations(run_id) or (None,)
            return run.state.value in ("waiting", "parked") and operation is not None and operation.attempts == 1

        await self.house.until(run_id, tried)
        if self.house.run(run_id).state.value == "waiting":
            self.house.clock.advance(2)
        await self.house.state(run_id, "parked")
        (operation,) = self.house.operations(run_id)
        assert operation.status.value == "unknown"
        return operation

    async def succeeded(self, number: str, amount: int) -> tuple[Any, str]:
        """An operation with its receipt, and the reference that the receiver gave."""
        run_id = await self._asked(number, amount)
        await self.house.state(run_id, "completed")
        (operation,) = self.house.operations(run_id)
        return operation, self.receipts(operation.operation_id)[-1].reference

    async def failed(self, number: str, amount: int) -> Any:
        self.crm.fault("refuse")
        run_id = await self._asked(number, amount)
        await self.house.state(run_id, "parked", "failed")
        (operation,) = self.house.operations(run_id)
        assert operation.status.value == "failed"
        return operation

    async def _asked(self, number: str, amount: int) -> str:
        run_id = await submit(self.house, self.workflow, Order(number=number, amount=amount), f"r-{number}")
        if self.review:
            await approve(self.house, await asked(self.house, run_id))
        return run_id

    def receipts(self, operation_id: str) -> list[ReceiptRecord]:
        with self.house.app.open().read() as reader:
            return reader.find(ReceiptRecord, "operation_id", operation_id)

    def status(self, operation: Any) -> str:
        return next(o for o in self.house.operations(operation.run_id)).status.value

    async def reconcile(self, rows: Rows, *, by: str = "root", **parts: Any) -> dict[str, Any]:
        content = "\n".join(json.dumps(row) for row in rows).encode()
        told: dict[str, Any] = {"name": "june.jsonl", "receiver": "crm", "by": by, "secret": SECRET} | parts
        return await self.house.app.money.reconcile(content, **told)

    def line(self, reference: str | None, amount: int, *, seconds: int = 0, currency: str = "EUR") -> dict[str, Any]:
        at = datetime.fromtimestamp(self.house.clock.now_us() / 1_000_000 + seconds, UTC)
        said = {"amount": f"{amount / 100:.2f}", "currency": currency, "at": at.isoformat()}
        return said if reference is None else said | {"reference": reference}


@pytest.fixture
def books(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, crm: SandboxProcess) -> Iterator[Books]:
    house = House(tmp_path, monkeypatch, crm.url)
    yield Books(house, crm)
    house.app.close()


@asynccontextmanager
async def at_work(books: Books) -> AsyncIterator[None]:
    async with books.house.working():
        yield


def told(books: Books, story: Callable[[], Any], **begin: Any) -> None:
    async def whole() -> None:
        books.begin(**begin)
        async with at_work(books):
            await story()
        books.house.clean()

    asyncio.run(whole())


def test_what_the_statement_proves_is_resolved_and_its_run_goes_on(books: Books) -> None:
    async def story() -> None:
        doubt = await books.doubted("1", 700)
        sure, reference = await books.succeeded("2", 300)
        rows = [books.line(None, 700), books.line(reference, 300), books.line("pay_theirs", 555)]
        trial = await books.reconcile(rows, dry_run=True)
        assert ([each["operations"] for each in trial["resolved"]], books.status(doubt)) == ([["op-1"]], "unknown")
        assert (trial["import_id"], trial["file_digest"]) == (None, None)
        found = await books.reconcile(rows)
        assert (found["matched"], [each["line"] for each in found["theirs_not_ours"]]) == (1, [3])
        assert [each["operation_id"] for each in found["resolved"]] == [doubt.operation_id]
        await books.house.state(doubt.run_id, "completed")
        receipt = books.receipts(doubt.operation_id)[-1]
        said = json.loads(receipt.body)
        assert (receipt.how, receipt.proves, said["line"]) == ("statement", "existence", 1)
        assert books.house.app.open().artifacts.read(said["file_digest"]).startswith(b'{"amount"')
        assert len(books.receipts(sure.operation_id)) == 1, "what agrees needs no more evidence"

    told(books, story)


def test_the_same_file_twice_does_nothing_twice(books: Books) -> None:
    async def story() -> None:
        doubt = await books.doubted("1", 700)
        rows = [books.line(None, 700), {"reference": "x", "amount": "nonsense", "currency": "EUR"}]
        first = await books.reconcile(rows)
        with books.house.app.open().read() as reader:
            entries = len(reader.entries(books.house.app.open().installation_id))
        again = await books.reconcile(rows)
        assert again == first | {"resolved": again["resolved"]}
        assert [each["operation_id"] for each in again["resolved"]] == [doubt.operation_id]
        assert len(books.receipts(doubt.operation_id)) == 1
        with books.house.app.open().read() as reader:
            assert len(reader.entries(books.house.app.open().installation_id)) == entries
            (kept,) = reader.rows(ImportRecord)
            assert [row.result for row in reader.rows(StatementLineRecord)] == ["resolved"]
        assert (kept.import_id, kept.lines, kept.resolved) == (first["import_id"], 1, 1)
        assert [each["problem"] for each in again["unreadable"]] == ["'nonsense' is no amount"]
        assert books.house.app.money.imports()["items"][0]["by"] == "root"

    told(books, story)


def test_two_that_fit_are_none(books: Books) -> None:
    async def story() -> None:
        first, second = await books.doubted("1", 700), await books.doubted("2", 700)
        other = await books.doubted("3", 800)
        rows = [books.line(None, 700), books.line(None, 800), books.line(None, 800)]
        found = await books.reconcile(rows)
        assert [each["operations"] for each in found["several"]] == [["op-1", "op-2"], ["op-3"], ["op-3"]]
        assert {books.status(each) for each in (first, second, other)} == {"unknown"}
        assert (found["resolved"], found["sound"]) == ([], False)

    told(books, story)


def test_a_line_that_may_be_a_known_success_resolves_no_doubt(books: Books) -> None:
    async def story() -> None:
        doubt = await books.doubted("1", 700)
        _, reference = await books.succeeded("2", 700)
        found = await books.reconcile([books.line(None, 700)])
        assert [each["operations"] for each in found["several"]] == [["op-1", "op-2"]]
        assert books.status(doubt) == "unknown"
        found = await books.reconcile([books.line(None, 700), books.line(reference, 700)])
        assert [each["operation_id"] for each in found["resolved"]] == [doubt.operation_id], (
            "the other line is the success"
        )

    told(books, story)


@pytest.mark.parametrize("named", ["id", "business key"])
def test_a_reference_of_ours_names_one_of_two(books: Books, named: str) -> None:
    async def story() -> None:
        first, second = await books.doubted("first", 700), await books.doubted("second", 700)
        reference = second.operation_id if named == "id" else "second"
        found = await books.reconcile([books.line(reference, 700), books.line(None, 700)])
        assert [each["operation_id"] for each in found["resolved"]] == [second.operation_id, first.operation_id]

    told(books, story)


@pytest.mark.parametrize(
    ("what", "parts"),
    [
        ("another amount", {"amount": 701}),
        ("another currency", {"currency": "USD"}),
        ("before it was sent", {"seconds": -3600}),
        ("long after it was sent", {"seconds": 25 * 3600}),
    ],
)
def test_what_does_not_fit_resolves_nothing(books: Books, what: str, parts: dict[str, Any]) -> None:
    async def story() -> None:
        doubt = await books.doubted("1", 700)
        found = await books.reconcile([books.line(None, **dict[str, Any]({"amount": 700} | parts))])
        assert ([each["line"] for each in found["theirs_not_ours"]], books.status(doubt)) == ([1], "unknown")
        wrong = await books.reconcile([books.line("1", 701)])
        assert wrong["mismatch"][0]["why"] == "ours is 700 EUR, theirs 701 EUR in minor units"
        assert books.status(doubt) == "unknown"

    told(books, story)


def test_what_is_ours_and_not_theirs_is_named(books: Books) -> None:
    async def story() -> None:
        await books.succeeded("before", 100)
        books.house.clock.advance(3600)
        begins = books.line("their_first", 1)
        books.house.clock.advance(60)
        missing, _ = await books.succeeded("missing", 200)
        _, reference = await books.succeeded("listed", 300)
        books.house.clock.advance(60)
        found = await books.reconcile([begins, books.line(reference, 300)])
        assert [each["operation_id"] for each in found["ours_not_theirs"]] == [missing.operation_id]
        assert found["window"]["begins_at"] is not None

    told(books, story)


def test_a_line_about_what_failed_opens_an_incident(books: Books) -> None:
    async def story() -> None:
        failed = await books.failed("1", 700)
        found = await books.reconcile([books.line(failed.operation_id, 700)])
        assert found["mismatch"][0]["why"] == "ours is failed: The receiver contradicts an operation we have closed."
        assert [each["operation_id"] for each in books.house.app.incidents.list()["items"]] == [failed.operation_id]
        assert books.status(failed) == "failed"
        trial = await books.reconcile([books.line(failed.operation_id, 700)], dry_run=True)
        assert len(trial["mismatch"]) == 1

    told(books, story)


@pytest.mark.parametrize("single_person", [False, True])
def test_who_approved_does_not_resolve_by_statement(books: Books, single_person: bool) -> None:
    async def story() -> None:
        doubt = await books.doubted("1", 700)
        house = books.house
        with pytest.raises(Refused) as refused:
            await books.reconcile([books.line(None, 700)], by="ana")
        assert refused.value.code == "not_permitted"
        with house.app.open().read() as reader:
            from counterfoil.app.operations import target_here

            target = target_here(house.app.open(), reader, doubt)
        verb = RecordStatement(
            doubt.run_id, target, "june", "sha256:" + "0" * 64, 1, "x", 700, "EUR", 1, "ana", doubt.version
        )
        grant(house)
        if single_person:
            house.ask(verb)
            assert books.status(doubt) == "succeeded"
            return
        with pytest.raises(Refused) as own:
            house.ask(verb)
        assert own.value.code == "own_action"
        mine = await books.reconcile([books.line(None, 700)], by="ana")
        assert [(each["code"], each["operations"]) for each in mine["not_resolved"]] == [("own_action", ["op-1"])]
        with pytest.raises(Refused) as stale:
            house.ask(replace(verb, by="oscar", expect_version=doubt.version - 1))
        assert stale.value.code == "stale_version"
        assert books.status(doubt) == "unknown"
        theirs = await books.reconcile([books.line(None, 700)], by="oscar")
        assert [each["operation_id"] for each in theirs["resolved"]] == [doubt.operation_id]

    told(books, story, review=True, single_person=single_person)


def grant(house: House) -> None:
    """Managers may import statements, too."""
    from counterfoil.engine.access import Grant
    from counterfoil.model.access import GrantRecord

    for verb in ("import_statement", "answer"):
        row = GrantRecord(f"grant_{verb}", "manager", verb, None, None, None, None, None, "root", 0, None)
        house.ask(Grant(house.app.open().installation_id, row, None))


def test_a_file_that_is_no_statement_changes_nothing(books: Books) -> None:
    async def story() -> None:
        for content, code in ((b"", "malformed_statement"), (b"\xff\xfe", "malformed_statement")):
            with pytest.raises(Refused) as refused:
                await books.house.app.money.reconcile(content, name="x", receiver="crm", by="root", secret=SECRET)
            assert refused.value.code == code
        with pytest.raises(Refused) as nowhere:
            await books.reconcile([books.line("x", 1)], receiver="nowhere")
        assert nowhere.value.code == "usage"
        with pytest.raises(Refused) as wrong:
            await books.reconcile([books.line("x", 1)], secret="wrong")
        assert wrong.value.code == "wrong_secret"
        with books.house.app.open().read() as reader:
            assert list(reader.rows(ImportRecord)) == []

    told(books, story)


def test_ten_thousand_lines(books: Books) -> None:
    """A doubt among 10,000 lines of a real file: quoted, with a byte order mark, and other columns."""

    async def story() -> None:
        doubt = await books.doubted("1", 700)
        at = datetime.fromtimestamp(books.house.clock.now_us() / 1_000_000, UTC).isoformat()
        rows = [f'"re_{n}","a note, with ""quotes""",-{n + 10_000}.00,eur,{at}' for n in range(9_999)]
        rows.insert(5_000, f'"re_ours","the one",-7.00,eur,{at}')
        content = "\ufeffId;".replace(";", ",") + "Note,Net,Cur,Created\r\n" + "\r\n".join(rows) + "\r\n"
        columns = {"reference": "ID", "amount": "net", "currency": "cur", "at": "created"}
        reading = Reading(columns, negative=True)
        found = await books.house.app.money.reconcile(
            content.encode(), name="june.csv", receiver="crm", by="root", secret=SECRET, reading=reading,
            within=timedelta(hours=1),
        )  # fmt: skip
        assert (found["lines"], len(found["theirs_not_ours"]), found["unreadable"]) == (10_000, 9_999, [])
        assert [(each["line"], each["operation_id"]) for each in found["resolved"]] == [(5_002, doubt.operation_id)]

    told(books, story)


def test_a_large_statement_does_not_hold_up_the_loop(books: Books, monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop may carry a console and a worker's heartbeat: what takes long is read and matched elsewhere."""
    where: set[int] = set()

    def seen(function: Callable[..., Any]) -> Callable[..., Any]:
        def called(*given: Any, **named: Any) -> Any:
            where.add(threading.get_ident())
            return function(*given, **named)

        return called

    monkeypatch.setattr(money, "read_statement", seen(money.read_statement))
    monkeypatch.setattr(statement_import, "matches", seen(statement_import.matches))

    async def story() -> None:
        found = await books.reconcile([books.line("re_1", 100)])
        assert len(found["theirs_not_ours"]) == 1
        assert where
        assert threading.get_ident() not in where

    told(books, story)
