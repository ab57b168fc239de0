"""The connector for e-mail at a real SMTP server, whose mailbox is a Maildir."""

from collections.abc import Mapping
from datetime import timedelta
from email import message_from_bytes
from mailbox import Maildir
from pathlib import Path
from typing import Any

from counterfoil.app.application import App
from counterfoil.connectors import mail
from counterfoil.connectors.drilling import (
    Case,
    Drill,
    Play,
    as_usual,
    killed_after_acceptance,
    late_arrival,
    reply_lost,
)
from counterfoil.connectors.serving import OverHttp
from counterfoil.engine.definitions import Env
from counterfoil.engine.port import Run
from counterfoil.model.budget import Budget
from counterfoil.model.receipt import Receipt
from counterfoil.testing.servers.smtp import SmtpProcess

app = App("drilled-mail")
app.receiver("mail", url=Env("MAIL_URL"), environment="test")
send = mail.send(app, receiver="mail", sent=mail.Maildir(Env("SENT_MAIL")), owner="support")


@app.workflow(version=1, budget=Budget(attempts=9, elapsed=timedelta(days=30), spend_usd=1, owner="support"))
async def write(run: Run, asked: mail.Mail) -> Receipt:
    """One message."""
    return await run.perform(send, asked)


class Post(OverHttp):
    """The server, which is controlled over HTTP; mail goes to it directly."""

    def __init__(self, folder: Path) -> None:
        self._server = SmtpProcess(mailbox=folder / "mail")
        super().__init__(self._server)
        self.environ: Mapping[str, str] = {"MAIL_URL": self.url, "SENT_MAIL": str(self._server.mailbox)}

    def prepare(self, number: str) -> dict[str, Any]:
        """A message whose subject is its number."""
        self.disarm()
        body = "Grüße,\n\nyour parcel is on its way.\n.\nThe desk"
        return {
            "number": number,
            "sender": "desk@shop.example",
            "to": "ana@customer.example",
            "subject": number,
            "body": body,
        }

    def records(self, payload: Mapping[str, Any]) -> int:
        """The messages in the mailbox with its subject. The server is not asked."""
        box = Maildir(self._server.mailbox, create=False)
        held = [message_from_bytes(box.get_bytes(key)) for key in box.keys()]  # noqa: SIM118 - a Maildir is no dict
        return sum(1 for each in held if each["Subject"] == payload["number"])


async def error_after_acceptance(play: Play) -> None:
    """The message is taken, and the answer is an error that is no refusal: 451 after the content."""
    play.server.arm("error-after-accept")
    await play.drive()


DRILLS = [
    Drill(
        connector="mail.send",
        entries=[mail.ENTRY],
        app=app,
        workflow=write,
        server="aiosmtpd, with a Maildir",
        server_kind="real",
        start=Post,
        cases=[
            Case("as-usual", "succeeded", as_usual, attempts=1),
            Case("reply-lost", "succeeded", reply_lost, attempts=1),
            Case("killed-after-acceptance", "succeeded", killed_after_acceptance, attempts=1),
            Case("error-after-acceptance", "succeeded", error_after_acceptance, attempts=1),
            Case("late-arrival", "succeeded", late_arrival, attempts=1),
        ],
    )
]
