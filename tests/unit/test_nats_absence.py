"""When a message that a NATS stream does not show was never in it."""

from types import SimpleNamespace
from typing import Any

import pytest

from counterfoil.connectors import nats

WHOLE: dict[str, Any] = {
    "retention": "limits", "max_age": 0.0, "max_msgs": -1, "max_bytes": -1, "max_msgs_per_subject": -1,
    "subject_transform": None, "first_seq": 1, "num_deleted": 0, "deleted": None,
}  # fmt: skip


def info(**changed: Any) -> Any:
    said = WHOLE | changed
    return SimpleNamespace(config=SimpleNamespace(**said), state=SimpleNamespace(**said))


def test_a_stream_that_drops_nothing_has_all() -> None:
    assert nats._has_all(info())
    assert nats._has_all(info(first_seq=0, num_deleted=None)), "nothing was published yet"


@pytest.mark.parametrize(
    "changed",
    [
        {"retention": "workqueue"},
        {"retention": "interest"},
        {"max_age": 60.0},
        {"max_msgs": 10},
        {"max_bytes": 10_000},
        {"max_msgs_per_subject": 1},
        {"subject_transform": object()},
        {"first_seq": 7},
        {"num_deleted": 1},
        {"deleted": [3]},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_what_takes_messages_away_makes_absence_no_proof(changed: dict[str, Any]) -> None:
    assert not nats._has_all(info(**changed))
