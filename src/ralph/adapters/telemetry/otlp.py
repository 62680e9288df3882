"""Sends spans and measurements to an OTLP receiver with the OpenTelemetry SDK, in threads of its own.

Whatever the receiver does, or does not, never slows or ends a run: queues are bounded and drop what is too much, and
the SDK's log goes nowhere but into the one warning.
"""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from importlib.metadata import PackageNotFoundError, version
from typing import Any
from urllib.parse import urlsplit

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.metrics import Counter, Histogram
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricExportResult, MetricsData, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

from ralph.adapters.telemetry.short_answers import ShortAnswers
from ralph.domain.telemetry import conventions as names
from ralph.domain.telemetry.destination import HEADERS, Destination
from ralph.domain.telemetry.identity import Place
from ralph.domain.telemetry.measurements import METRICS, Measurement
from ralph.domain.telemetry.span import Span
from ralph.domain.text.safe_text import clean_line

TIMEOUT = 5.0
"""Seconds for one request and its repetitions, unless OTEL_EXPORTER_OTLP_TIMEOUT says otherwise."""
SPANS_EVERY = 1000
METRICS_EVERY = 15_000
"""Milliseconds, unless OTEL_BSP_SCHEDULE_DELAY and OTEL_METRIC_EXPORT_INTERVAL say otherwise."""
NOT_TAKEN = ("code: 404", "code: 405", "code: 501")
"""A receiver that answers so has no metrics: many take spans only."""
_SECONDS_BUCKETS = (1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 1800.0, 3600.0, 7200.0)
_TOKEN_BUCKETS = (
    1.0,
    4.0**2,
    4.0**4,
    4.0**5,
    4.0**6,
    4.0**7,
    4.0**8,
    4.0**9,
    4.0**10,
    4.0**11,
    4.0**12,
    4.0**13,
)


_open: dict[Destination, Sender] = {}


def borrow_sender(destination: Destination, *, instance: str, complain: Callable[[str], None]) -> Sender:
    """One for all runs of this process: a run of runs waits for the receiver once, at its end. Give it back."""
    sender = _open.get(destination)
    if sender is None:
        sender = _open[destination] = Sender(destination, instance=instance, complain=complain)
    sender.users += 1
    return sender


