"""What a model has answered so far, from a worker process to the one that started it, over a pipe.

It is as provisional there as here. What finds no room is dropped: no worker waits for a terminal that somebody has stopped.
"""

import asyncio
import json
import os
from collections.abc import Generator
from contextlib import contextmanager, suppress

from counterfoil.engine.partials import Partial, Partials

LONGEST = 250  # characters of one line: twelve bytes each and the ids are less than a pipe takes whole or not at all
_READ = 1 << 16


def pass_on(partials: Partials, pipe: int) -> None:
    """Every piece that is published goes into the pipe, too. From any thread."""
    os.set_blocking(pipe, False)

    def told(piece: Partial) -> None:
        for at in range(0, max(len(piece.text), 1), LONGEST):
            line = json.dumps([piece.run_id, piece.position, piece.text[at : at + LONGEST], piece.ask])
            with suppress(OSError):  # full, or nobody is there
                os.write(pipe, line.encode() + b"\n")

    partials.passed_on = told


class Relay:
    """The other end: what comes is published here, on the running loop, until the worker has closed its end."""

    def __init__(self, pipe: int, partials: Partials) -> None:
        self._pipe, self._partials = pipe, partials
        self._rest = b""
        self._loop = asyncio.get_running_loop()
        os.set_blocking(pipe, False)
        self._loop.add_reader(pipe, self._read)

    def close(self) -> None:
        """Listen no more. May be called twice."""
        if self._pipe >= 0:
            self._loop.remove_reader(self._pipe)
            os.close(self._pipe)
            self._pipe = -1

    def _read(self) -> None:
        found = os.read(self._pipe, _READ)
        *lines, self._rest = (self._rest + found).split(b"\n")
        for line in lines:
            run_id, position, text, ask = json.loads(line)
            if text:
                self._partials.publish(run_id, position, text, ask)
            else:
                self._partials.end(run_id)
        if not found:
            self.close()


@contextmanager
def relayed(partials: Partials) -> Generator[int]:
    """The end of a pipe for a worker process that is started in the block; its pieces come for as long as it lives."""
    heard, pipe = os.pipe()
    relay = Relay(heard, partials)
    try:
        yield pipe
    except BaseException:
        relay.close()
        raise
    finally:
        os.close(pipe)
