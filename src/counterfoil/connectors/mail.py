"""E-mail by SMTP. SMTP has no key: our id is the Message-ID, and a mailbox that keeps what was sent is where it is found.

    app.receiver("mail", url="smtp://robot@mail.example:587", credential=Bearer(Env("SMTP_PASSWORD")), environment="live")
    send = mail.send(app, receiver="mail", sent=mail.Maildir(Env("SENT_MAIL")), owner="support")

A name in the address signs in with the receiver's credential, only after TLS. `smtps://` speaks TLS from the first byte.
"""

import smtplib
import ssl
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from email import message_from_bytes, policy
from email.message import EmailMessage
from email.parser import BytesHeaderParser
from mailbox import Maildir as Box
from pathlib import Path
from typing import Annotated, Any, Protocol, Unpack, cast
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, Field, field_validator

from counterfoil.app.application import App
from counterfoil.connectors.connector import Governed, contract_of, declared
from counterfoil.engine.definitions import Env, Operation
from counterfoil.engine.endpoint import endpoint_of
from counterfoil.engine.port import Ask, Call
from counterfoil.model.contract import Contract, Found, Seen
from counterfoil.model.errors import Refused
from counterfoil.model.money import Target
from counterfoil.model.receipt import Receipt
from counterfoil.settings import environment

ENTRY = "smtp_submission"
ADDRESS = r"^[^@\s<>]+@[^@\s<>]+$"
SECONDS_PER_ANSWER = 5.0  # four answers make a message (MAIL, RCPT, DATA, its end): together inside request_timeout
SMTPS, SUBMISSION, RELAY = 465, 587, 25


class Mail(BaseModel):
    """One message to one person. `number`: yours, and it goes out as `X-Number`. `body`: plain text."""

    number: Annotated[str, Field(pattern=r"^[^\r\n]+$")]
    sender: Annotated[str, Field(pattern=ADDRESS)]
    to: Annotated[str, Target(), Field(pattern=ADDRESS)]
    subject: Annotated[str, Field(pattern=r"^[^\r\n]+$", max_length=200)]
    body: str

    @field_validator("body")
    @classmethod
    def _lines(cls, body: str) -> str:
        """Mail has one kind of line end: the same text must be read back from a mailbox."""
        return body.replace("\r\n", "\n").replace("\r", "\n")


class SentMail(Protocol):
    """Where sent messages are found again."""

    def find(self, ask: Ask, mail: Mail) -> Seen[Receipt]:
        """Everything that carries our Message-ID; an exception says that it could not be looked at."""
        ...


@dataclass(frozen=True, slots=True)
class Maildir:
    """A Maildir that holds a copy of everything sent. `folder`: where it is."""

    folder: str | Env

    def find(self, ask: Ask, mail: Mail) -> Seen[Receipt]:
        """Every message with our Message-ID, each compared with what was to be sent."""
        marker = message_id(ask.operation_id, mail)
        box = Box(self._place(), create=False)  # OSError where there is none: that is not absence
        ours = [
            message_from_bytes(raw, policy=policy.SMTP)
            for raw in (box.get_bytes(key) for key in sorted(box.keys()))
            if _bears(raw, marker)
        ]
        # Two messages under one marker are two records: each needs a name of its own, or nobody would notice.
        names = [marker if n == 1 else f"{marker} (message {n})" for n in range(1, len(ours) + 1)]
        found = [
            Found(Receipt(reference=name), payload=read_back(each, mail))
            for name, each in zip(names, ours, strict=True)
        ]
        return Seen(found, complete=True)

    def _place(self) -> Path:
        if isinstance(self.folder, str):
            return Path(self.folder)
        place = environment().get(self.folder.name, self.folder.default)
        if place is None:
            raise Refused("setting_missing", name=self.folder.name)
        return Path(place)


