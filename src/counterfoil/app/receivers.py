"""The noun `receivers`: where operations are sent, under which contracts, how it goes there, and whether it is paused."""

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from counterfoil.app.access.actor import Actor, name_of, proven
from counterfoil.app.views.receiver import DAY_US, receiver_view
from counterfoil.app.views.shown import Shown
from counterfoil.engine.opened import Opened
from counterfoil.engine.pausing import PauseReceiver, ResumeReceiver
from counterfoil.model.errors import Refused
from counterfoil.model.operation import OperationRecord
from counterfoil.model.slots import TapRecord


class Receivers:
    """`app.receivers`. A receiver is named as the code declares it."""

    def __init__(self, opened: Callable[[], Opened]) -> None:
        self._opened = opened

    def list(self) -> dict[str, Any]:
        """`{items: [RECEIVER], next_cursor: None}`, by name: what this code declares and what is in doubt elsewhere.

        RECEIVER: {receiver, environment, declared, suspended, in_doubt, oldest_doubt_at, last_day: {attempts, refused,
        ambiguous, failure_rate}, limits: {concurrency, in_use, rate, closed_until_at, closed_by}, paused: {sentence, by, at,
        until_at}, waiting, operations: [{operation,
        action, api_version, contract_digest, kind, lookup, window_us, duplicate, procedure, sentences}]}.
        `window_us`: how long a key keeps a repeat harmless.
        `failure_rate` is refused and ambiguous attempts by all attempts that ended, None without any.
        """
        opened = self._opened()
        with opened.read() as reader:
            shown = Shown.of(opened, reader)
            doubts: defaultdict[str, list[OperationRecord]] = defaultdict(list)
            for operation in reader.unresolved():
                doubts[operation.receiver].append(operation)
            paused = {tap.receiver for tap in reader.rows(TapRecord) if tap.paused_at is not None}
            answers: defaultdict[str, dict[str | None, int]] = defaultdict(dict)
            for receiver, meaning, count in reader.figures.newest_answers(since=shown.now - DAY_US):
                answers[receiver][meaning] = count
            names = sorted(opened.registry.receivers.keys() | doubts.keys() | answers.keys() | paused)
            items = [receiver_view(shown, opened.registry, name, doubts[name], answers[name]) for name in names]
        return {"items": items, "next_cursor": None}

    def show(self, receiver: str) -> dict[str, Any]:
        """One RECEIVER. Raises Refused(not_found)."""
        for item in self.list()["items"]:
            if item["receiver"] == receiver:
                return item
        raise Refused("not_found", what="receiver", id=receiver)

    async def pause(self, receiver: str, *, by: Actor | str, reason: str) -> dict[str, Any]:
        """Nothing is sent there until somebody resumes it; asking goes on. RECEIVER. As any stop it takes a name and no secret.

        What is meant for it waits, and says so. Raises Refused(not_found, unknown_person, not_permitted, usage).
        """
        opened = self._opened()
        if not names_receiver(opened, receiver):
            raise Refused("not_found", what="receiver", id=receiver)
        await opened.write(PauseReceiver(opened.installation_id, receiver, name_of(by), _said(reason)))
        return self._shown(receiver)

    async def resume(self, receiver: str, *, by: Actor | str, secret: str = "", reason: str) -> dict[str, Any]:
        """What waits is sent, by itself. It ends the breaker's pause, too. RECEIVER. Raises Refused(not_paused, wrong_secret)."""
        opened = self._opened()
        with opened.read() as reader:
            person = proven(reader, by, secret)
        await opened.write(ResumeReceiver(opened.installation_id, receiver, person, _said(reason)))
        return self._shown(receiver)

    def _shown(self, receiver: str) -> dict[str, Any]:
        """Also where neither this code nor a doubt names it any more: a command line without code may resume it."""
        opened = self._opened()
        with opened.read() as reader:
            none = receiver_view(Shown.of(opened, reader), opened.registry, receiver, [], {})
        return next((item for item in self.list()["items"] if item["receiver"] == receiver), none)


def names_receiver(opened: Opened, receiver: str) -> bool:
    """Whether the code at hand or a stored operation names the receiver. Without code nothing can be said: it may."""
    if not opened.registry.receivers or receiver in opened.registry.receivers:
        return True
    with opened.read() as reader:
        return any(operation.receiver == receiver for operation in reader.rows(OperationRecord))


def _said(reason: str) -> str:
    if not reason.strip():
        raise Refused("usage", problem="name the reason")
    return reason
