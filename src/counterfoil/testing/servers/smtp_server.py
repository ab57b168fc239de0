"""A local SMTP server. What it has accepted is in its mailbox, a Maildir, and nowhere else.

`python -m counterfoil.testing.servers.smtp_server [--mailbox DIR] [--fault F[:COUNT]] [--port 0]`.
"""

import argparse
import asyncio
import tempfile
import threading
from collections.abc import Mapping
from contextlib import ExitStack
from email import message_from_bytes
from mailbox import Maildir
from pathlib import Path
from typing import Any

from aiosmtpd.smtp import SMTP, Envelope, Session

from counterfoil.testing.loopback.exchange import Exchange, Request, error_reply
from counterfoil.testing.loopback.faults import LONGEST_HOLD_SECONDS, Fault, Faults
from counterfoil.testing.loopback.serving import LoopbackServer, serve_until_input_closes
from counterfoil.testing.loopback.stand_in import QUEUED, Body, StandIn

GREYLIST, REFUSE = "greylist", "refuse"
BEFORE, AFTER = "error-before-accept", "error-after-accept"
SILENT = frozenset({"drop-reply", "hang"})
FAULTS = SILENT | {"slow", GREYLIST, REFUSE, BEFORE, AFTER, QUEUED}
IDLE_SECONDS = 10.0
"""Who says nothing for so long is cut off: a message whose sender died arrives within this time, or never."""


class MailDesk(StandIn):
    """Takes messages into its mailbox, with faults on demand. Its HTTP address is for control only."""

    def __init__(self, folder: Path, faults: Faults) -> None:
        super().__init__(faults)
        self._box = Maildir(folder, create=True)
        self._writing = threading.Lock()

    def serve(self, exchange: Exchange, request: Request) -> None:
        """Mail comes by SMTP."""
        exchange.send(error_reply(404, "not_found", f"there is no {request.method} {request.path}"))

    def state(self) -> Body:
        """The counters. The records are in the mailbox."""
        return self.counts("requests", "decided")

    async def handle_RCPT(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        """450 or 550 before any content, if so armed."""
        del server, session, options
        fault = self.faults.take({GREYLIST, REFUSE})
        if fault is None:
            envelope.rcpt_tos.append(address)
            return "250 recipient taken"
        status = 450 if fault.name == GREYLIST else fault.status or 550
        self._note(self.traffic.count("requests"), address, fault, status)
        return f"{status} 4.7.1 greylisted, come again" if fault.name == GREYLIST else f"{status} 5.1.1 no such mailbox"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        """The content is here whole. In a part of its own: it goes on when the client is gone."""
        del session
        content = envelope.content
        assert isinstance(content, bytes), "decode_data is off"
        return await asyncio.shield(asyncio.ensure_future(self._take(server, envelope.rcpt_tos, content)))

    async def _take(self, server: SMTP, recipients: list[str], content: bytes) -> str:
        n = self.traffic.count("requests")
        fault = await asyncio.to_thread(self.queue) or self.faults.take(FAULTS - {GREYLIST, REFUSE})
        name = None if fault is None else fault.name
        if name != BEFORE:
            await asyncio.to_thread(self._keep, recipients, content)
        status = 451 if name in (BEFORE, AFTER) else 250
        # The signal comes after the effect and before the reply: who waits for it can kill or freeze in between.
        self._note(n, ", ".join(recipients), fault, status, content)
        if name in (BEFORE, AFTER):
            return f"{status} 4.3.0 something failed here"
        if name in ("hang", "slow"):
            await asyncio.to_thread(self.released.wait, LONGEST_HOLD_SECONDS)
        if name in SILENT and server.transport is not None:
            server.transport.abort()  # type: ignore[attr-defined]
        return "250 2.0.0 taken"

    def _keep(self, recipients: list[str], content: bytes) -> None:
        """On the disk and visible to every reader when this returns: a Maildir's message is moved into sight whole."""
        delivered = "".join(f"Delivered-To: {each}\r\n" for each in recipients).encode()
        with self._writing:
            self._box.add(delivered + content)

    def _note(self, n: int, recipients: str, fault: Fault | None, status: int, content: bytes = b"") -> None:
        marker = message_from_bytes(content)["Message-ID"]
        told = {"n": n, "to": recipients, "status": status, "message_id": marker}
        self.traffic.note({**told, "fault": None if fault is None else fault.name})
        self.traffic.count("decided")


def _listening(desk: MailDesk, port: int, stack: ExitStack) -> int:
    """Serve SMTP on 127.0.0.1 in a thread of its own until the stack is left; the port."""
    loop = asyncio.new_event_loop()

    def connection() -> SMTP:
        return SMTP(desk, hostname="localhost", ident="counterfoil", timeout=IDLE_SECONDS, loop=loop)

    server = loop.run_until_complete(loop.create_server(connection, "127.0.0.1", port))
    threading.Thread(target=loop.run_forever, daemon=True).start()
    stack.callback(loop.call_soon_threadsafe, loop.stop)
    stack.callback(loop.call_soon_threadsafe, server.close)
    return int(server.sockets[0].getsockname()[1])


def serve(*, mailbox: Path | None = None, fault: str | None = None, port: int = 0) -> None:
    """Serve until standard input closes, after one JSON line {url, control_url, pid, records_file, mailbox} on stdout.

    Without a mailbox it is temporary. ValueError for an unknown fault; OSError for a taken port.
    """
    faults = Faults(FAULTS)
    if fault is not None:
        faults.arm_text(fault)
    with ExitStack() as stack:
        if mailbox is None:
            mailbox = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="counterfoil-mail-"))) / "box"
        desk = MailDesk(mailbox, faults)
        own: Mapping[str, Any] = {
            "url": f"smtp://127.0.0.1:{_listening(desk, port, stack)}",
            "records_file": None,
            "mailbox": str(mailbox.resolve()),
        }
        serve_until_input_closes(LoopbackServer(desk, 0), own)


def main() -> None:
    """Read the arguments and serve. Exit status 2, with one sentence, for arguments that do not fit."""
    parser = argparse.ArgumentParser(description="A mail server whose only evidence is its mailbox.")
    parser.add_argument("--mailbox", type=Path, metavar="DIR")
    parser.add_argument("--fault", metavar="F[:COUNT]")
    parser.add_argument("--port", type=int, default=0)
    chosen = parser.parse_args()
    try:
        serve(mailbox=chosen.mailbox, fault=chosen.fault, port=chosen.port)
    except (ValueError, OSError, OverflowError) as reason:
        parser.error(str(reason))


if __name__ == "__main__":
    main()
