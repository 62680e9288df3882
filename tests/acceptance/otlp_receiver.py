"""A receiver of OTLP over HTTP in this process: it decodes the real protobuf, and may hang or refuse."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Status


@dataclass(frozen=True)
class Seen:
    """One span, as it came over the wire."""

    name: str
    trace: str
    id: str
    parent: str
    start: int
    end: int
    attributes: dict[str, Any]
    is_error: bool
    message: str
    events: tuple[str, ...]


@dataclass
class Receiver:
    """``status``: what it answers; ``hangs``: until it is closed it answers nothing at all."""

    status: int = 200
    hangs: bool = False
    address: str = ""
    spans: list[Seen] = field(default_factory=list)
    resources: list[dict[str, Any]] = field(default_factory=list)
    points: list[tuple[str, dict[str, Any], float]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)

    def named(self, name: str) -> list[Seen]:
        return [span for span in self.spans if span.name == name]

    def one(self, name: str) -> Seen:
        (span,) = self.named(name)
        return span

    def totals(self, name: str) -> dict[str, float]:
        """The last value of each series, by its labels besides the common ones."""
        common = {"ralph.project", "ralph.profile", "gen_ai.agent.name"}
        return {
            " ".join(str(labels[key]) for key in sorted(labels) if key not in common): value
            for metric, labels, value in self.points
            if metric == name
        }

    def take(self, path: str, body: bytes) -> None:
        if path.endswith("/v1/traces"):
            traces = ExportTraceServiceRequest.FromString(body)
            for resource in traces.resource_spans:
                self.resources.append(_plain(resource.resource.attributes))
                for scope in resource.scope_spans:
                    self.spans += map(_seen, scope.spans)
        elif path.endswith("/v1/metrics"):
            metrics = ExportMetricsServiceRequest.FromString(body)
            for measured in metrics.resource_metrics:
                for each in (metric for scope in measured.scope_metrics for metric in scope.metrics):
                    for point in each.sum.data_points:
                        value = point.as_double or point.as_int
                        self.points.append((each.name, _plain(point.attributes), value))
                    for bucket in each.histogram.data_points:
                        self.points.append((each.name, _plain(bucket.attributes), bucket.sum))


@contextmanager
def receiving(*, status: int = 200, hangs: bool = False) -> Iterator[Receiver]:
    receiver = Receiver(status, hangs)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.requests.append(self.path)
            receiver.headers.append(dict(self.headers))
            if receiver.hangs:
                receiver.closing.wait(120)
                return
            if receiver.status == 200:
                receiver.take(self.path, body)
            self.send_response(receiver.status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    receiver.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield receiver
    finally:
        receiver.closing.set()
        server.shutdown()
        thread.join(timeout=60)
        server.server_close()


def _seen(span: Any) -> Seen:
    return Seen(
        name=span.name,
        trace=span.trace_id.hex(),
        id=span.span_id.hex(),
        parent=span.parent_span_id.hex(),
        start=span.start_time_unix_nano,
        end=span.end_time_unix_nano,
        attributes=_plain(span.attributes),
        is_error=span.status.code == Status.STATUS_CODE_ERROR,
        message=span.status.message,
        events=tuple(event.name for event in span.events),
    )


def _plain(pairs: Any) -> dict[str, Any]:
    return {pair.key: _value(pair.value) for pair in _typed(pairs)}


def _typed(pairs: Any) -> Iterator[KeyValue]:
    yield from pairs


def _value(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(each) for each in value.array_value.values]
    return getattr(value, kind) if kind else None
