"""Carries out a page as printed: files are saved, changes are made, commands are typed, terminals stay open.

What a reader sees says the same: "in a second terminal", "save this as". The comments above a block say it to this file.
Only the sandbox's ports are others than printed, so that two tests may run at once.
"""

import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.docs.pages import Block

PRINTED_PORTS = ("8765", "8766")
TIMEOUT = 60  # seconds for one block
WAY_OUT = {"end of input": None, "Ctrl-C": signal.SIGINT}


def free_port(taken: set[int]) -> int:
    """A free port below those that the system gives out by itself: nobody takes it before the sandbox does."""
    for port in sorted(range(20_000, 32_000), key=lambda port: hash((port, os.getpid()))):
        if port not in taken:
            with socket.socket() as trying, suppress(OSError):
                trying.bind(("127.0.0.1", port))
                return port
    raise AssertionError("no port is free")


class Terminal:
    """A terminal that stays open: one command runs in it until it dies, is told to end, or the tour is over."""

    def __init__(self, command: str, folder: Path, environ: dict[str, str]) -> None:
        self._command = command
        self.process = subprocess.Popen(
            ["bash", "-c", f"exec {command}" if "=" not in command.split()[0] else f"exec env {command}"],
            cwd=folder, env=environ, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def says(self, until: str) -> None:
        """Wait for a text on standard output or error."""
        assert self.process.stdout is not None
        said = ""
        while until not in said:
            line = self.process.stdout.readline()
            assert line, f"{self._command!r} ended and never said {until!r}: {said}"
            said += line

    def died(self) -> int:
        """The signal by which it ended by itself."""
        return -self.process.wait(TIMEOUT)

    def end(self, way: str) -> None:
        number = WAY_OUT[way]
        assert self.process.stdin is not None
        if number is None:
            self.process.stdin.close()
        else:
            self.process.send_signal(number)
        self.process.wait(TIMEOUT)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(TIMEOUT)
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()


class Tour:
    """One walk through a page, in an empty folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "tour"
        self.folder.mkdir()
        self._ports: dict[str, str] = {}
        for printed in PRINTED_PORTS:
            self._ports[printed] = str(free_port({int(port) for port in self._ports.values()}))
        self._terminals: dict[str, Terminal] = {}
        self._said = ""
        self._environ = self._made_environ(folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for terminal in self._terminals.values():
            terminal.close()

    @staticmethod
    def _made_environ(folder: Path) -> dict[str, str]:
        """`counterfoil` and `python` as after an installation; nothing else of this process's environment."""
        commands = folder / "bin"
        commands.mkdir()
        for name, what in (
            ("counterfoil", f"exec {sys.executable} -c 'from counterfoil.cli.main import run; run()'"),
            ("python", f"exec {sys.executable}"),
        ):
            script = commands / name
            script.write_text(f'#!/bin/sh\n{what} "$@"\n')
            script.chmod(0o755)
        home = folder / "home"
        home.mkdir()
        return {"PATH": f"{commands}:{os.defpath}", "HOME": str(home), "LANG": "C.UTF-8"}

    def walk(self, blocks: list[Block]) -> None:
        for block in blocks:
            text = block.text
            for printed, port in self._ports.items():
                text = text.replace(printed, port)
            self._step(block, text)

    def _step(self, block: Block, text: str) -> None:
        says = block.directives
        if "file" in says:
            (self.folder / says["file"]).write_text(text)
        elif "change" in says:
            self._change(self.folder / says["change"], text)
        elif "terminal" in says:
            self._open(says, text.strip())
        elif block.language == "sh":
            if "stop" in says:  # "worker killed": what the page says has happened by now in another terminal
                name, ended = says["stop"].split()
                assert ended == "killed" and self._terminals[name].died() == signal.SIGKILL, block.place
            self._said = self._typed(block, text)
        elif block.language == "text":
            missing = not_said(text, self._said)
            assert missing is None, f"{block.place}: {missing!r} was not said:\n{self._said}"
        else:
            raise AssertionError(f"{block.place}: nothing says what to do with this block")

    def _typed(self, block: Block, text: str) -> str:
        ended = subprocess.run(
            ["bash", "-c", text], cwd=self.folder, env=self._environ, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=TIMEOUT, check=False,
        )  # fmt: skip
        # A shell may put its last command in its own place: killed, that is the negative signal.
        status = ended.returncode if ended.returncode >= 0 else 128 - ended.returncode
        wanted = int(block.directives.get("status", "0"))
        assert status == wanted, f"{block.place}: status {status}, not {wanted}:\n{ended.stdout}"
        return ended.stdout

    def _open(self, says: dict[str, str], command: str) -> None:
        name, before = says["terminal"], self._terminals.pop(says["terminal"], None)
        if before is not None:
            if "stop" in says:
                before.end(says["stop"])
            else:  # the page waits until it was killed
                assert before.died() == signal.SIGKILL
            before.close()
        self._terminals[name] = Terminal(command, self.folder, self._environ)
        self._terminals[name].says(says["until"])

    @staticmethod
    def _change(file: Path, text: str) -> None:
        """A change as people read one: lines with a minus become the lines with a plus, blank ones stay as they are."""
        lines = text.splitlines()
        old = "".join(f"{line[1:]}\n" for line in lines if line[:1] in (" ", "-"))
        new = "".join(f"{line[1:]}\n" for line in lines if line[:1] in (" ", "+"))
        content = file.read_text()
        assert content.count(old) == 1, f"{file.name} holds this once:\n{old}"
        file.write_text(content.replace(old, new))


def not_said(wanted: str, said: str) -> str | None:
    """The first part of `wanted` that does not follow in `said`; None: all of it does. `...` stands for anything."""
    flat = " ".join(said.split())
    parts = [" ".join(part.split()) for line in wanted.splitlines() for part in re.split(r"\.\.\.", line)]
    place = 0
    for part in filter(None, parts):
        found = flat.find(part, place)
        if found < 0:
            return part
        place = found + len(part)
    return None
