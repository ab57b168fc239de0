"""JetStream against a NATS server whose stream knows a key for two seconds: over before anybody can go on."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from counterfoil.app.application import App
from counterfoil.connectors import nats
from counterfoil.connectors.drilling import ACCEPTED, Case, Drill, Play, as_usual, killed_after_acceptance, reply_lost
from counterfoil.engine.clock import SystemClock
from counterfoil.engine.definitions import Env
from counterfoil.engine.port import Run
from counterfoil.model.budget import Budget
from counterfoil.testing.relay import Relay
from counterfoil.testing.servers.nats import NatsServer

STREAM, SUBJECTS = "DRILLED", "drilled.>"
WINDOW = timedelta(seconds=2)
PAUSE_US = 100_000  # between two looks at a window that passes

app = App("drilled-nats")
app.receiver("orders", url=Env("NATS_URL"), environment="test")
publish = nats.publish(app, receiver="orders", duplicate_window=WINDOW, owner="platform-oncall")


@app.workflow(version=1, budget=Budget(attempts=9, elapsed=timedelta(days=30), spend_usd=1, owner="platform-oncall"))
async def tell(run: Run, asked: nats.Message) -> nats.MessageReceipt:
    """One message."""
    return await run.perform(publish, asked)


class Stream:
    """The server behind a relay. Each case has a subject of its own in one stream."""

    def __init__(self, folder: Path) -> None:
        self._server = NatsServer(folder / "streams")
        self._relay = Relay(int(str(urlsplit(self._server.url).port)))
        self.environ: Mapping[str, str] = {"NATS_URL": f"nats://127.0.0.1:{self._relay.port}"}
        self.asked(_make)

    def prepare(self, number: str) -> dict[str, Any]:
        """The subject."""
        self._relay.arm("none", b"")
        return {"number": number, "stream": STREAM, "subject": f"drilled.{number.replace('.', '-')}", "body": "seven"}

    def records(self, payload: Mapping[str, Any]) -> int:
        """The messages of its subject."""

        async def counted(stream: Any) -> int:
            found = await stream.stream_info(STREAM, subjects_filter=payload["subject"])
            held: dict[str, int] = found.state.subjects or {}
            return held.get(payload["subject"], 0)

        return self.asked(counted)

    def arm(self, fault: str) -> None:
        """The next message is stored, and its acknowledgement is lost with the connection."""
        assert fault == "drop-reply", "the one fault of a relay that a case asks for"
        self._relay.arm("lose-answer", nats.MARK.encode())

    def outlast(self) -> None:
        """Until the stream knows nothing any more of what it holds now: a message of this moment is stored a second time."""

        async def forgotten(stream: Any) -> None:
            headers, clock, never = {nats.KEY: "outlasted"}, SystemClock(), asyncio.Event()
            before = (await stream.publish("drilled.clock", b"", headers=headers)).seq
            while (await stream.publish("drilled.clock", b"", headers=headers)).seq == before:
                await clock.wait(never, clock.now_us() + PAUSE_US)
            await stream.purge_stream(STREAM, subject="drilled.clock")

        self.asked(forgotten)

    def take_away(self) -> None:
        """All that the stream holds."""
        self.asked(lambda stream: stream.purge_stream(STREAM))

    def asked(self, question: Callable[[Any], Awaitable[Any]]) -> Any:
        """Of the server itself, past the relay."""

        async def answer() -> Any:
            client: Any = import_module("nats")
            connection = await client.connect(self._server.url)
            try:
                return await question(connection.jetstream())
            finally:
                await connection.close()

        # In a thread of its own: a drill asks from within its loop.
        with ThreadPoolExecutor(1) as apart:
            return apart.submit(lambda: asyncio.run(answer())).result()

    def close(self) -> None:
        """End both."""
        self._relay.close()
        self._server.close()


async def _make(stream: Any) -> None:
    api: Any = import_module("nats.js.api")
    await stream.add_stream(api.StreamConfig(name=STREAM, subjects=[SUBJECTS], duplicate_window=WINDOW.total_seconds()))


async def window_over(play: Play) -> None:
    """The same crash, and nobody goes on before the server itself has forgotten the key: a repeat would be stored."""
    await play.drive(crash_at=ACCEPTED)
    await asyncio.to_thread(play.server.outlast)
    await play.drive()


async def taken_away(play: Play) -> None:
    """The same, and somebody has consumed the message meanwhile: nothing shows any more whether it was ever there."""
    await play.drive(crash_at=ACCEPTED)
    await asyncio.to_thread(play.server.outlast)
    await asyncio.to_thread(play.server.take_away)
    await play.drive()
    play.doubt_stands()


DRILLS = [
    Drill(
        connector="nats.publish",
        entries=[nats.ENTRY],
        app=app,
        workflow=tell,
        server="nats-server 2.15.1, a window of two seconds",
        server_kind="real",
        start=Stream,
        cases=[
            Case("as-usual", "succeeded", as_usual, attempts=1),
            Case("reply-lost", "succeeded", reply_lost, attempts=1),
            Case("killed-after-acceptance", "succeeded", killed_after_acceptance, attempts=1),
            Case("window-over", "succeeded", window_over, attempts=1),
            Case("taken-away", "unresolved", taken_away, attempts=1),
        ],
    )
]
