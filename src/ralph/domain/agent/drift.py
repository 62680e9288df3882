"""When an agent speaks a newer dialect than ralph knows: what a session's stream tells of that, and what is said of it."""

from __future__ import annotations

from typing import Final

from ralph.domain.agent.transcript import Transcript
from ralph.domain.loop.session_report import Fatal
from ralph.domain.text.figures import plural

_TYPE_CHARS: Final = 80


def named(agent: str, version: str) -> str:
    return f"{agent} {version}".rstrip()


def unknown_warning(agent: str, version: str, unknown_type: str, *, can_probe: bool) -> str:
    """Said once in a run: a newer version may say something that ralph cannot hear."""
    what = f"an event that ralph does not know ({unknown_type[:_TYPE_CHARS]})"
    if not unknown_type:
        what = "an event without a type"
    return f"{named(agent, version)} printed {what}: {_advice(agent, can_probe)}"


def drift_of(
    transcript: Transcript, agent: str, version: str, *, exit_code: int | None, can_probe: bool
) -> Fatal | None:
    """Why no session of this agent can be judged; None if it was understood, or had an error of its own to report.

    An honest answer may be empty: then there is no event that holds words and is not known. A program that fails may
    print anything: lines that are no events are not a dialect.
    """
    if not transcript.is_understood:
        is_drift = transcript.unknown_events > 0
        strange = transcript.unknown_events + transcript.noise_lines
        what = f"printed {plural(strange, 'line')}, and ralph understood none of them"
    else:
        is_drift = (
            exit_code == 0
            and transcript.has_unknown_words
            and not transcript.has_failed
            and not transcript.text.strip()
        )
        first = transcript.unknown_type[:_TYPE_CHARS]
        what = f"said no word that ralph understood, and printed {plural(transcript.unknown_events, 'event')} that it does not know"
        what += f" ({first})" if first else ""
    if not is_drift:
        return None
    reason = f"{agent} {what}: {named(agent, version)} may speak a newer dialect than ralph knows"
    return Fatal(reason, _advice(agent, can_probe))


def _advice(agent: str, can_probe: bool) -> str:
    probe = f"`ralph doctor --probe {agent}` shows what still works; " if can_probe else ""
    return f"{probe}update ralph, or use an earlier {agent}"
