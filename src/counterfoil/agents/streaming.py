"""Ask a model in pieces where it can: what has come so far is shown as provisional, and only the whole is a decision."""

from collections.abc import Callable

from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ModelMessage, ModelResponse, PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings


async def asked_of(
    model: Model,
    messages: list[ModelMessage],
    settings: ModelSettings | None,
    parameters: ModelRequestParameters,
    shown: Callable[[str], None],
) -> ModelResponse:
    """The whole answer. `shown` is told each piece of its text, in order."""
    begun = False
    try:
        async with model.request_stream(messages, settings, parameters) as answer:
            begun = True
            async for piece in answer:
                if isinstance(piece, PartStartEvent) and isinstance(piece.part, TextPart):
                    shown(piece.part.content)
                elif isinstance(piece, PartDeltaEvent) and isinstance(piece.delta, TextPartDelta):
                    shown(piece.delta.content_delta)
            return answer.get()
    except (NotImplementedError, AssertionError, UserError):
        # So a model says that it cannot stream: its base class, one made of a function, and a setting that does not fit. It says
        # so before it asks anybody; once pieces have come, it is a failure like any other.
        if begun:
            raise
        return await model.request(messages, settings, parameters)
