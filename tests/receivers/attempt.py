"""One attempt at a real server without a ledger: to see what it answers, and what a contract makes of that."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from counterfoil.engine.reconcile import OperationAsk
from counterfoil.model.contract import Contract, Meaning
from counterfoil.model.exchange import Exchange, Told
from counterfoil.model.ids import KeyFormat, encode_key
from counterfoil.receivers.http import AttemptOver, Reader
from counterfoil.receivers.sending import Sending
from counterfoil.rules.classify import classify

OPERATION = "op_" + "1" * 23
OTHER = "op_" + "2" * 23
LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class Attempt:
    """One attempt at the server at `url`: what was seen of it, and what the contract makes of that."""

    contract: Contract
    operation_id: str = OPERATION
    url: str = ""
    exchange: Exchange | None = None

    @property
    def key(self) -> str:
        form = KeyFormat.TEXT if self.contract.key is None else self.contract.key.format
        return encode_key(self.operation_id, 0, form)

    @property
    def http(self) -> Reader:
        return Reader(url=self.url, headers={}, timeout_s=30)

    def ask(self, first_sent_at: datetime = LONG_AGO) -> Any:
        """For the contract's lookup."""
        return OperationAsk(self.operation_id, self.key, first_sent_at, self.http)

    def sending(self, *, answered: Callable[[Exception], Told | None] | None = None) -> Sending:
        def kept(exchange: Exchange) -> None:
            self.exchange = exchange

        return Sending(enter=lambda: self.key, contract=self.contract, replied=kept, answered=answered)

    def made(self, function: Callable[..., Any], payload: Any) -> Meaning:
        with suppress(AttemptOver):
            function(self, payload)
        assert self.exchange is not None
        return classify(self.contract, self.exchange)
