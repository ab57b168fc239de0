"""Spans and metrics as OpenTelemetry sends them: over HTTP, with nothing global. The extra `otel` is needed here alone."""

from collections.abc import Sequence
from typing import Any

from counterfoil.app.metrics.values import Histogram, Reading
from counterfoil.app.tracing.span import Span
from counterfoil.model.errors import CounterfoilError
from counterfoil.model.metrics import MetricKind

INSTALL = "Install it: `pip install 'counterfoil[otel]'`."
NAME = "counterfoil"
UNITS = {"seconds": "s", "USD": "USD"}


class Otlp:
    """Sends to one collector. Raises CounterfoilError(tool_missing) without the extra.

    `endpoint` is the collector's address, as OTEL_EXPORTER_OTLP_ENDPOINT; the paths of the signals are put behind it. Headers,
    timeouts and certificates are read from the standard OTEL_ variables by the exporters themselves.
    """

    def __init__(self, endpoint: str, service: str, instance: str, began_us: int) -> None:
        try:
            from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.util.instrumentation import InstrumentationScope
        except ModuleNotFoundError as problem:
            raise CounterfoilError("tool_missing", tool=str(problem.name), install=INSTALL) from problem
        base = endpoint.rstrip("/")
        self._spans: Any = OTLPSpanExporter(endpoint=f"{base}/v1/traces")
        self._metrics: Any = OTLPMetricExporter(endpoint=f"{base}/v1/metrics")
        self._resource = Resource({"service.name": service, "service.instance.id": instance})
        self._scope = InstrumentationScope(NAME)
        self._began_ns = began_us * 1000

    def send_spans(self, spans: Sequence[Span]) -> bool:
        """Blocks until the collector has taken them. False when it did not."""
        from opentelemetry.sdk.trace.export import SpanExportResult

        return self._spans.export([self._span(span) for span in spans]) is SpanExportResult.SUCCESS

    def send_metrics(self, readings: Sequence[Reading], now_us: int) -> bool:
        """Blocks until the collector has taken them. False when it did not."""
        from opentelemetry.sdk.metrics.export import MetricExportResult, MetricsData, ResourceMetrics, ScopeMetrics

        told = [self._metric(reading, now_us * 1000) for reading in readings]
        scope = ScopeMetrics(scope=self._scope, metrics=told, schema_url="")
        data = MetricsData([ResourceMetrics(resource=self._resource, scope_metrics=[scope], schema_url="")])
        return self._metrics.export(data) is MetricExportResult.SUCCESS

    def close(self) -> None:
        """Let go of the connections."""
        self._spans.shutdown()
        self._metrics.shutdown()

    def _span(self, span: Span) -> Any:
        from opentelemetry.sdk.trace import ReadableSpan
        from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags

        def context(ident: int) -> SpanContext:
            return SpanContext(span.trace_id, ident, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))

        facts = dict(span.attributes) | ({} if span.error is None else {"error.type": span.error})
        return ReadableSpan(
            name=span.name, context=context(span.span_id), parent=None if span.parent_id is None else context(span.parent_id),
            resource=self._resource, attributes=facts, links=[Link(context(link)) for link in span.links],
            kind=SpanKind.CLIENT if span.calls else SpanKind.INTERNAL,
            status=Status(StatusCode.UNSET if span.error is None else StatusCode.ERROR),
            start_time=span.began_at * 1000, end_time=span.ended_at * 1000, instrumentation_scope=self._scope,
        )  # fmt: skip

    def _metric(self, reading: Reading, now: int) -> Any:
        from opentelemetry.sdk.metrics import export as otel

        metric = reading.metric
        always = otel.AggregationTemporality.CUMULATIVE
        points: list[Any] = []
        for value in reading.values:
            if isinstance(value.number, Histogram):
                points.append(
                    otel.HistogramDataPoint(
                        attributes=dict(value.labels), start_time_unix_nano=self._began_ns, time_unix_nano=now,
                        count=value.number.count, sum=value.number.total, bucket_counts=value.number.counts,
                        explicit_bounds=metric.bounds, min=None, max=None,  # type: ignore[arg-type]  # not known
                    )
                )  # fmt: skip
            else:
                begun = None if metric.kind is MetricKind.GAUGE else self._began_ns
                points.append(otel.NumberDataPoint(dict(value.labels), begun, now, value.number))  # type: ignore[arg-type]
        data: Any = otel.Gauge(points)
        if metric.kind is MetricKind.COUNTER:
            data = otel.Sum(points, always, is_monotonic=True)
        elif metric.kind is MetricKind.HISTOGRAM:
            data = otel.Histogram(points, always)
        unit = UNITS.get(metric.unit, f"{{{metric.unit}}}")
        return otel.Metric(name=metric.full_name, description=metric.help, unit=unit, data=data)
