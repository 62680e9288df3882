"""Which trace a run belongs to, and which span is which: computed, so that any process of a run names them alike."""

from __future__ import annotations

from ralph.patterns import pattern
from ralph.values import dataclass

_TRACEPARENT = pattern(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")


@dataclass(frozen=True, slots=True)
class Place:
    """Where the spans of a run belong. ``parent_id``: the span that it is a part of; empty: it is the first of its trace."""

    trace_id: str
    parent_id: str = ""
    is_sampled: bool = True


def place_of(run_id: str) -> Place:
    """Of a run that nothing else is known about."""
    return Place(_digest("trace", run_id)[:32])


def part_of(run_id: str, place: Place) -> Place:
    """Of what the run ``run_id``, which has ``place``, consists of."""
    return Place(place.trace_id, span_of(run_id, "run", 1), place.is_sampled)


def span_of(run_id: str, kind: str, number: int) -> str:
    """The id of a span: the ``number``-th of its kind in the run, counted over all of its processes."""
    return _digest(kind, run_id, str(number))[:16]


def below(span_id: str, name: str) -> str:
    """The id of a span that its parent knows by name."""
    return _digest("below", span_id, name)[:16]


def traceparent(place: Place, span_id: str) -> str:
    """What a process finds in TRACEPARENT (W3C Trace Context)."""
    return f"00-{place.trace_id}-{span_id}-{'01' if place.is_sampled else '00'}"


def parse_traceparent(text: str) -> Place | None:
    """None: it is none that one could be a part of."""
    found = _TRACEPARENT.fullmatch(text.strip())
    if found is None:
        return None
    version, trace_id, parent_id, flags, more = found.groups()
    if version == "ff" or (version == "00" and more) or not trace_id.strip("0") or not parent_id.strip("0"):
        return None
    return Place(trace_id, parent_id, is_sampled=bool(int(flags, 16) & 1))


def _digest(*words: str) -> str:
    from hashlib import sha256  # loads OpenSSL, which a run without telemetry may never need

    return sha256("\0".join(words).encode(errors="replace")).hexdigest()
