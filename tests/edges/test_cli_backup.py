"""`backup` as an operator calls it, in processes of its own: killed in the middle it leaves no backup, and the next is whole."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.edges.cli_bench import installed

PROGRAM = """
import os, signal, sys
from pathlib import Path
from counterfoil.app import App
def told(what, done, of):
    print(what, flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)
App("x", db=sys.argv[1]).backups.create(Path(sys.argv[2]), told)
"""


def test_made_checked_and_damaged(tmp_path: Path) -> None:
    made = installed(tmp_path)
    made.submit("waits", "1")
    made.drive()
    ended = made.json("backup", "create", "kept")
    assert ended.status == 0 and ended.data["files"] >= 1
    whole = made.json("backup", "verify", "kept")
    assert whole.status == 0 and whole.data["sound"]
    assert "is whole" in made("backup", "verify", "kept").out
    assert made.refused("backup", "create", "kept") == (3, "backup_exists")
    with (made.folder / "kept" / "ledger.db").open("r+b") as file:
        file.truncate(5000)
    broken = made.json("backup", "verify", "kept")
    assert broken.status == 1 and broken.data["damaged"] == [{"path": "ledger.db", "problem": "changed"}]
    assert made.refused("backup", "verify", "nothing")[1] == "no_backup"


def test_killed_while_it_copies_there_is_no_backup(tmp_path: Path) -> None:
    made = installed(tmp_path)
    made.submit("waits", "1")
    argv = [sys.executable, "-c", PROGRAM, str(made.folder / "counterfoil.db"), str(made.folder / "kept")]
    child = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=os.environ | made.environ, cwd=made.folder)
    assert child.stdout is not None
    assert child.stdout.readline() == "pages\n"
    child.send_signal(signal.SIGKILL)
    child.wait(20)
    child.stdout.close()
    assert not (made.folder / "kept").exists() and (made.folder / "kept.partial").is_dir()
    assert made.json("backup", "create", "kept").status == 0
    assert made.json("backup", "verify", "kept").data["sound"]
    assert not (made.folder / "kept.partial").exists()
