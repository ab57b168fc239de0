"""The model that a story asks: by default a small server of its own process, which never answers twice the same."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from counterfoil.testing.model_server.process import ModelServerProcess


class LocalModel:
    """The local server. `environment` makes a plain agent reach it."""

    def __init__(self, script: Path | None = None) -> None:
        self._server = ModelServerProcess(script=script)
        self.environment = self._server.environment

    def facts(self, decisions: "Counter[str]") -> dict[str, Any]:
        """`{requests, decisions, lost, next_answer_digest}`. Lost: answered, but never accepted as a decision."""
        answered = Counter(self.named(item) for item in self._server.requests())
        return {
            "requests": answered.total(),
            "decisions": decisions.total(),
            "lost": (answered - decisions).total(),
            "next_answer_digest": self._server.next_answer()["digest"],
        }

    def named(self, item: Mapping[str, object]) -> str:
        """An answer in the server's log, as the ledger names a decision."""
        return str(item["answer_digest"])

    def close(self) -> int:
        """End the server."""
        return self._server.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class ScriptedModel(LocalModel):
    """The local server as an agent's model. An agent's decision is a whole response, which has an id."""

    def named(self, item: Mapping[str, object]) -> str:
        """By the id of the response."""
        return f"chatcmpl-{item['n']}"


class ProviderModel(LocalModel):
    """The provider whose key is in the environment: it counts for itself, so what it was asked is not known here."""

    def __init__(self) -> None:
        self.environment = {}

    def facts(self, decisions: "Counter[str]") -> dict[str, Any]:
        """Only the accepted decisions are known."""
        return {"requests": None, "decisions": decisions.total(), "lost": None, "next_answer_digest": None}

    def close(self) -> int:
        """Nothing to end."""
        return 0
