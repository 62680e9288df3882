"""Where telemetry goes: what the settings and the standard variables of OpenTelemetry ask for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ralph.values import dataclass

ENDPOINT: Final = "OTEL_EXPORTER_OTLP_ENDPOINT"
TRACES_ENDPOINT: Final = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
METRICS_ENDPOINT: Final = "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"
DISABLED: Final = "OTEL_SDK_DISABLED"
HEADERS: Final = (
    "OTEL_EXPORTER_OTLP_HEADERS",
    "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
    "OTEL_EXPORTER_OTLP_METRICS_HEADERS",
)
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")


@dataclass(frozen=True, slots=True)
class Destination:
    """``traces`` and ``metrics`` are whole addresses; empty: not sent. ``problem``: why nothing is sent, though it was asked for.

    ``takes_headers``: those of the environment, which hold the user's keys.
    """

    traces: str = ""
    metrics: str = ""
    is_by_settings: bool = False
    takes_headers: bool = True
    problem: str = ""

    @property
    def is_wanted(self) -> bool:
        return bool(self.traces or self.metrics)


def is_asked(address: str, environ: Mapping[str, str]) -> bool:
    """Asked at the start of every run: a look at a few names."""
    return bool(address) or any(environ.get(name) for name in (ENDPOINT, TRACES_ENDPOINT, METRICS_ENDPOINT))


def destination_of(address: str, environ: Mapping[str, str], *, is_projects: bool = False) -> Destination:
    """``address``: by the settings. The environment's is taken first: its headers are meant for it.

    ``is_projects``: a repository names the address, which must not get the user's keys.
    """
    if environ.get(DISABLED, "").strip().lower() == "true":
        return Destination()
    whole = environ.get(ENDPOINT, "").strip()
    traces, metrics = environ.get(TRACES_ENDPOINT, "").strip(), environ.get(METRICS_ENDPOINT, "").strip()
    by_settings = not (whole or traces or metrics)
    if by_settings:
        whole = address
    elif (
        protocol := next(filter(None, map(environ.get, _PROTOCOLS)), "")
    ) and protocol.strip() != "http/protobuf":
        return Destination(
            problem=f"OTEL_EXPORTER_OTLP_PROTOCOL is {protocol}, and ralph sends http/protobuf only"
        )
    traces = traces or _signal(whole, "v1/traces")
    metrics = metrics or _signal(whole, "v1/metrics")
    found = Destination(
        traces if environ.get("OTEL_TRACES_EXPORTER", "").strip() != "none" else "",
        metrics if environ.get("OTEL_METRICS_EXPORTER", "").strip() != "none" else "",
        is_by_settings=by_settings,
        takes_headers=not (by_settings and is_projects),
    )
    wrong = next((each for each in (found.traces, found.metrics) if each and not is_address(each)), "")
    return Destination(problem="the OTLP endpoint is not an http(s) address") if wrong else found


def is_address(text: str) -> bool:
    scheme, _, rest = text.partition("://")
    return scheme in ("http", "https") and bool(rest.strip("/")) and not any(map(str.isspace, text))


def header_values(environ: Mapping[str, str]) -> frozenset[str]:
    """What the headers for a receiver say: mostly keys, which must not appear anywhere."""
    given = ",".join(filter(None, map(environ.get, HEADERS)))
    if not given:
        return frozenset()
    from urllib.parse import unquote

    values = {pair.partition("=")[2].strip() for pair in given.split(",")} - {""}
    plain = set(map(unquote, values))
    return frozenset(
        values | plain | {value.rpartition(" ")[2] for value in plain}
    )  # "Bearer …" is said without it too


def _signal(whole: str, path: str) -> str:
    return f"{whole.rstrip('/')}/{path}" if whole else ""
