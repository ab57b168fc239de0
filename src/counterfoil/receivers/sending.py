"""`call.sending()`: a vendor's SDK under the ledger. Our key in, its own retries off; sent is always maybe."""

import json
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self

from counterfoil.model.contract import Contract, Meaning
from counterfoil.model.errors import Refused
from counterfoil.model.exchange import NOT_TOLD, Exchange
from counterfoil.receivers.http import AttemptOver
from counterfoil.rules.classify import classify, replayed


class Sending:
    """`with call.sending() as s: SDK(key=s.key) ...; s.reply(status, body)`.

    `enter` commits the in-flight record and gives the key; it raises AttemptOver when nothing may be sent. `replied` is
    called with the exchange when an answer is told. Leaving the block without an applied answer raises AttemptOver.
    """

    def __init__(
        self, *, enter: Callable[[], str | None], contract: Contract, replied: Callable[[Exchange], None] | None = None
    ) -> None:
        self._enter = enter
        self._contract = contract
        self._replied = replied
        self._entered = False
        self.key: str | None = None
        self.exchange: Exchange | None = None

    def __enter__(self) -> Self:
        if self._entered:
            raise Refused("outside_operation", problem="call.sending() was entered twice in one attempt")
        self._entered = True
        self.key = self._enter()
        # Whatever the SDK does from here on, we cannot see whether a byte left.
        self.exchange = Exchange("connected", True, problem=NOT_TOLD)
        return self

    def reply(self, status: int, body: Any = None, headers: Mapping[str, str] | None = None) -> None:
        """Tell the answer. `body`: bytes, text, or anything that is JSON. Only the first answer counts."""
        if self.exchange is None:
            raise Refused("outside_operation", problem="an answer was told outside call.sending()")
        if self.exchange.status is not None:
            return
        content = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else _as_json(body)
        head = {name.lower(): value for name, value in (headers or {}).items()}
        mark = replayed(self._contract, head, content)
        self.exchange = Exchange("body", True, status, head, content, replayed=mark)
        if self._replied is not None:
            self._replied(self.exchange)

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.exchange is None or (problem is not None and not isinstance(problem, Exception)):
            return  # nothing was entered, or something above us ends this attempt
        if self.exchange.status is None and problem is not None:
            text = f"{type(problem).__name__}: {problem}"
            self.exchange = Exchange("connected", True, problem=text)
        meaning = classify(self._contract, self.exchange)
        if meaning is not Meaning.APPLIED:
            # An exception of the SDK is not evidence: the attempt ends in doubt, and no `except` of the tool hides it.
            reason = self.exchange.problem or f"answered {meaning}"
            raise AttemptOver(reason, exchange=self.exchange, meaning=meaning) from problem


def _as_json(body: Any) -> bytes:
    return b"" if body is None else json.dumps(body, default=str).encode()
