"""What is played when the support desk is drilled: `counterfoil drill counterfoil.examples.support_desk.app:support`."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from counterfoil.drills.scenario import Scenario
from counterfoil.examples.support_desk.mail import read_back
from counterfoil.examples.support_desk.processes import SCRIPT, MailServerProcess, NotesServerProcess
from counterfoil.testing.loopback.digest import digest_of
from counterfoil.testing.model_server.process import ModelServerProcess

Row = dict[str, Any]


class MailStand:
    """The mail server, and beside it the model that plays the desk."""

    def __init__(self) -> None:
        self.server, self.model = MailServerProcess(), ModelServerProcess(script=SCRIPT)

    def part(self, name: str) -> "MailPart":
        """Of the next case; cases are played one after another."""
        del name
        return MailPart(self)

    def close(self) -> None:
        """End both."""
        self.server.close()
        self.model.close()


class MailPart:
    """The mailbox as one case sees it: what came into being since it began."""

    asks_credential = False

    def __init__(self, stand: MailStand) -> None:
        self._server = stand.server
        self._before = {message["Message-ID"] for message in self._server.messages()}
        self._from = len(self._server.requests())
        self.url = self._server.url
        self.environ = self._server.environment | stand.model.environment

    def records(self) -> list[Row]:
        """From the mailbox. The Message-ID is made from the operation's id."""
        return [
            {"id": marker, "reference": _operation(marker), "key": None, "at": None, **_content(read_back(message))}
            for message in self._server.messages()
            if (marker := str(message["Message-ID"])) not in self._before
        ]

    def writes(self) -> list[Row]:
        """From the server's log."""
        return [
            {**line, "reference": _operation(line["message_id"]), "key": None, "record_id": line["message_id"],
             "payload_digest": None, "replayed": False}
            for line in self._server.requests()[self._from :]
        ]  # fmt: skip

    def fault(self, name: str, *, count: int = 1, seconds: float | None = None) -> None:
        """As the server has it."""
        self._server.fault(name, count=count, seconds=seconds)

    def post(self, name: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Its clock is the wall's, it has no keys, and its mailbox does not lag."""
        return self._server.post(name, dict(body or {})) if name in ("fault", "wait", "release") else {}

    def quiet(self) -> None:
        """Disarm, and let go of what is held."""
        self._server.post("fault", {"fault": None})
        self._server.release()

    def begin(self, clock: Path) -> None:
        """Nothing of the case before is left armed."""
        self.quiet()


class NotesStand:
    """The notes server. A note carries no name of ours: whose it is, nobody can say."""

    asks_credential = False

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="counterfoil-notes-")
        self._server = NotesServerProcess(Path(self._folder.name) / "notes.jsonl")
        self._from = 0
        self.url = self._server.url
        self.environ = self._server.environment

    def part(self, name: str) -> "NotesStand":
        """Of the next case."""
        del name
        self._from = len(self._server.notes())
        return self

    def records(self) -> list[Row]:
        """From the file of notes."""
        return [_note(note) for note in self._server.notes()[self._from :]]

    def writes(self) -> list[Row]:
        """Each note was one call."""
        return [{**record, "record_id": record["id"], "status": 200, "replayed": False} for record in self.records()]

    def fault(self, name: str, *, count: int = 1, seconds: float | None = None) -> None:
        """None of them can be played there."""
        raise ValueError(f"{name} is not played at the notes server")

    def post(self, name: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Nothing is held there."""
        return {}

    def quiet(self) -> None:
        """Nothing is armed there."""

    def begin(self, clock: Path) -> None:
        """Notes have no time."""

    def close(self) -> None:
        """End it."""
        self._server.close()
        self._folder.cleanup()


def _operation(marker: object) -> str | None:
    return str(marker).strip("<>").partition("@")[0] if marker else None


def _content(mail: Any) -> Row:
    payload = mail.model_dump(mode="json")
    return {"payload": payload, "payload_digest": digest_of(payload)}


def _note(note: Mapping[str, str]) -> Row:
    called = {"tool": "add_note", "arguments": {"order": note["order"], "text": note["text"]}}
    told = {"id": note["id"], "reference": None, "key": None, "at": None}
    return {**told, "payload": called, "payload_digest": digest_of(called)}


def _asks_back(cents: int) -> dict[str, Any]:
    return {"text": f"My order A-1001 came broken. Please give back {cents} cents.", "conversation": None}


scenarios = (
    # Without notes: the refund and the e-mail.
    Scenario(
        workflow="support",
        name="writes",
        input=_asks_back(1500),
        other_input=_asks_back(1700),
        sandboxes={"payments": "key", "mail": MailStand, "support_tools": "none"},
    ),
    # With notes: what an undeclared tool adds is where a kill leaves a person to ask.
    Scenario(
        workflow="support",
        name="notes",
        input=_asks_back(1500),
        other_input=_asks_back(1700),
        sandboxes={"payments": "key", "mail": MailStand, "support_tools": NotesStand},
        only=("kill-*",),
    ),
)
