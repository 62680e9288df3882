"""The settings of telemetry: where it goes, and whether the texts go too."""

from __future__ import annotations

from typing import cast

from ralph.config.kinds import Reading, Text, YesNo, setting
from ralph.config.untrusted import only
from ralph.domain.telemetry.destination import is_address
from ralph.values import dataclass


class Address(Text):
    """Of a server, or empty."""

    def read(self, value: object, at: Reading) -> str:
        address = super().read(value, at)
        if address and not is_address(address):
            return cast(str, at.wrong("this is not an http(s) address", "such as http://127.0.0.1:4318"))
        return address


@dataclass(frozen=True, slots=True)
class TelemetrySettings:
    """Spans and metrics of runs, for an OTLP receiver: see docs/telemetry.md."""

    otlp: str = setting(
        Address(),
        "",
        "The address of an OTLP receiver (HTTP), such as `http://127.0.0.1:4318`; `/v1/traces` and `/v1/metrics` are added."
        " Empty: none, unless `OTEL_EXPORTER_OTLP_ENDPOINT` names one. Needs the extra `otel`.",
        untrusted=only(""),
        means="sends what runs do to",
        says={"": "sends no telemetry"},
    )
    content: bool = setting(
        YesNo(),
        False,
        "Send the texts too: prompts, the agent's words, what tools were given and gave; secrets are masked.",
        untrusted=only(False),
        means="sends prompts and answers along with telemetry",
    )
