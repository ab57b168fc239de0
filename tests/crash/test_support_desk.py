"""The support desk is killed at every boundary of its turn: one refund, one e-mail, one note, or a doubt in view."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import ExitStack, asynccontextmanager
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("aiosmtpd")
pytest.importorskip("mcp")

from counterfoil.examples.support_desk import app as desk
from counterfoil.examples.support_desk.mail import message_id_of
from counterfoil.examples.support_desk.processes import SCRIPT, MailServerProcess, NotesServerProcess
from counterfoil.model.conversation import Turn
from counterfoil.testing import Bench
from counterfoil.testing.bench import SECRET, BenchRun, BenchSandbox, target_of
from counterfoil.testing.children import Children
from counterfoil.testing.model_server.process import ModelServerProcess
from tests.crash.support_played import Played

LETTER = "My order A-1001 came broken. Please give back 1500 cents."


@pytest.fixture(scope="module")
def forks() -> Iterator[Children]:
    with Children(target_of(desk.app)) as children:
        yield children


class Around:
    """The servers around the turns of a module. What was there before a test is not its."""

    def __init__(self, stack: ExitStack, folder: Path) -> None:
        self.folder = folder
        self.mail = stack.enter_context(MailServerProcess(mailbox=folder / "box"))
        self.notes = stack.enter_context(NotesServerProcess(folder / "notes.jsonl"))
        self.model = stack.enter_context(ModelServerProcess(script=SCRIPT))
        self.begin()

    def begin(self) -> None:
        self._before = {
            "messages": {message["Message-ID"] for message in self.mail.messages()},
            "notes": len(self.notes.notes()),
            "requests": self.model.requests_answered(),
        }

    def messages(self) -> list[EmailMessage]:
        return [each for each in self.mail.messages() if each["Message-ID"] not in self._before["messages"]]

    def taken(self) -> list[dict[str, Any]]:
        return self.notes.notes()[self._before["notes"] :]

    def requests(self) -> int:
        return self.model.requests_answered() - self._before["requests"]


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Around]:
    with ExitStack() as stack:
        yield Around(stack, tmp_path_factory.mktemp("servers"))


@pytest.fixture
def around(servers: Around, monkeypatch: pytest.MonkeyPatch) -> Around:
    for process in (servers.mail, servers.notes, servers.model):
        for name, value in process.environment.items():
            monkeypatch.setenv(name, value)
    servers.begin()
    return servers


class PlayedTurn(Played):
    """One turn, and the servers around it."""

    def __init__(self, bench: Bench, payments: BenchSandbox, run: BenchRun, around: Around) -> None:
        super().__init__(bench, payments, run)
        self.around = around

    def balanced(self) -> None:
        """Every request that reached the model is a decision of this run, or counted as lost."""
        entries = self.bench.app.evidence.entries(self.run.run_id, limit=1000)["items"]
        kinds = [entry["kind"] for entry in entries]
        asked, decided, lost = (kinds.count(kind) for kind in ("asked", "decision", "lost"))
        assert asked == decided + lost
        assert decided <= self.around.requests() <= asked, kinds

    def all_happened_once(self) -> None:
        """By the receivers' own records."""
        assert len(self.payments.records) == 1
        (message,) = self.around.messages()
        assert message["Message-ID"] == message_id_of(self.operation("send_email")["operation_id"])
        assert [note["order"] for note in self.around.taken()] == ["A-1001"]
        assert self.bench.stored(self.run).state == "completed"
        self.balanced()

    async def resolved(self, happened: bool) -> None:
        """A person looks at the notes, and says what is there."""
        operation = self.operation("support_tool")
        assert (operation["status"], operation["reason"]) == ("unknown", "interrupted_tool")
        assert operation["next_action"]["who"]["name"] == "support-desk"
        await self.bench.app.operations.resolve(
            operation["operation_id"], as_="succeeded" if happened else "failed", reference="note-1" if happened else None,
            reason="Looked at the notes.", evidence="its list", expect_version=operation["version"], by="oscar", secret=SECRET,
        )  # fmt: skip


@asynccontextmanager
async def played(folder: Path, forks: Children, around: Around) -> AsyncGenerator[PlayedTurn]:
    async with Bench(desk.app, folder, children=forks) as bench:
        payments = await bench.sandbox("payments", kind="key")
        run = await bench.submit(desk.support.workflow, Turn(text=LETTER), request_id="r-1")
        yield PlayedTurn(bench, payments, run, around)


