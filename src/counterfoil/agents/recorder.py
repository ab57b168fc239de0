"""One turn of an agent: its model's answers and its tools' calls, each recorded at its position in a run."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, TypeVar

from pydantic_ai import Agent, UserError
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_core import to_jsonable_python

from counterfoil.agents.called import Calls, Tool
from counterfoil.agents.compaction import COMPACT, compacted, split, summarizer, transcript
from counterfoil.agents.messages import Thread, messages_of, plain_of, response_of
from counterfoil.agents.refusing import refusals
from counterfoil.agents.streaming import CutOff, asked_of
from counterfoil.agents.undeclared import Undeclared
from counterfoil.engine.asking import Answer, Question, Versions, answered
from counterfoil.engine.call_beside import Beside
from counterfoil.engine.call_decide import model_name
from counterfoil.engine.call_steer import steers
from counterfoil.engine.call_tool import heard
from counterfoil.engine.context import EmbeddedRun
from counterfoil.engine.execution import must_have_met
from counterfoil.engine.patience import patiently
from counterfoil.engine.revising import Revision
from counterfoil.model.codec import compact

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Asking:
    """What every question of a turn carries: the agent's name, and under which versions it is asked."""

    agent: str
    versions: Versions
    revision: Revision | None = None

    def facts(self, model: str | None) -> dict[str, Any]:
        """What stands in the request and in the decision."""
        revision = self.revision
        revised = {} if revision is None else {"revises": revision.revises, "reason": revision.reason}
        return {"agent": self.agent, "model": model} | self.versions.facts() | revised


