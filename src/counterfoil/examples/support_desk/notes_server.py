"""A note-taking MCP server on the loopback, with one file of notes: a line each, on the disk before it answers.

`python -m counterfoil.examples.support_desk.notes_server --notes FILE [--port 0]`. Faults, taken once each: `dies` ends the
process after the next note was written and before it is answered; `dies-before` ends it before the note is written.
"""

import argparse
import asyncio
import json
import os
import socket
import sys
import threading
from pathlib import Path

import uvicorn
from mcp.server import MCPServer
from mcp.types import ToolAnnotations

from counterfoil.testing.loopback.exchange import Exchange, Request, error_reply
from counterfoil.testing.loopback.faults import Faults
from counterfoil.testing.loopback.serving import LoopbackServer, serve_until_input_closes
from counterfoil.testing.loopback.stand_in import Body, StandIn

DIES, DIES_BEFORE = "dies", "dies-before"
DEAD = 9
"""The exit status after such a fault."""


class Notes:
    """The notes of all orders, in one file that only grows."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = threading.Lock()
        file.touch()

    def add(self, order: str, text: str) -> str:
        """The new note's id, once it is on the disk."""
        with self._lock:
            note_id = f"note-{len(self.all()) + 1}"
            with self._file.open("a") as file:
                file.write(json.dumps({"id": note_id, "order": order, "text": text}) + "\n")
                file.flush()
                os.fsync(file.fileno())
        return note_id

    def all(self) -> list[dict[str, str]]:
        """Every note, oldest first."""
        return [json.loads(line) for line in self._file.read_text().splitlines()]


class NotesDesk(StandIn):
    """Control only: the notes themselves are reached by MCP."""

    def serve(self, exchange: Exchange, request: Request) -> None:
        """Notes come by MCP."""
        exchange.send(error_reply(404, "not_found", f"there is no {request.method} {request.path}"))

    def state(self) -> Body:
        """The counters. The notes are in their file."""
        return self.counts("requests", "decided")

    def add(self, notes: Notes, order: str, text: str) -> str:
        """One note, with what is armed for it."""
        fault = self.faults.take()
        if fault is not None and fault.name == DIES_BEFORE:
            os._exit(DEAD)
        self.traffic.count("requests")
        note_id = notes.add(order, text)
        if fault is not None:
            os._exit(DEAD)
        self.traffic.count("decided")
        return note_id


def server_of(notes: Notes, desk: NotesDesk) -> MCPServer[None]:
    """`add_note` writes; `list_notes` only reads, and says so."""
    server: MCPServer[None] = MCPServer("notes", log_level="ERROR")

    @server.tool(annotations=ToolAnnotations(read_only_hint=False, idempotent_hint=False))
    def add_note(order: str, text: str) -> str:
        """Add a note to an order, for the colleague who reads it next. Returns the note's id."""
        return desk.add(notes, order, text)

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    def list_notes(order: str) -> list[str]:
        """The notes of an order, oldest first."""
        return [f"{note['id']}: {note['text']}" for note in notes.all() if note["order"] == order]

    return server


def serve(file: Path, port: int) -> None:
    """Serve until standard input closes, after one JSON line {url, control_url, pid, records_file} on stdout.

    `url` is where MCP is spoken (streamable HTTP). OSError for a taken port or an unwritable file.
    """
    desk, notes = NotesDesk(Faults({DIES, DIES_BEFORE})), Notes(file)
    listening = socket.create_server(("127.0.0.1", port))
    application = server_of(notes, desk).streamable_http_app(json_response=True, stateless_http=True)
    config = uvicorn.Config(application, log_level="error", lifespan="on", timeout_graceful_shutdown=1)
    running = uvicorn.Server(config)
    thread = threading.Thread(target=asyncio.run, args=[running.serve(sockets=[listening])], daemon=True)
    thread.start()
    own = {"url": f"http://127.0.0.1:{listening.getsockname()[1]}/mcp", "records_file": str(file.resolve())}
    try:
        serve_until_input_closes(LoopbackServer(desk, 0), own)
    finally:
        running.should_exit = True
        thread.join(2)


def main() -> None:
    """Read the arguments and serve. Exit status 2, with one sentence, for arguments that do not fit."""
    parser = argparse.ArgumentParser(description="Notes of orders, by MCP.")
    parser.add_argument("--notes", type=Path, metavar="FILE", required=True)
    parser.add_argument("--port", type=int, default=0)
    chosen = parser.parse_args()
    try:
        serve(chosen.notes, chosen.port)
    except (ValueError, OSError, OverflowError) as reason:
        parser.error(str(reason))
    sys.stdout.flush()


if __name__ == "__main__":
    main()