def _bears(raw: bytes, marker: str) -> bool:
    """Whether its Message-ID is ours. The header is taken as it stands: reading it as an address fails at what others wrote."""
    if marker.encode() not in raw:
        return False
    told = BytesHeaderParser(policy=policy.compat32).parsebytes(raw).get("Message-ID", "")
    return str(told).strip() == marker


def send(
    app: App,
    *,
    receiver: str = "mail",
    sent: SentMail | None = None,
    overrides: Mapping[str, Any] | None = None,
    **governed: Unpack[Governed],
) -> Operation[Mail, Receipt]:
    """One message. `sent`: where it is looked for in doubt; without it a person is asked. `overrides`: as everywhere."""

    def send_mail(call: Call, mail: Mail) -> Receipt:
        """One message under our Message-ID. A plain function: SMTP's client blocks."""
        content = written(mail, call.operation_id)
        with signed_in(app, receiver) as server, call.sending() as told:
            told.reply(*submit(server, mail, content))
        return Receipt(reference=message_id(call.operation_id, mail))

    return declared(app, send_mail, send_contract(sent, overrides), receiver, **governed)


def send_contract(sent: SentMail | None = None, overrides: Mapping[str, Any] | None = None) -> Contract:
    """The contract of `send`."""
    return contract_of(ENTRY, action="DATA", find=None if sent is None else sent.find, overrides=overrides)


def message_id(operation_id: str, mail: Mail) -> str:
    """The marker: every try of an operation carries the same one."""
    return f"<{operation_id}@{mail.sender.rpartition('@')[2]}>"


def written(mail: Mail, operation_id: str) -> bytes:
    """The bytes of the message. They have no date of ours: the mail server adds its own."""
    message = EmailMessage(policy=policy.SMTP)
    message["Message-ID"] = message_id(operation_id, mail)
    message["From"], message["To"], message["Subject"], message["X-Number"] = (
        mail.sender,
        mail.to,
        mail.subject,
        mail.number,
    )
    message.set_content(mail.body + "\n", cte="quoted-printable")
    return message.as_bytes()


def read_back(message: EmailMessage, mail: Mail) -> Mail:
    """What a message holds, in the form in which it was to be sent."""
    body = cast("str", message.get_content()).replace("\r\n", "\n").removesuffix("\n")
    held = {"number": "X-Number", "sender": "From", "to": "To", "subject": "Subject"}
    return mail.model_copy(
        update={"body": body, **{name: str(message.get(header, "")) for name, header in held.items()}}
    )


@contextmanager
def signed_in(app: App, receiver: str) -> Generator[smtplib.SMTP]:
    """A connection that has been greeted and, where the address holds a name, signed in. What fails here was never sent.

    Raises OSError, smtplib.SMTPException, Refused(setting_missing).
    """
    operation = next(each for each in app.registry.operations.values() if each.receiver == receiver)
    endpoint = endpoint_of(app.registry, operation, environment())
    place, safe = urlsplit(endpoint.url), ssl.create_default_context()
    at_once = place.scheme == "smtps"
    server = (
        smtplib.SMTP_SSL(timeout=SECONDS_PER_ANSWER, context=safe)
        if at_once
        else smtplib.SMTP(timeout=SECONDS_PER_ANSWER)
    )
    try:
        otherwise = SMTPS if at_once else SUBMISSION if place.username else RELAY
        server.connect(place.hostname or "", place.port or otherwise)
        server.ehlo_or_helo_if_needed()
        if place.username:
            if not at_once:
                server.starttls(context=safe)
            password = endpoint.headers.get("Authorization", "").removeprefix("Bearer ")
            server.login(unquote(place.username), password)
        yield server
    finally:
        server.close()  # no QUIT: its answer would say nothing about the message


def submit(server: smtplib.SMTP, mail: Mail, content: bytes) -> tuple[int, dict[str, Any]]:
    """Hand one message over: the answer that ended it, and whether the content had been sent by then (`stage`)."""
    for ask in (lambda: server.mail(mail.sender), lambda: server.rcpt(mail.to)):
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
