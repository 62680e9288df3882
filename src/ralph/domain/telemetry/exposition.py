"""Figures as the text that Prometheus reads (format 0.0.4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ralph.domain.telemetry.measurements import METRICS

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
RUNS = "ralph_runs"
UP = "ralph_record_readable"

LONGEST_LABEL = 200
"""Characters."""

Labels = tuple[tuple[str, str], ...]
Figures = Mapping[tuple[str, Labels], float]
"""By a metric's name and labels."""


def expose(figures: Figures) -> str:
    """Each metric's help, type and samples; one without samples too, so that a query for it is not a mistake."""
    by_name: dict[str, list[tuple[Labels, float]]] = {}
    for (name, labels), value in figures.items():
        by_name.setdefault(name, []).append((labels, value))
    lines: list[str] = []
    for metric in METRICS:
        lines += _family(metric.exposed, "counter", metric.help, by_name.get(metric.exposed, ()))
    lines += _family(RUNS, "gauge", "Runs on record, by state.", by_name.get(RUNS, ()))
    lines += _family(UP, "gauge", "Whether the record of a project could be read.", by_name.get(UP, ()))
    return "\n".join(lines) + "\n"


def _family(name: str, kind: str, words: str, samples: Iterable[tuple[Labels, float]]) -> Iterator[str]:
    yield f"# HELP {name} {words}"
    yield f"# TYPE {name} {kind}"
    for labels, value in sorted(samples):
        shown = ",".join(f'{key}="{_escape(text)}"' for key, text in labels)
        yield f"{name}{{{shown}}} {_number(value)}" if shown else f"{name} {_number(value)}"


def _escape(text: str) -> str:
    """A name may be of any encoding, and the answer is UTF-8."""
    text = text[:LONGEST_LABEL].encode(errors="replace").decode()
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
