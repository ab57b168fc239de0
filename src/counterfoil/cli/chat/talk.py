"""The conversation that a chat is in: what is said in it, under which request id, and who is at work."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from counterfoil.app.conversations import agent_of
from counterfoil.app.submitted import waits_for_person
from counterfoil.engine.admission import seen_of
from counterfoil.model import ids
from counterfoil.model.errors import Refused
from counterfoil.model.run import RunRecord

if TYPE_CHECKING:
    from counterfoil.app import App


@dataclass(frozen=True, slots=True)
class Options:
    """`conversation` None begins a new one. `by`: who speaks. `reviewer`: who answers reviews. `worker`: see Beside."""

    agent: str
    conversation: str | None
    by: str | None
    reviewer: str | None
    secret_file: Path | None
    worker: bool | None
    request_id: str | None


class Talk:
    """`name` is the conversation's. Raises Refused(unknown_workflow) for an agent that nobody registered."""

    def __init__(self, app: "App", options: Options) -> None:
        self._app, self._options = app, options
        self._opened = app.open()
        self.agent = agent_of(self._opened, options.agent).name
        self.name = options.conversation or self.new_name()
        self.sent: list[dict[str, Any]] = []

    def new_name(self) -> str:
        """A conversation's name that nobody has used."""
        return f"{self.agent}-{self._opened.chance.hex(32)}"

    def known(self) -> bool:
        """Whether anything was said in it. Raises Refused(other_agent) for a conversation with another agent."""
        try:
            shown = self._app.conversations.show(self.name, limit=1)
        except Refused as refused:
            if refused.code != "not_found":
                raise
            return False
        if shown["agent"] != self.agent:
            raise Refused("other_agent", conversation=shown["name"], agent=shown["agent"], given=self.agent)
        self.name = shown["name"]
        return True

    def at_work(self) -> str | None:
        """The run that has not ended, whoever waits behind it."""
        with self._opened.read() as reader:
            return seen_of(reader, ids.conversation_id(self._opened.installation_id, self.name)).at_work

    def waits(self, run_id: str) -> bool:
        """Whether only a person moves this run on."""
        with self._opened.read() as reader:
            run = reader.get(RunRecord, run_id)
            return run is not None and waits_for_person(reader, run, self._opened.clock.now_us())

    async def say(self, text: str, when_busy: str | None = None) -> dict[str, Any]:
        """SENT, once it is accepted for good. While a turn is at work: as the conversation's setting says, else a follow-up.

        Raises Refused as `app.conversations.send`.
        """
        if when_busy is None and self.known() and "when_busy" not in self._settings():
            when_busy = "follow_up"
        own = self._options.request_id  # the same for the same message of a script that is run again
        request_id = f"chat-{self._opened.chance.hex(64)}" if own is None else f"{own}-{len(self.sent) + 1}"
        sent = await self._app.conversations.send(
            text, conversation=self.name, request_id=request_id, agent=self.agent, when_busy=when_busy,
            by=self._options.by,
        )  # fmt: skip
        self.sent.append({"request_id": request_id} | sent)
        return sent

    async def abort(self) -> dict[str, Any]:
        """Cancel the turn at work. Raises Refused(nobody_at_work)."""
        return await self._app.conversations.abort(self.name, reason="aborted in a chat", by=self._options.by)

    def data(self) -> dict[str, Any]:
        """What the command answers: each message that was sent, and how its turn stands."""
        names = ("state", "reason", "sentence", "result", "next_action")
        told = ("request_id", "run_id", "number", "turn", "admitted")
        turns: list[dict[str, Any]] = []
        for each in self.sent:
            run = self._app.runs.show(self._app.conversations.answered_by(each["run_id"]))
            turns.append({name: each[name] for name in told} | {name: run[name] for name in names})
        return {"conversation": self.name if self.known() else None, "agent": self.agent, "turns": turns}

    def _settings(self) -> Mapping[str, Any]:
        return self._app.conversations.show(self.name, limit=1)["settings"]
