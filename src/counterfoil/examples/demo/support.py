"""The story of the support desk: an agent's turn with a refund, an e-mail and a note, killed once and recovered."""

from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from counterfoil.examples.demo.model import LocalModel, ScriptedModel
from counterfoil.examples.demo.options import DemoOptions
from counterfoil.examples.demo.receivers import SandboxReceiver
from counterfoil.examples.demo.story import Plan, Staged

APP = "counterfoil.examples.support_desk.app:app"
NEEDED = ("aiosmtpd", "mcp", "fastmcp")
ACCEPTED = "operation.replied"  # the refund is made, and its receipt is not saved yet
LETTER = "My order A-1001 came broken. Please give back 1500 cents."


def stories(options: DemoOptions, kept: Path) -> list[Staged]:
    """The one story, killed where the options say. `kept`: where the receivers keep what they hold."""
    crash_at = {None: ACCEPTED, "none": None}.get(options.crash_at, options.crash_at)
    plan = Plan(
        name="support-desk",
        title="A customer wants money back: the agent looks up, refunds, writes an e-mail and leaves a note.",
        receiver_kind="key",
        workflow="support",
        request_id="support-A-1001",
        input={"text": LETTER},
        # Killed while the note is taken, it ends with a person: nobody declared what an interrupted note means.
        ends="succeeded" if options.crash_at in (None, "none") else None,
        operation="create_refund",
    )
    return [
        Staged(
            plan=plan, crash_at=crash_at, receiver=lambda: DeskReceivers(kept), url_name="PAYMENTS_URL", model=played
        )
    ]


def played() -> LocalModel:
    """The model of the story, by its script."""
    from counterfoil.examples.support_desk.processes import SCRIPT

    return ScriptedModel(SCRIPT)


class DeskReceivers:
    """The payments' sandbox, the mail server and the notes server, each a process of its own."""

    def __init__(self, kept: Path) -> None:
        from counterfoil.examples.support_desk.processes import MailServerProcess, NotesServerProcess

        with ExitStack() as stack:
            self._payments = stack.enter_context(SandboxReceiver("key", records=kept / "payments.records.jsonl"))
            self._mail = stack.enter_context(MailServerProcess(mailbox=kept / "mailbox"))
            self._notes = stack.enter_context(NotesServerProcess(kept / "notes.jsonl"))
            self._stack = stack.pop_all()
        self.url = self._payments.url

    @property
    def environment(self) -> dict[str, str]:
        """Where mail and notes are."""
        return self._mail.environment | self._notes.environment

    def witness(self) -> dict[str, Any]:
        """The payments' own account, and under `others` what lies in the mailbox and in the file of notes."""
        messages = [str(message["Message-ID"]) for message in self._mail.messages()]
        notes = [str(note["id"]) for note in self._notes.notes()]
        others = {
            "mail": _held(messages, self._mail.get("")["requests"], self._mail.mailbox),
            "notes": _held(notes, self._notes.get("")["requests"], self._notes.file),
        }
        return {**self._payments.witness(), "others": others}

    def close(self) -> int:
        """End the three."""
        self._stack.close()
        return 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _held(ids: list[str], requests: object, place: Path) -> dict[str, Any]:
    return {"records": len(ids), "record_ids": ids, "requests": requests, "records_file": str(place)}
