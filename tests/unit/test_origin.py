"""A run whose function is executed on Temporal: its request id names the workflow there."""

import pytest

from counterfoil.model.origin import MARK, Origin


@pytest.mark.parametrize("workflow_id", ["refund-1", "eu/refunds/1", "", "ä b"])
def test_the_request_id_gives_the_origin_back(workflow_id: str) -> None:
    origin = Origin("default", workflow_id, "0198-first")
    assert origin.request_id == f"default/{workflow_id}/0198-first"
    assert Origin.of(f"refund{MARK}", origin.request_id) == origin


def test_a_run_of_ours_has_none_whatever_its_request_id() -> None:
    assert Origin.of("refund", "default/refund-1/0198-first") is None
