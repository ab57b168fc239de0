"""`call.sending()`: a vendor's SDK under the ledger. Our key in, its own retries off; sent is always maybe."""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from counterfoil.model.contract import Contract, Meaning
from counterfoil.model.errors import Refused
from counterfoil.model.exchange import NOT_TOLD, Exchange, Told
from counterfoil.receivers.hiding import hidden, hidden_bytes
from counterfoil.receivers.http import AttemptOver
from counterfoil.rules.classify import classify, replayed

_STATUSES, _YES = range(100, 600), range(200, 300)


class Sending:
    """`with call.sending(answered=...) as s: SDK(key=s.key) ...; s.reply(status, body)`.

    `enter` commits the in-flight record and gives the key; it raises AttemptOver when nothing may be sent. `replied` is
    called with the exchange when an answer is told. `answered`: the answer that an exception of the SDK carries, or None.
    `secrets` are kept in no record, should the receiver say them back. Leaving the block without an applied answer raises
    AttemptOver.
    """

    def __init__(
        self,
        *,
        enter: Callable[[], str | None],
        contract: Contract,
        replied: Callable[[Exchange], None] | None = None,
        answered: Callable[[Exception], Told | None] | None = None,
        secrets: tuple[str, ...] = (),
    ) -> None:
        self._enter = enter
        self._contract = contract
        self._replied = replied
        self._answered = answered
        self._secrets = secrets
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
        if self.exchange.status is None:
            self._keep(self._seen(status, body, headers))

    def _seen(self, status: int, body: Any, headers: Mapping[str, str] | None) -> Exchange:
        content = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else _as_json(body)
        content = hidden_bytes(content, self._secrets)
        head = {name.lower(): hidden(str(value), self._secrets) for name, value in (headers or {}).items()}
        return Exchange("body", True, status, head, content, replayed=replayed(self._contract, head, content))

    def _keep(self, exchange: Exchange) -> None:
        self.exchange = exchange
        if self._replied is not None:
            self._replied(exchange)

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.exchange is None or (problem is not None and not isinstance(problem, Exception)):
            return  # nothing was entered, or something above us ends this attempt
        if self.exchange.status is None and problem is not None:
            text = hidden(f"{type(problem).__name__}: {problem}", self._secrets)
            self.exchange = Exchange("connected", True, problem=text)
            self._told_by(problem)
        meaning = classify(self._contract, self.exchange)
        if meaning is not Meaning.APPLIED:
            # An exception of the SDK is not evidence: the attempt ends in doubt, and no `except` of the tool hides it.
            reason = self.exchange.problem or f"answered {meaning}"
            raise AttemptOver(reason, exchange=self.exchange, meaning=meaning) from problem

    def _told_by(self, problem: Exception) -> None:
        """The answer that the SDK turned into an exception. What is no answer for certain leaves the doubt as it is."""
        seen = None
        with suppress(Exception):  # the user's function: that it fails is no answer either
            told = None if self._answered is None else self._answered(problem)
            if told is not None and told[0] in _STATUSES:  # SDKs say 0 where nothing came
                seen = self._seen(*told)
        if seen is not None:
            # It says yes, and the SDK could not read it: it may be cut, and its status alone must not make a success.
            cut = seen.status in _YES and not _is_json(seen)
            self._keep(replace(seen, problem=f"unreadable: {type(problem).__name__}") if cut else seen)


def _is_json(exchange: Exchange) -> bool:
    try:
        exchange.json()
    except (ValueError, RecursionError):
        return False
    return True


def _as_json(body: Any) -> bytes:
    return b"" if body is None else json.dumps(body, default=str).encode()
