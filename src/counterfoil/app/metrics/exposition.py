"""Prometheus: the same reading as text, for whoever scrapes `/metrics`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from counterfoil.app.metrics.values import Histogram, Reading
from counterfoil.model.errors import CounterfoilError
from counterfoil.model.metrics import MetricKind

if TYPE_CHECKING:
    from counterfoil.app.application import App

INSTALL = "Install it: `pip install 'counterfoil[console]'`."


def exposition(app: "App") -> tuple[bytes, str]:
    """(body, content type). Raises CounterfoilError(tool_missing) without prometheus-client."""
    try:
        from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, CollectorRegistry, generate_latest
    except ModuleNotFoundError as problem:
        raise CounterfoilError("tool_missing", tool="prometheus-client", install=INSTALL) from problem
    readings = app.metrics.readings()

    class Here:
        """Collected once, by the registry of this one answer: nothing is global."""

        def collect(self) -> Iterator[Any]:
            return map(_family, readings)

    registry = CollectorRegistry(auto_describe=False)
    registry.register(Here())  # type: ignore[arg-type]  # a collector is whatever has `collect`
    return generate_latest(registry), CONTENT_TYPE_PLAIN_0_0_4


def _family(reading: Reading) -> Any:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

    metric = reading.metric
    labels = list(metric.labels)
    if metric.kind is MetricKind.GAUGE:
        family: Any = GaugeMetricFamily(metric.full_name, metric.help, labels=labels)
    elif metric.kind is MetricKind.COUNTER:
        family = CounterMetricFamily(metric.full_name, metric.help, labels=labels)
    else:
        family = HistogramMetricFamily(metric.full_name, metric.help, labels=labels)
    for value in reading.values:
        given = [value.labels[name] for name in labels]
        if isinstance(value.number, Histogram):
            family.add_metric(given, buckets=value.number.upto(metric.bounds), sum_value=value.number.total)
        else:
            family.add_metric(given, value.number)
    return family
