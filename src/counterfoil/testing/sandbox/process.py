"""The sandbox as a child process."""

import json
import tempfile
from pathlib import Path

from counterfoil.testing.loopback.digest import as_objects
from counterfoil.testing.loopback.process import LoopbackProcess
from counterfoil.testing.sandbox.contract import SandboxContract


class SandboxProcess(LoopbackProcess):
    """A sandbox of a kind, or with a contract, from construction until `close`. LoopbackFailed when it cannot start."""

    module = "counterfoil.testing.sandbox"

    def __init__(
        self,
        kind: str | SandboxContract = "key",
        *,
        fault: str | None = None,
        port: int = 0,
        records: Path | None = None,
        clock: Path | None = None,
    ) -> None:
        options = ["--port", str(port)]
        options += [] if fault is None else ["--fault", fault]
        options += [] if records is None else ["--records", str(records)]
        options += [] if clock is None else ["--clock", str(clock)]
        if isinstance(kind, str):
            super().__init__(["--kind", kind, *options])
        else:
            with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
                json.dump(kind.to_json(), file)
                file.flush()
                super().__init__(["--contract", file.name, *options])  # It has read the file when it is ready.
        self.records_file = Path(str(self.ready["records_file"]))

    def records(self) -> list[dict[str, object]]:
        """The receiver's own records: id, reference, key, payload_digest, at."""
        return as_objects(self.get("records")["records"])

    def advance(self, seconds: float) -> None:
        """Move the sandbox's clock forward."""
        self.post("clock", {"advance_seconds": seconds})

    def follow(self, clock: Path) -> None:
        """Take the time of those who share this clock's file."""
        self.post("clock", {"follow": str(clock)})

    def forget_keys(self) -> None:
        """Lose the sandbox's key store."""
        self.post("forget-keys")

    def lag(self, seconds: float) -> None:
        """Let lookups show a record only so long after it was made."""
        self.post("lookup-lag", {"seconds": seconds})

    def lookups(self) -> list[dict[str, object]]:
        """What was asked, the oldest first: path, status, and `hidden`, the records that exist and were not shown yet."""
        return as_objects(self.get("lookups")["items"])
