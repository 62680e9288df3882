"""What `ralph doctor` finds, and what follows from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

from ralph.domain.agent.facts import AgentFacts, KnownGood
from ralph.domain.text.versions import version_key
from ralph.values import dataclass, field


class Health(StrEnum):
    GOOD = "good"
    ABSENT = "absent"  #: missing, and not needed
    DOUBTFUL = "doubtful"  #: it may work
    BAD = "bad"  #: it cannot work


_WORST_LAST = (Health.GOOD, Health.ABSENT, Health.DOUBTFUL, Health.BAD)


class Area(StrEnum):
    AGENTS = "agents"
    SANDBOXES = "sandboxes"
    SYSTEM = "system"
    SETTINGS = "settings"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of `ralph doctor`: what it is about, its health, and advice. ``needed``: a run here depends on it."""

    area: Area
    name: str
    health: Health
    text: str
    advice: tuple[str, ...] = ()
    needed: bool = False
    details: Mapping[str, object] = field(default_factory=dict)


def worst(*healths: Health) -> Health:
    return max(healths, key=_WORST_LAST.index)


def find_blockers(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """What must be fixed before a run here can work."""
    return tuple(finding for finding in findings if finding.needed and finding.health is Health.BAD)


# --- versions ----------------------------------------------------------------------------------------------


def judge_version(version: str, known: KnownGood) -> tuple[Health, str]:
    """How good a version is, and a sentence about it."""
    if not version:
        return Health.DOUBTFUL, "it does not report its version"
    if version_key(version) < version_key(known.since):
        return Health.DOUBTFUL, f"{version}, too old: known to work from {known.since} on"
    if is_newer_than_tested(version, known):
        return Health.GOOD, f"{version} (newer than the tested {known.tested})"
    return Health.GOOD, version


def is_newer_than_tested(version: str, known: KnownGood | None) -> bool:
    return known is not None and version_key(version) > version_key(known.tested)


def advice_on_drift(facts: AgentFacts) -> str:
    """What to do about an agent that has changed since ralph was written."""
    tested = facts.examination.known_good if facts.examination is not None else None
    if tested is None or not facts.package:
        return "update ralph"
    return f"update ralph, or install what it was tested with: npm install -g {facts.package}@{tested.tested}"
