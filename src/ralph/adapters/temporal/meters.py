"""Figures of a worker for Prometheus, beside those that Temporal's own library has."""

from __future__ import annotations

from temporalio.common import MetricMeter
from temporalio.runtime import PrometheusConfig, Runtime, TelemetryConfig

from ralph.domain.fleet.shift import Beat, ShiftEnd, ShiftOrder
from ralph.domain.loop.handover import Want


def make_runtime(metrics: str) -> Runtime:
    """One that serves figures at this address, such as ``127.0.0.1:9464``; the library itself says nothing on the console."""
    return Runtime(telemetry=TelemetryConfig(logging=None, metrics=PrometheusConfig(bind_address=metrics)))


class Meters:
    def __init__(self, meter: MetricMeter) -> None:
        self._shifts = meter.create_counter("ralph_shifts", "Shifts that ended, by what comes next")
        self._iterations = meter.create_counter("ralph_iterations", "Sessions that were judged")
        # Temporal's counters are whole numbers.
        self._cost = meter.create_counter("ralph_cost_microdollars", "Money that sessions have spent")
        self._waits = meter.create_counter("ralph_waits", "Waits that jobs were sent into")
        self._running = meter.create_gauge("ralph_sessions_running", "Shifts under way on this worker")
        self._now_running = 0

    def begin_shift(self) -> None:
        self._now_running += 1
        self._running.set(self._now_running)

    def end_shift(self) -> None:
        self._now_running -= 1
        self._running.set(self._now_running)

    def count_end(self, order: ShiftOrder, beat: Beat, end: ShiftEnd) -> None:
        if end.turn <= order.turn:
            return
        self._shifts.add(1, {"next": end.outcome or end.want})
        if end.decision:
            self._iterations.add(1, {"decision": end.decision})
        self._cost.add(round(beat.cost * 1_000_000))
        if end.want == Want.WAIT:
            self._waits.add(1)
