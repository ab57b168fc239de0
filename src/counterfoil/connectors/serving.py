"""Receivers that speak HTTP, as drills start them: our sandbox, or a real server behind our proxy."""

from counterfoil.testing.proxy import ProxyProcess
from counterfoil.testing.sandbox.process import SandboxProcess


class OverHttp:
    """What the cases of drilling.py ask of a receiver that is reached over HTTP."""

    def __init__(self, process: ProxyProcess | SandboxProcess) -> None:
        self.process = process
        self.url = process.url
        self._before = 0

    def arm(self, fault: str) -> None:
        """For the next write."""
        self.process.fault(fault)

    def disarm(self) -> None:
        """What the case before left armed is gone."""
        self.process.post("fault", {"fault": None})

    def queue(self) -> None:
        """The next write arrives whole, and stays on its way until `release`."""
        self._before = int(str(self.process.get("")["requests"]))
        self.process.fault("queued")

    def wait_queued(self) -> None:
        """Until it is on its way."""
        self.process.wait_arrived(self._before + 1)

    def release(self) -> None:
        """It lands."""
        self.process.release()
        self.process.wait(requests=self._before + 1)

    def close(self) -> None:
        """End the process."""
        self.process.close()
