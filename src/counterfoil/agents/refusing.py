"""A provider that refuses a request, and would refuse it again: a wrong key, a model that it does not know, a bad request."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import cast

from pydantic_ai.exceptions import ModelHTTPError

from counterfoil.engine.asking import NotAnswered
from counterfoil.engine.failures import said
from counterfoil.model.errors import StepFailed

MODEL_REFUSED = "model_refused"
# Timed out, in conflict, too early, too many: the same request may be answered a little later.
_PASSING = frozenset({408, 409, 425, 429})


@contextmanager
def refusals(model: str | None) -> Generator[None]:
    """Around one request. Raises NotAnswered for an answer that another try does not change; all else as it comes."""
    try:
        yield
    except Exception as problem:
        if not is_final(problem):
            raise
        sentence = f"The provider of {model or 'the model'} refuses what it is asked. {said(problem)}"
        raise NotAnswered(StepFailed(MODEL_REFUSED, sentence)) from problem


def is_final(problem: BaseException) -> bool:
    """Whether the provider would say the same again; of several, which a chain of models tried, whether each would."""
    if isinstance(problem, BaseExceptionGroup):
        return all(is_final(each) for each in cast("BaseExceptionGroup[BaseException]", problem).exceptions)
    return (
        isinstance(problem, ModelHTTPError) and 400 <= problem.status_code < 500 and problem.status_code not in _PASSING
    )
