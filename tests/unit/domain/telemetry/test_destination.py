"""Where telemetry goes."""

from __future__ import annotations

import pytest

from ralph.domain.telemetry.destination import Destination, destination_of, header_values, is_asked

ENV = "OTEL_EXPORTER_OTLP_ENDPOINT"
HERE = "http://127.0.0.1:4318"


@pytest.mark.parametrize(
    ("address", "environ", "found"),
    [
        ("", {}, Destination(is_by_settings=True)),
        (HERE, {}, Destination(f"{HERE}/v1/traces", f"{HERE}/v1/metrics", is_by_settings=True)),
        (f"{HERE}/", {}, Destination(f"{HERE}/v1/traces", f"{HERE}/v1/metrics", is_by_settings=True)),
        ("", {ENV: HERE}, Destination(f"{HERE}/v1/traces", f"{HERE}/v1/metrics")),
        ("http://other", {ENV: HERE}, Destination(f"{HERE}/v1/traces", f"{HERE}/v1/metrics")),
        ("http://other", {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"{HERE}/x"}, Destination(f"{HERE}/x")),
        ("", {ENV: HERE, "OTEL_METRICS_EXPORTER": "none"}, Destination(f"{HERE}/v1/traces")),
        ("", {ENV: HERE, "OTEL_TRACES_EXPORTER": "none"}, Destination("", f"{HERE}/v1/metrics")),
        (HERE, {"OTEL_SDK_DISABLED": "True"}, Destination()),
        ("", {ENV: HERE, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, Destination(f"{HERE}/v1/traces", f"{HERE}/v1/metrics")),
    ],
)  # fmt: skip
def test_where_it_goes(address: str, environ: dict[str, str], found: Destination) -> None:
    assert destination_of(address, environ) == found
    assert is_asked(address, environ) or not found.is_wanted


def test_the_headers_of_the_user_go_to_no_address_of_a_project() -> None:
    assert not destination_of(HERE, {}, is_projects=True).takes_headers
    assert destination_of(HERE, {}).takes_headers
    assert destination_of("http://other", {ENV: HERE}, is_projects=True).takes_headers


@pytest.mark.parametrize(
    "environ", [{ENV: "host:4318"}, {ENV: "http://"}, {ENV: HERE, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}]
)
def test_what_cannot_be_used_is_a_problem_and_no_destination(environ: dict[str, str]) -> None:
    found = destination_of("", environ)
    assert found.problem
    assert not found.is_wanted


def test_the_values_of_headers_in_every_form() -> None:
    environ = {"OTEL_EXPORTER_OTLP_HEADERS": "a=plain-key, authorization=Bearer%20the-key,empty="}
    assert header_values(environ) == {"plain-key", "Bearer%20the-key", "Bearer the-key", "the-key"}
    assert header_values({}) == frozenset()
