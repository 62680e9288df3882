"""Whether the user has agreed to what a project asks for. Hooks import this: it needs the standard library only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ralph.adapters.trust_store import trusted_digests
from ralph.domain.trust.demand import VARIABLE, Demand, digest_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["VARIABLE", "Demand"]

_YES = frozenset({"1", "true", "yes", "on"})


def is_waived(environ: Mapping[str, str]) -> bool:
    """For scripts and tests, which run what they have looked at; and for whoever is in our sandbox, and runs what they like."""
    return environ.get(VARIABLE, "").strip().lower() in _YES or bool(environ.get("RALPH_SANDBOX"))


def not_agreed(project: str, demands: Iterable[Demand], environ: Mapping[str, str]) -> tuple[Demand, ...]:
    """What the user has not agreed to in the project at this real path."""
    agreed = trusted_digests(project, environ) | inherited(environ)
    return tuple(demand for demand in demands if digest_of(project, demand) not in agreed)


def inherited(environ: Mapping[str, str]) -> frozenset[str]:
    """The digests of what was agreed to for the run that we are a part of."""
    return frozenset(environ.get(VARIABLE, "").split(","))


def is_agreed(project: str, demand: Demand, environ: Mapping[str, str]) -> bool:
    return is_waived(environ) or not not_agreed(project, [demand], environ)