class Recorder:
    """Made for one execution of one run. `asks` and `calls` are what Pydantic AI's model and toolset lead to."""

    def __init__(self, run: EmbeddedRun, asking: Asking, undeclared: Undeclared) -> None:
        self._run = run
        self._execution = run.execution
        self._asking = asking
        self._beside = Beside(run.execution, run.execution.branch)
        self._thread = Thread()
        self._decided = ""  # the position of the newest decision
        self._taken: set[int] = set()  # which of its calls were begun
        self._heard: set[str] = set()
        self._known: frozenset[str] = frozenset()  # of those, what the newest answer was given with
        self._plain: dict[int, tuple[ModelMessage, dict[str, Any]]] = {}  # by identity, holding the message
        self.context_tokens = 0  # what the newest question held, as its provider counted it
        self._cut_off = False  # a stream of this execution was: the model is asked in one piece from then on
        self._kept: dict[str, str] = {}  # the newest parameters as text: their artifact
        self._calls = Calls(run, undeclared, self._heard)

    def begins_with(self, history: list[dict[str, Any]]) -> list[ModelMessage]:
        """The messages of the turns before: what was asked is stored as a difference to them, and they are not written anew."""
        self._thread.change_to(history)
        messages = messages_of(history)
        self._plain = {id(message): (message, plain) for message, plain in zip(messages, history, strict=True)}
        return messages

    # ------------------------------------------------------------------ the model

    async def asks(
        self,
        model: Model,
        messages: list[ModelMessage],
        settings: ModelSettings | None,
        parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """The saved answer at this position, or a new one, saved before it is given."""
        execution, asking = self._execution, self._asking
        if self._decided:  # a saved call may be refused before it is made: it has another form today, or another name
            must_have_met(execution, f"{self._decided}.")
        self._known = frozenset(self._heard)
        kept, added = self._thread.change_to(self._written(messages))

        async def once() -> Answer:
            shown = None if self._cut_off else self._shown(position)
            try:
                with refusals(model.model_name):
                    response = await asked_of(model, messages, settings, parameters, shown)
            except CutOff:
                self._cut_off = True
                raise
            found = SimpleNamespace(usage=response.usage, response=response)
            usage, cost = execution.opened.usage_of(found)
            return Answer(plain_of([response])[0], {"requests": 1} | usage, cost)

        facts = asking.facts(model.model_name)
        given: dict[str, Any] = {"keep": kept, "add": added, "head": self._thread.head}
        name = f"ask {asking.agent}"
        with execution.call(name, self._thread.head) as position:
            if position not in execution.journal.ended:  # a saved answer is given without asking
                given["params"] = await self._params(parameters, settings)
            question = Question(name, asking.agent, self._thread.head, facts, given, once, counted=False)
            try:
                outcome = await answered(execution, position, question)
            finally:
                execution.opened.partials.end(self._run.id)
        self._decided, self._taken = position, set()
        self.context_tokens = outcome.value["usage"].get("input_tokens") or 0
        output = execution.opened.artifacts.whole(outcome.value["output"])
        self._thread.add([output])
        return response_of(output)

    def _written(self, messages: list[ModelMessage]) -> list[dict[str, Any]]:
        """JSON of the messages; a message that was written before is not written anew."""
        for message in messages:
            if id(message) not in self._plain:
                self._plain[id(message)] = (message, plain_of([message])[0])
        written = [self._plain[id(message)] for message in messages]
        self._plain = {id(message): (message, plain) for message, plain in written}
        return [plain for _, plain in written]

    async def _params(self, parameters: ModelRequestParameters, settings: ModelSettings | None) -> dict[str, Any]:
        """What else the model is given: its tools, the form of its output, its instructions, its settings; kept by digest."""
        plain = {
            "request": to_jsonable_python(parameters, serialize_unknown=True, fallback=repr),
            "settings": to_jsonable_python(settings, serialize_unknown=True, fallback=repr),
        }
        text = compact(plain)
        if text not in self._kept:
            save = self._execution.opened.artifacts.save
            artifact = await self._execution.owned(asyncio.to_thread(save, text.encode(), name="model parameters"))
            self._kept = {text: artifact.digest}
        return {"artifact": self._kept[text]}

    def _shown(self, position: str) -> Callable[[str], None]:
        """What has come so far is told to whoever watches: provisional, until the decision is saved."""
        opened, run_id, ask = self._execution.opened, self._run.id, self._execution.journal.asked.get(position, 0)
        return lambda text: opened.partials.publish(run_id, position, text, ask)

    async def compacts(
        self, agent: Agent[Any, Any], messages: list[dict[str, Any]], model: str | None
    ) -> list[dict[str, Any]]:
        """The messages in short: a decision, which later turns begin with. Nothing to tell again: the messages as they are.

        `model` is the one that the conversation asks for; None: the agent's own.
        """
        execution, asking = self._execution, self._asking
        older, newest = split(messages)
        if not older:
            return messages
        summary = summarizer(agent, model)

        async def once() -> Answer:
            with refusals(model_name(summary)):
                result = await summary.run(transcript(older), infer_name=False)
            usage, cost = execution.opened.usage_of(result)
            return Answer({"summary": result.output, "kept": newest}, usage, cost)

        self.begins_with(messages)
        facts = asking.facts(model_name(summary))
        given = {"messages": len(messages), "head": self._thread.head}
        name = f"{COMPACT}{asking.agent}"
        with execution.call(name, self._thread.head) as position:
            question = Question(name, asking.agent, self._thread.head, facts, given, once, counted=False)
            outcome = await answered(execution, position, question)
        return compacted(execution.opened.artifacts.whole(outcome.value["output"]))

    async def news(self) -> list[str]:
        """Before the model is asked: what became of calls of which it heard that their outcome is unknown, and what the user
        has said meanwhile."""
        found = await heard(self._execution, self._heard)
        self._heard |= {record.operation_id for record in found}
        return [self._calls.telling(record) for record in found] + await steers(self._execution)

    # ------------------------------------------------------------------ the tools

    async def reaches(self, what: str, body: Callable[[], Awaitable[T]]) -> T:
        """What the body gives; tried again, as the budget allows, where a server cannot be reached now."""
        return await patiently(self._execution, f"{what} of {self._asking.agent}", body, final=(UserError,))

    async def calls(
        self, name: str, arguments: dict[str, Any], call_id: str | None, response: ModelResponse, part: Tool
    ) -> Any:
        """What the tool gives, at the position of its call in the newest decision. Raises ModelRetry, ToolFailed."""
        index = self._index(name, call_id, response)
        prefix = f"{self._decided}.{index}."
        return await self._beside.run(prefix, self._calls.called(name, arguments, part), self._known)

    def _index(self, name: str, call_id: str | None, response: ModelResponse) -> int:
        """Which of the answer's calls this is. Two calls under one id are told apart by their order."""
        numbered = list(enumerate(response.tool_calls))
        fits = [n for n, call in numbered if call.tool_call_id == call_id and n not in self._taken]
        fits = fits or [n for n, call in numbered if call.tool_name == name and n not in self._taken]
        index = fits[0] if fits else len(numbered) + len(self._taken)
        self._taken.add(index)
        return index
