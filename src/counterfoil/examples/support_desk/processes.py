"""The desk's servers as child processes: the mail server and the notes server."""

import json
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from counterfoil.examples.support_desk.mail import messages_in
from counterfoil.testing.loopback.process import LoopbackProcess
from counterfoil.testing.servers.smtp import SmtpProcess

SCRIPT = Path(__file__).parent / "script.json"
"""What the local model server plays, so that it is the desk's model."""


class MailServerProcess(SmtpProcess):
    """The SMTP server, from construction until `close`. LoopbackFailed when it cannot start."""

    @property
    def environment(self) -> dict[str, str]:
        """The variables that make the desk reach it."""
        return {"MAIL_URL": self.url, "MAILBOX": str(self.mailbox)}

    def messages(self) -> list[EmailMessage]:
        """What is in the mailbox, in the order of the files' names. The server itself is not asked."""
        return messages_in(self.mailbox)


class NotesServerProcess(LoopbackProcess):
    """The MCP server of notes, from construction until `close`. LoopbackFailed when it cannot start."""

    module = "counterfoil.examples.support_desk.notes_server"

    def __init__(self, file: Path, *, port: int = 0) -> None:
        super().__init__(["--notes", str(file), "--port", str(port)])
        self.file = file

    @property
    def environment(self) -> dict[str, str]:
        """The variable that makes the desk reach it."""
        return {"NOTES_URL": self.url}

    def notes(self) -> list[dict[str, Any]]:
        """What is in its file. The server itself is not asked."""
        return [json.loads(line) for line in self.file.read_text().splitlines()]
