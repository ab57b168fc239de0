"""A collector on loopback: it takes OTLP over HTTP, decodes it, and remembers. `refusing` answers 400, for ever."""

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


class Collector:
    """What has arrived, in order."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.metrics: list[dict[str, Any]] = []
        self.bodies: list[bytes] = []
        self.refusing = False
        self.url = ""

    def take(self, path: str, body: bytes) -> None:
        self.bodies.append(body)
        if path == "/v1/traces":
            request = ExportTraceServiceRequest.FromString(body)
            self.spans += [s for r in request.resource_spans for scope in r.scope_spans for s in scope.spans]
        else:
            told = ExportMetricsServiceRequest.FromString(body)
            found = [m for r in told.resource_metrics for scope in r.scope_metrics for m in scope.metrics]
            self.metrics.append({metric.name: metric for metric in found})

    def ids(self) -> list[str]:
        return [span.span_id.hex() for span in self.spans]

    def named(self, name: str) -> list[Any]:
        return [span for span in self.spans if span.name == name]


def facts_of(span: Any) -> dict[str, Any]:
    """A span's attributes as plain values."""
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in span.attributes}


@contextmanager
def collecting() -> Iterator[Collector]:
    """A collector while the block is open."""
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            if not collector.refusing:
                collector.take(self.path, body)
            self.send_response(400 if collector.refusing else 200)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            del format, args

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        collector.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield collector
        finally:
            server.shutdown()
            thread.join()
