"""The catalogue of metrics: each has its name, one line of help, and says what it does not count."""

import pytest

from counterfoil.model.metrics import BY_NAME, METRICS, Metric, MetricKind


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_a_metric_says_what_it_is_and_what_it_is_not(metric: Metric) -> None:
    assert metric.full_name == f"counterfoil_{metric.name}" and BY_NAME[metric.name] is metric
    assert metric.help == f"{metric.definition} Not counted: {metric.does_not_count}"
    assert "\n" not in metric.help and metric.help.endswith(".")
    assert metric.of in ("installation", "process")


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_its_name_follows_its_kind(metric: Metric) -> None:
    assert metric.name.endswith("_total") == (metric.kind is MetricKind.COUNTER)
    assert bool(metric.bounds) == (metric.kind is MetricKind.HISTOGRAM)
    assert metric.bounds == tuple(sorted(set(metric.bounds)))
    assert not {"run", "run_id", "operation_id", "person"} & set(metric.labels), "labels are bounded"


def test_no_two_have_one_name() -> None:
    assert len(BY_NAME) == len(METRICS)
