"""Ask a model in pieces where it can: what has come so far is shown as provisional, and only the whole is a decision.

A stream that was cut off ends like one that is whole. Only the provider's reason for its end tells them apart: without one,
half a tool call would be acted on. It is a failed try then, and the next one asks for the whole in one piece, where a cut body
is an error of the transport; so a provider that gives no reason is still understood.
"""

import sys
from collections.abc import Callable, Iterator

from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ModelMessage, ModelResponse, PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

_WITHIN = frozenset({"function", "test"})  # models of this process, whose streams nothing cuts off; they give no reason


class CutOff(Exception):
    """The stream ended, and the provider did not say that the answer was over."""


async def asked_of(
    model: Model,
    messages: list[ModelMessage],
    settings: ModelSettings | None,
    parameters: ModelRequestParameters,
    shown: Callable[[str], None] | None,
) -> ModelResponse:
    """The whole answer. `shown` is told each piece of its text, in order; None asks for all of it in one piece.

    Raises CutOff, and what the model raises.
    """
    if shown is None:
        return await model.request(messages, settings, parameters)
    begun = False
    try:
        async with model.request_stream(messages, settings, parameters) as answer:
            begun = True
            async for piece in answer:
                if isinstance(piece, PartStartEvent) and isinstance(piece.part, TextPart):
                    shown(piece.part.content)
                elif isinstance(piece, PartDeltaEvent) and isinstance(piece.delta, TextPartDelta):
                    shown(piece.delta.content_delta)
            whole = answer.get()
            if not _is_over(model, whole):
                raise CutOff(f"the stream of {model.model_name} ended without saying that its answer was over")
            return whole
    except (NotImplementedError, AssertionError, UserError):
        # So a model says that it cannot stream: its base class, one made of a function, and a setting that does not fit. It says
        # so before it asks anybody; once pieces have come, it is a failure like any other.
        if begun:
            raise
        return await model.request(messages, settings, parameters)


def _is_over(model: Model, answer: ModelResponse) -> bool:
    """Whether the provider said that its answer was over. The chat protocol's reason is `stop` where none came, as Pydantic AI
    reads it (2.68): what the provider itself said stands beside it."""
    asked = list(_asked(model))
    if all(each.system in _WITHIN for each in asked):
        return True
    # Not imported here: that is slow, and where nobody has imported it no model is of it.
    chat = sys.modules.get("pydantic_ai.models.openai")
    if chat is not None and any(isinstance(each, chat.OpenAIChatModel) for each in asked):
        return bool((answer.provider_details or {}).get("finish_reason"))
    return answer.finish_reason is not None


def _asked(model: Model) -> Iterator[Model]:
    """The models behind one that wraps them, or falls back on them."""
    if isinstance(model, WrapperModel):
        yield from _asked(model.wrapped)
    elif isinstance(model, FallbackModel):
        for each in model.models:
            yield from _asked(each)
    else:
        yield model