class Sender:
    """``complain`` is called once at most, from any thread, when something could not be sent."""

    def __init__(self, destination: Destination, *, instance: str, complain: Callable[[str], None]) -> None:
        self.users = 0
        self._destination = destination
        self._complain = complain
        self._lock = threading.Lock()
        self._has_complained = False
        self._log = _Overheard()
        logging.getLogger("opentelemetry").addHandler(self._log)
        self._scope = InstrumentationScope("ralph", _version())
        self._resource = _resource(instance)
        with nullcontext() if destination.takes_headers else _without_headers():
            self._spans = self._span_processor(destination.traces) if destination.traces else None
            self._meters = self._meter_provider(destination.metrics) if destination.metrics else None
        self._counters: dict[str, Counter] = {}
        self._histograms: dict[str, Histogram] = {}
        if self._meters is not None:
            self._make_instruments(self._meters)

    # --- what is sent ---

    def send(self, span: Span, place: Place) -> None:
        if self._spans is not None:
            self._spans.on_end(self._readable(span, place))

    def count(self, measured: Measurement, labels: Mapping[str, str]) -> None:
        if counter := self._counters.get(measured.metric.name):
            counter.add(
                measured.value, {**labels, **{f"ralph.{name}": value for name, value in measured.labels}}
            )

    def observe(self, name: str, value: float, attributes: Mapping[str, str]) -> None:
        if histogram := self._histograms.get(name):
            histogram.record(value, attributes)

    def give_back(self) -> bool:
        """Whether nobody else uses it, so that it is to be finished."""
        self.users -= 1
        if self.users == 0:
            del _open[self._destination]
        return self.users == 0

    def finish(self) -> None:
        """Send what is left; blocks until the receiver has answered or its time is over."""
        ends = [each.shutdown for each in (self._spans, self._meters) if each is not None]
        threads = [threading.Thread(target=end, daemon=True) for end in ends]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        logging.getLogger("opentelemetry").removeHandler(self._log)

    def warn(self, why: str, address: str = "") -> None:
        with self._lock:
            if self._has_complained:
                return
            self._has_complained = True
        where = _host(address or self._destination.traces or self._destination.metrics)
        self._complain(f"telemetry could not be sent to {where}: {why}; the run is not affected")

    # --- the SDK ---

    def _span_processor(self, address: str) -> BatchSpanProcessor:
        sender = self

        class Exporter(OTLPSpanExporter):
            def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
                result = super().export(spans)
                if result is not SpanExportResult.SUCCESS:
                    sender.warn(_reason(sender._log.last), address)
                return result

        timeout = _timeout("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT")
        exporter = Exporter(endpoint=address, timeout=timeout, session=ShortAnswers())
        delay = None if os.environ.get("OTEL_BSP_SCHEDULE_DELAY") else SPANS_EVERY
        return BatchSpanProcessor(exporter, schedule_delay_millis=delay)

    def _meter_provider(self, address: str) -> MeterProvider:
        sender = self

        class Exporter(OTLPMetricExporter):
            def export(
                self, metrics_data: MetricsData, timeout_millis: float | None = 10_000, **more: Any
            ) -> MetricExportResult:
                result = super().export(metrics_data, timeout_millis or 10_000, **more)
                said = sender._log.last
                if result is not MetricExportResult.SUCCESS and not any(code in said for code in NOT_TAKEN):
                    sender.warn(_reason(said), address)
                return result

        timeout = _timeout("OTEL_EXPORTER_OTLP_METRICS_TIMEOUT")
        exporter = Exporter(endpoint=address, timeout=timeout, session=ShortAnswers())
        every = None if os.environ.get("OTEL_METRIC_EXPORT_INTERVAL") else METRICS_EVERY
        reader = PeriodicExportingMetricReader(exporter, export_interval_millis=every)
        return MeterProvider([reader], resource=self._resource, shutdown_on_exit=False)

    def _make_instruments(self, provider: MeterProvider) -> None:
        meter = provider.get_meter("ralph", self._scope.version)
        for metric in METRICS:
            self._counters[metric.name] = meter.create_counter(metric.name, metric.unit, metric.help)
        self._histograms[names.TOKEN_USAGE] = meter.create_histogram(
            names.TOKEN_USAGE,
            "{token}",
            "Tokens that a session used.",
            explicit_bucket_boundaries_advisory=_TOKEN_BUCKETS,
        )
        self._histograms[names.OPERATION_DURATION] = meter.create_histogram(
            names.OPERATION_DURATION,
            "s",
            "How long a session took.",
            explicit_bucket_boundaries_advisory=_SECONDS_BUCKETS,
        )

    def _readable(self, span: Span, place: Place) -> ReadableSpan:
        flags = TraceFlags(TraceFlags.SAMPLED if place.is_sampled else TraceFlags.DEFAULT)
        trace_id = int(place.trace_id, 16)
        parent = None
        if span.parent_id:
            parent = SpanContext(
                trace_id, int(span.parent_id, 16), is_remote=span.parent_id == place.parent_id
            )
        attributes = dict(span.attributes)
        if span.error:
            attributes[names.ERROR_TYPE] = span.error
        return ReadableSpan(
            name=span.name,
            context=SpanContext(trace_id, int(span.id, 16), is_remote=False, trace_flags=flags),
            parent=parent,
            resource=self._resource,
            attributes=attributes,
            events=[Event(each.name, dict(each.attributes), _nanoseconds(each.at)) for each in span.moments],
            kind=SpanKind.INTERNAL,
            status=Status(StatusCode.ERROR, span.message or span.error) if span.error else Status(),
            start_time=_nanoseconds(span.start),
            end_time=_nanoseconds(span.end),
            instrumentation_scope=self._scope,
        )


class _Overheard(logging.Handler):
    """The SDK says why something failed only in its log. With this handler there, none of it reaches the console.

    ``last``: of this thread, for spans and metrics are sent at the same time.
    """

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._heard = threading.local()

    @property
    def last(self) -> str:
        return str(getattr(self._heard, "last", ""))

    def emit(self, record: logging.LogRecord) -> None:
        self._heard.last = record.getMessage()


@contextmanager
def _without_headers() -> Iterator[None]:
    """The SDK adds those of the environment to any that it is given, when an exporter is made."""
    hidden = {name: os.environ.pop(name) for name in HEADERS if name in os.environ}
    try:
        yield
    finally:
        os.environ.update(hidden)


def _reason(said: str) -> str:
    """Why, by what the SDK said in its log: its sentences are for those who write exporters."""
    if status := re.search(r"code: (\d{3})\b", said):
        return f"the receiver answers with status {status[1]}"
    return "nothing took it in time" if "timeout" in said else "the receiver did not take it"


def _host(address: str) -> str:
    """Without the path, and without what may be secret: a user's name, a query."""
    parts = urlsplit(address)
    return clean_line(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}")


def _resource(instance: str) -> Resource:
    """OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES say it otherwise."""
    given = Resource.create().attributes
    own = {"service.version": _version(), "service.instance.id": instance}
    name = {} if "service.name" in _named_by_user() else {"service.name": "ralph"}
    return Resource({**given, **own, **name, **{key: given[key] for key in _named_by_user() if key in given}})


def _version() -> str:
    try:
        return version("ralph-harness")
    except PackageNotFoundError:  # a checkout that is not installed
        return ""


def _named_by_user() -> set[str]:
    pairs = os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "").split(",")
    named = {pair.partition("=")[0].strip() for pair in pairs}
    return named | {"service.name"} if os.environ.get("OTEL_SERVICE_NAME") else named


def _timeout(signal: str) -> float | None:
    return None if os.environ.get(signal) or os.environ.get("OTEL_EXPORTER_OTLP_TIMEOUT") else TIMEOUT


def _nanoseconds(seconds: float) -> int:
    return int(seconds * 1e9)
