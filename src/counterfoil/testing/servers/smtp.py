"""A real SMTP server, of the Python package aiosmtpd, as a child process. What it has accepted is in its Maildir."""

from importlib.util import find_spec
from pathlib import Path

from counterfoil.model.errors import Refused
from counterfoil.testing.loopback.process import LoopbackProcess


class SmtpProcess(LoopbackProcess):
    """The server, from construction until `close`. Refused(tool_missing) without aiosmtpd, LoopbackFailed if it cannot start."""

    module = "counterfoil.testing.servers.smtp_server"

    def __init__(self, *, mailbox: Path | None = None, fault: str | None = None, port: int = 0) -> None:
        if find_spec("aiosmtpd") is None:
            raise Refused(
                "tool_missing", tool="The Python package aiosmtpd", install="Install it: pip install aiosmtpd"
            )
        options = ["--port", str(port)]
        options += [] if mailbox is None else ["--mailbox", str(mailbox)]
        options += [] if fault is None else ["--fault", fault]
        super().__init__(options)
        self.mailbox = Path(str(self.ready["mailbox"]))
