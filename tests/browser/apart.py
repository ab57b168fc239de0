"""The command line in another process: the browser's driver has an event loop in this one.

`python -m tests.browser.apart FOLDER` serves commands, one JSON line each, until its standard input closes.
"""

import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.edges.cli_bench import Cli, Ended

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-c", "from counterfoil.cli.main import run; run()"]
ENDS_WITHIN = 60


@dataclass
class Apart(Cli):
    """As `Cli`, without a terminal. Its process begins with the first command and ends with `close`."""

    process: "subprocess.Popen[str] | None" = field(default=None)

    def __call__(self, *argv: str, stdin: bytes = b"", answers: str | None = None) -> Ended:
        assert answers is None, "nobody types here"
        process = self.process or self._begun()
        assert process.stdin is not None and process.stdout is not None
        asked = {"argv": argv, "stdin": stdin.decode(), "environ": self.environ}
        process.stdin.write(json.dumps(asked) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        assert line, "the process of the command line has ended"
        return Ended(**json.loads(line))

    def data(self, *argv: str, stdin: Any = None) -> Any:
        """The data of a command that succeeds."""
        ended = self.json(*argv, stdin=b"" if stdin is None else json.dumps(stdin).encode())
        assert ended.status == 0, ended
        return ended.data

    def close(self) -> None:
        """End the process."""
        process, self.process = self.process, None
        if process is None:
            return
        assert process.stdin is not None and process.stdout is not None
        process.stdin.close()
        process.wait(ENDS_WITHIN)
        process.stdout.close()

    def _begun(self) -> "subprocess.Popen[str]":
        self.process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(self.folder)], cwd=ROOT, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        return self.process


def main(folder: Path) -> None:
    """Run each command as it comes."""
    asked, told = sys.stdin, sys.stdout
    for line in asked:
        wish = json.loads(line)
        ended = Cli(folder, wish["environ"])(*wish["argv"], stdin=wish["stdin"].encode())
        told.write(json.dumps({"status": ended.status, "out": ended.out, "err": ended.err}) + "\n")
        told.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
