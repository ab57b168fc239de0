"""Runs one server in a tree of its own and ends with whoever started it: `python -I -S keeper.py JSON`.

JSON: `starter` (process id), `folder`, `user` (id or null), `group`, `end` (number of the signal that ends the server),
`command`. Prints the server's process id as one line; what the server prints goes to standard error.

Every descendant is ours, since orphans come back to the nearest subreaper. So when the server is gone, none of its children
is left; when the starter is gone, however it went, the server, its children and its folder are. Python's standard library only.
"""

import contextlib
import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

DEATH_SIGNAL, SUBREAPER = 1, 36  # PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER
LONGEST = 5400  # seconds. No test runs longer; a starter that hangs for ever must not keep a server for ever.
PATIENCE = 3  # seconds between the signal that asks and the one that does not

prctl = ctypes.CDLL(None).prctl


def parents() -> dict[int, int]:
    """Each process that runs now, and its parent."""
    found: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        # A process may go while we look. Its name, between brackets, may hold anything.
        with contextlib.suppress(OSError):
            if entry.name.isdigit():
                found[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    return found


def tree(root: int) -> list[int]:
    """The process and all its descendants, parents before children."""
    everybody = parents()
    found = [root]
    for pid in found:
        found += [child for child, parent in everybody.items() if parent == pid]
    return found


def gone(pidfd: int, seconds: float) -> bool:
    return bool(select.select([pidfd], [], [], seconds)[0])


def end_all() -> None:
    while True:
        for pid in tree(os.getpid())[1:]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)  # the children of whoever died are ours by then
        except ChildProcessError:
            return


def main(asked: dict[str, Any]) -> None:
    starter = os.pidfd_open(asked["starter"])
    if os.getppid() != asked["starter"]:
        return
    prctl(SUBREAPER, 1)
    as_user: dict[str, Any] = {}
    if asked["user"] is not None:
        as_user = {"user": asked["user"], "group": asked["group"], "extra_groups": []}
    server = subprocess.Popen(
        asked["command"],
        cwd=asked["folder"],
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,
        umask=0o077,
        preexec_fn=lambda: prctl(DEATH_SIGNAL, signal.SIGKILL),  # should this process be killed itself
        **as_user,
    )
    ended = os.pidfd_open(server.pid)
    print(server.pid, flush=True)
    ready = select.select([starter, ended], [], [], LONGEST)[0]
    if ended not in ready:
        # A frozen server hears nothing before it is thawed.
        for pid in tree(server.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        server.send_signal(asked["end"])
        gone(ended, PATIENCE)
    end_all()
    if ended not in ready:
        shutil.rmtree(asked["folder"], ignore_errors=True)


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # what tells a whole group to end reaches the starter, and we follow that
    main(json.loads(sys.argv[1]))
