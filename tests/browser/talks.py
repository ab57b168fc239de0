"""A served installation with conversations: one in which everything happened, one that is hostile, and a model that waits."""

import fcntl
import json
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from counterfoil.testing.sandbox.process import SandboxProcess
from tests.browser.apart import Apart
from tests.browser.house import House
from tests.browser.records import answered
from tests.browser.talks_application import SOURCE
from tests.edges.cli_bench import installed

GATES = 2  # as often as a slow answer stops
HOSTILE = "<script>document.title='owned'</script><img src=x onerror=alert(1)>{{ 7*7 }}</pre>\u202e"


@dataclass
class Talks(House):
    """A house whose slow model is held at gates."""

    gates: list[IO[str]] = field(default_factory=list[IO[str]])


@contextmanager
def talks_house(folder: Path) -> Generator[Talks, None, None]:
    """Founded with ana and oscar; nothing was said yet, nothing is served yet."""
    gates: list[IO[str]] = []
    with ExitStack() as stack:
        made = installed(folder, app=SOURCE)
        for n in range(GATES):
            gate = stack.enter_context((made.folder / f"go-{n}").open("w"))
            fcntl.flock(gate, fcntl.LOCK_EX)
            stack.callback(fcntl.flock, gate, fcntl.LOCK_UN)
            gates.append(gate)
        bank = stack.enter_context(SandboxProcess("key"))
        made.environ |= {"BANK_URL": bank.url, "TALKS_GO": str(made.folder)}
        cli = Apart(made.folder, made.environ)
        stack.callback(cli.close)
        here = Talks(cli, {"BANK_URL": bank}, gates=gates)
        stack.callback(here.stop)
        yield here


def say(here: House, text: str, conversation: str, *, when_busy: str = "reject") -> dict[str, Any]:
    """Send a message. Gives SENT."""
    request = f"{conversation} {text}"[:400]
    more = ("--conversation", conversation, "--request-id", request, "--when-busy", when_busy, "--file", "-")
    assert isinstance(here.cli, Apart)
    told = here.cli.json("conversations", "send", "helpdesk", *more, stdin=text.encode())
    assert told.status == 0, told
    return told.data


def lived_in(here: House) -> None:
    """conversation-1: an approved refund, then an interrupted tool. 2: hostile. 3: the same refund again. 4: waits for a manager,
    with two messages in its queue. 5: a fork of the first."""
    say(here, "refund o-17", "Order 17")
    here.cli.drive()
    say(here, f"hostile {HOSTILE}", f"Hostile {HOSTILE}")
    here.cli.drive()
    answered(here, "approve", "oscar", "--comment", "Good.")
    here.cli.drive()
    say(here, "refund o-17", "Order 17 again")
    here.cli.drive()
    say(here, "pay o-17", "Order 17")
    here.cli.drive()
    say(here, "refund o-19", "Order 19")
    here.cli.drive()
    say(here, "and then?", "Order 19", when_busy="follow_up")
    say(here, "mind the step", "Order 19", when_busy="steer")
    assert here.cli.json("conversations", "fork", "Order 17", "--into", "A fork", "--at", "1").status == 0


def go_on(here: Talks) -> None:
    """The model that waits at the next gate writes on. Once each."""
    fcntl.flock(here.gates.pop(0), fcntl.LOCK_UN)


def shown(here: House, conversation: str) -> Any:
    """CONVERSATION with its transcript."""
    told = here.cli.json("conversations", "show", conversation)
    assert told.status == 0, json.dumps(told.document)
    return told.data
