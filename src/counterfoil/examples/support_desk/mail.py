"""One e-mail: how it is written, handed to the mail server, and found again in the mailbox by its Message-ID."""

import smtplib
from collections.abc import Generator
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage
from mailbox import Maildir
from pathlib import Path
from typing import Annotated, Any, cast
from urllib.parse import urlsplit

from pydantic import BaseModel, Field, field_validator

from counterfoil import Target

SENDER = "support@desk.example"
ORDER = "X-Order"
SECONDS_PER_ANSWER = 5.0
"""Four answers make a message (MAIL, RCPT, DATA, its end); together they stay inside the contract's request_timeout."""


class Mail(BaseModel):
    """What leaves, and what is approved: one e-mail about one order."""

    order: str = Field(pattern=r"^[A-Z]-[0-9]+$")
    to: Annotated[str, Target()] = Field(pattern=r"^[^@\s]+@[^@\s]+$")
    subject: str = Field(pattern=r"^[^\r\n]+$", max_length=200)
    body: str = Field(max_length=20_000)

    @field_validator("body")
    @classmethod
    def _lines(cls, body: str) -> str:
        """Mail has one kind of line end: the same text must be read back from the mailbox."""
        return body.replace("\r\n", "\n").replace("\r", "\n")


def message_id_of(operation_id: str) -> str:
    """The marker: the operation's own id. Every try of an operation carries the same one."""
    return f"<{operation_id}@desk.example>"


def written(mail: Mail, operation_id: str) -> bytes:
    """The bytes of the message. They have no date of ours: the mail server adds its own."""
    message = EmailMessage(policy=policy.SMTP)
    message["Message-ID"] = message_id_of(operation_id)
    message["From"], message["To"], message["Subject"], message[ORDER] = SENDER, mail.to, mail.subject, mail.order
    message.set_content(mail.body + "\n", cte="quoted-printable")
    return message.as_bytes()


def read_back(message: EmailMessage) -> Mail:
    """The e-mail that a message holds. ValueError for one that was not written by `written`."""
    body = cast("str", message.get_content()).replace("\r\n", "\n").removesuffix("\n")
    to, subject, order = (str(message.get(name, "")) for name in ("To", "Subject", ORDER))
    return Mail(order=order, to=to, subject=subject, body=body)


@contextmanager
def relay(url: str) -> Generator[smtplib.SMTP]:
    """A connection to the mail server that has been greeted. OSError, before anything was said, where that fails."""
    place = urlsplit(url)
    server = smtplib.SMTP(timeout=SECONDS_PER_ANSWER)
    try:
        server.connect(place.hostname or "", place.port or smtplib.SMTP_PORT)
        server.ehlo_or_helo_if_needed()
        yield server
    finally:
        server.close()  # no QUIT: its answer would say nothing about the message


def submit(server: smtplib.SMTP, mail: Mail, content: bytes) -> tuple[int, dict[str, Any]]:
    """Hand one message over: the answer that ended it, and whether the content had been sent by then (`stage`)."""
    for ask in (lambda: server.mail(SENDER), lambda: server.rcpt(mail.to)):
        code, text = ask()
        if code >= 400:
            return code, {"stage": "envelope", "text": text.decode(errors="replace")}
    try:
        code, text = server.data(content)
    except smtplib.SMTPDataError as refused:  # DATA itself was not wanted: no content has left
        said = refused.smtp_error
        return refused.smtp_code, {
            "stage": "envelope",
            "text": said if isinstance(said, str) else said.decode(errors="replace"),
        }
    return code, {"stage": "content", "text": text.decode(errors="replace")}


def messages_in(mailbox: Path) -> list[EmailMessage]:
    """Every message of a Maildir, by the order of their files' names. OSError where there is no mailbox: not absence."""
    box = Maildir(mailbox, create=False)
    return [message_from_bytes(box.get_bytes(key), policy=policy.SMTP) for key in sorted(box.keys())]


def found_in(mailbox: Path, message_id: str) -> list[EmailMessage]:
    """Every message with this Message-ID. OSError as above."""
    return [each for each in messages_in(mailbox) if str(each.get("Message-ID", "")).strip() == message_id]
