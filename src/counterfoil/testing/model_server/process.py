"""The model server as a child process."""

from pathlib import Path

from counterfoil.testing.loopback.process import LoopbackProcess


class ModelServerProcess(LoopbackProcess):
    """A model server from construction until `close`. LoopbackFailed when it cannot start."""

    module = "counterfoil.testing.model_server"

    def __init__(self, *, script: Path | None = None, fault: str | None = None, port: int = 0) -> None:
        options = ["--port", str(port)]
        options += [] if script is None else ["--script", str(script)]
        options += [] if fault is None else ["--fault", fault]
        super().__init__(options)
        self.base_url = str(self.ready["base_url"])

    @property
    def environment(self) -> dict[str, str]:
        """The variables that make a plain `Agent("openai:...")` or `Agent("openai-chat:...")` reach this server."""
        return {"OPENAI_BASE_URL": self.base_url, "OPENAI_API_KEY": "not-a-secret"}

    def requests_answered(self) -> int:
        """How many requests have been counted, lost replies included."""
        return int(str(self.get("")["requests"]))

    def next_answer(self) -> dict[str, object]:
        """{tool, answer, digest} that the last request would get if it came again. Nothing is counted."""
        return self.get("next-answer")