# How often each boundary is met: until the refund is asked for, until the e-mail is asked for, to the end.
ASKED = {"proposal.made": 1, "operation.prepared": 1, "review.opened": 1, "run.waiting": 1}
SENT = ("operation.in_flight", "marker.flushed", "operation.first_byte", "operation.replied", "operation.classified")
LIVES: tuple[dict[str, int], ...] = (
    {"run.claimed": 1, "record.appended": 1, "decision.asked": 3, "decision.accepted": 3, "step.ended": 3, **ASKED},
    {"run.claimed": 1, **dict.fromkeys(SENT, 1), "decision.asked": 1, "decision.accepted": 1, **ASKED},
    {"run.claimed": 1, **dict.fromkeys(SENT, 2), "decision.asked": 2, "decision.accepted": 2, "operation.prepared": 1,
     "record.appended": 1, "run.finished": 1},
)  # fmt: skip
# What a kill before a boundary leaves is what a kill after the one before it leaves, but for those that are no commits.
POINTS = [
    (life, f"{when}:{name}#{n + 1}")
    for life, met in enumerate(LIVES)
    for name, times in met.items()
    for n in range(times)
    for when in (("before", "after") if name in SENT else ("after",))
]
# The note is the last life's second write, and nobody declared what it is: from here on it may have been taken.
MAYBE_NOTED = {
    "after:operation.in_flight#2", "before:marker.flushed#2", "after:marker.flushed#2", "before:operation.first_byte#2",
    "after:operation.first_byte#2",
}  # fmt: skip
NOTED = {"before:operation.replied#2", "after:operation.replied#2", "before:operation.classified#2"}


def test_the_points_are_those_that_it_passes(tmp_path: Path, forks: Children, around: Around) -> None:
    async def body() -> None:
        async with played(tmp_path, forks, around) as turn:
            for expected in LIVES:
                child = turn.bench.start_worker(turn.run.run_id, work="tests.crash.support_life:hits")
                await asyncio.to_thread(child.wait)
                met = {name: times for name, times in child.said[0].items() if name != "worker.seen"}
                assert met == expected, child.wrote()
                if turn.bench.app.reviews.list(state="open")["items"]:
                    await turn.bench.approve(turn.run, by="ana")
            turn.all_happened_once()
            assert around.requests() == 6, "no answer was asked for twice"

    asyncio.run(body())


@pytest.mark.parametrize(("life", "point"), POINTS)
def test_killed_at(tmp_path: Path, forks: Children, around: Around, life: int, point: str) -> None:
    async def body() -> None:
        async with played(tmp_path, forks, around) as turn:
            stored = await turn.driven(life, point)
            assert turn.run.crashes == [9], "the point is passed"
            if life == 2 and point in MAYBE_NOTED | NOTED:
                assert (stored.state, stored.reason) == ("parked", "interrupted_tool")
                assert len(around.taken()) == (point in NOTED), "and it is not taken again"
                await turn.resolved(happened=point in NOTED)
                assert (await turn.driven()).state == "completed"
                assert len(around.taken()) == (point in NOTED)
                assert (len(turn.payments.records), len(around.messages())) == (1, 1)
                turn.balanced()
                return
            turn.all_happened_once()

    asyncio.run(body())


@pytest.mark.parametrize(("fault", "taken"), [("dies", 1), ("dies-before", 0)])
def test_the_notes_server_dies(
    tmp_path: Path, forks: Children, around: Around, monkeypatch: pytest.MonkeyPatch, fault: str, taken: int
) -> None:
    """A connection that ended says nothing about the note: a person looks."""

    async def body() -> None:
        with NotesServerProcess(tmp_path / "notes.jsonl") as mortal:
            monkeypatch.setenv("NOTES_URL", mortal.url)
            mortal.fault(fault)
            async with played(tmp_path, forks, around) as turn:
                stored = await turn.driven()
                assert (stored.state, stored.reason) == ("parked", "interrupted_tool")
                assert (len(mortal.notes()), len(turn.payments.records), len(around.messages())) == (taken, 1, 1)
                monkeypatch.setenv("NOTES_URL", around.notes.url)  # a new one, in its place
                await turn.resolved(happened=bool(taken))
                assert (await turn.driven()).state == "completed"

    asyncio.run(body())
