"""`counterfoil chat` as a process on a terminal of its own, and what stands on that terminal, as a person would read it."""

import codecs
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
from fcntl import ioctl
from types import TracebackType
from typing import Self

from tests.edges.cli_bench import Cli

COMMAND = [sys.executable, "-c", "from counterfoil.cli.main import run; run()"]
PATIENCE_S = 60
ROWS, COLUMNS = 50, 110

APP = """
from datetime import timedelta
from pydantic import BaseModel
from pydantic_ai import Agent
from counterfoil import App, Budget, Call, Contract, Env, IdempotencyKey, Receipt, ReviewBy, When
from counterfoil.agents import agent_tool

app = App("talks")
app.receiver("bank", url=Env("BANK_URL", "http://127.0.0.1:1"), environment="test")
YES = [When(status="2xx").means("applied")]

class Refund(BaseModel):
    order: str

@app.operation(receiver="bank", business_key="order", review=ReviewBy(role="manager", expires_in=timedelta(hours=8), owner="desk"),
               contract=Contract(api_version="1", duplicate="costly", classifier=YES,
                                 key=IdempotencyKey(header="Idempotency-Key", retention=timedelta(hours=24))))
async def refund(call: Call, refund: Refund) -> Receipt:
    '''Give money back.'''
    reply = await call.http.post("/refunds", json=refund.model_dump())
    return Receipt(reference=str(reply.json()["id"]))

@app.operation(receiver="bank", business_key="order", owner="desk",
               contract=Contract(api_version="1", classifier=YES, procedure="Ask the post office."))
async def letter(call: Call, refund: Refund) -> Receipt:
    '''Write a letter.'''
    reply = await call.http.post("/letters", json=refund.model_dump())
    return Receipt(reference=str(reply.json()["id"]))

agent = Agent("openai-chat:local", name="helper", defer_model_check=True)

@agent.tool_plain
@agent_tool(replay="safe")
def look(order: str) -> str:
    'Read an order.'
    return f"{order} is a chair"

@agent.tool_plain
def note(text: str) -> str:
    'Write a note. Nobody declared it.'
    return "noted"

app.agent("helper", agent=agent, operations=[refund, letter],
          budget=Budget(attempts=6, elapsed=timedelta(days=2), spend_usd=1, owner="desk"))
"""

ANSWER = "The harbour opens at seven and closes when the last boat is in."


class Display:
    """What a terminal shows, what has scrolled out of it included: of its language as much as is used here."""

    def __init__(self) -> None:
        self.rows = [""]
        self._row = self._column = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._rest = ""

    @property
    def text(self) -> str:
        return "\n".join(row.rstrip() for row in self.rows).rstrip()

    def feed(self, written: bytes) -> None:
        text = self._rest + self._decoder.decode(written)
        self._rest = ""
        at = 0
        while at < len(text):
            if text[at] != "\x1b":
                self._put(text[at])
                at += 1
                continue
            sequence = re.match(r"\x1b(?:\[([?\d;]*)([@-~])|[^\[])", text[at:])
            if sequence is None:
                self._rest = text[at:]
                return
            self._steer(sequence[1] or "", sequence[2] or "")
            at += sequence.end()

    def _put(self, character: str) -> None:
        if character == "\r":
            self._column = 0
        elif character == "\n":
            self._row += 1
            self.rows += [""] * (self._row + 1 - len(self.rows))
        elif character.isprintable():
            row = self.rows[self._row].ljust(self._column)
            self.rows[self._row] = row[: self._column] + character + row[self._column + 1 :]
            self._column += 1

    def _steer(self, numbers: str, what: str) -> None:
        if what == "A":
            self._row = max(0, self._row - int(numbers or 1))
        elif what == "K":
            assert numbers == "2", "only whole lines are erased"
            self.rows[self._row] = ""
        else:
            assert what in ("m", "h", "l"), f"not known here: {numbers}{what}"


class Chat:
    """A chat on a terminal. `reads` waits until what stands there fits; nothing here sleeps."""

    def __init__(self, cli: Cli, *argv: str) -> None:
        self._ours, theirs = pty.openpty()
        ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        clean = {name: value for name, value in os.environ.items() if not name.startswith("COUNTERFOIL_")}

        def take() -> None:
            os.setsid()
            ioctl(0, termios.TIOCSCTTY, 0)

        self.display = Display()
        self.child = subprocess.Popen(
            [*COMMAND, "chat", *argv], cwd=cli.folder, env=clean | cli.environ | {"TERM": "xterm"}, stdin=theirs,
            stdout=theirs, stderr=theirs, preexec_fn=take,
        )  # fmt: skip
        os.close(theirs)

    def __enter__(self) -> Self:
        """Once it reads."""
        self.reads(r">$")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.child.poll() is None:
            self.kill()
        os.close(self._ours)

    def types(self, text: str) -> None:
        """Keys, and Enter."""
        os.write(self._ours, text.encode() + b"\r")

    def keys(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def reads(self, pattern: str) -> "re.Match[str]":
        """Until the terminal shows it."""
        while (found := re.search(pattern, self.display.text)) is None:
            assert self._more(), f"it ended without {pattern!r}:\n{self.display.text}"
        return found

    def ends(self) -> int:
        """Until it has ended by itself."""
        while self._more():
            pass
        return self.child.wait(PATIENCE_S)

    def kill(self) -> None:
        """SIGKILL."""
        self.child.send_signal(signal.SIGKILL)
        self.child.wait(PATIENCE_S)

    def _more(self) -> bool:
        readable, _, _ = select.select([self._ours], [], [], PATIENCE_S)
        assert readable, f"nothing more was written:\n{self.display.text}"
        try:
            written = os.read(self._ours, 1 << 16)
        except OSError:  # the other end is closed
            return False
        self.display.feed(written)
        return bool(written)
