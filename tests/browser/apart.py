"""The command line in processes of its own: the browser's driver has an event loop in this one."""

import json
import os
import subprocess
import sys
from typing import Any

from tests.edges.cli_bench import Cli, Ended

COMMAND = [sys.executable, "-c", "from counterfoil.cli.main import run; run()"]
ENDS_WITHIN = 60


class Apart(Cli):
    """As `Cli`, without a terminal."""

    def __call__(self, *argv: str, stdin: bytes = b"", answers: str | None = None) -> Ended:
        assert answers is None, "nobody types here"
        ended = subprocess.run(
            [*COMMAND, *argv], cwd=self.folder, env=self.whole_environ(), input=stdin, capture_output=True,
            timeout=ENDS_WITHIN, check=False,
        )  # fmt: skip
        told = Ended(ended.returncode, ended.stdout.decode(), ended.stderr.decode())
        assert "Traceback (most recent call last)" not in told.err + told.out, told
        return told

    def whole_environ(self) -> dict[str, str]:
        """What a process of this installation is given."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("COUNTERFOIL_")}
        return {**kept, "COLUMNS": "200", **self.environ}

    def data(self, *argv: str, stdin: Any = None) -> Any:
        """The data of a command that succeeds."""
        ended = self.json(*argv, stdin=b"" if stdin is None else json.dumps(stdin).encode())
        assert ended.status == 0, ended
        return ended.data
