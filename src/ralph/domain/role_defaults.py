"""What holds for a role where a task says nothing (seed 002's tables)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ralph.domain.completion import Role, VerificationMethod


@dataclass(frozen=True, slots=True)
class RoleDefaults:
    """One row of the role table; what is empty is left to the global defaults.

    ``enabled`` false: a single pass, no loop. ``config`` is the verification's (a command, a template …).
    """

    promise: str = ""
    method: str = ""
    max_iterations: int | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    enabled: bool = True


ROLE_DEFAULTS: Mapping[str, RoleDefaults] = {
    Role.CODER.value: RoleDefaults("IMPLEMENTATION_COMPLETE", VerificationMethod.EXTERNAL, 15),
    Role.REVIEWER.value: RoleDefaults("REVIEW_PASSED", VerificationMethod.SEMANTIC, 5),
    Role.TESTER.value: RoleDefaults("TESTS_PASSED", VerificationMethod.EXTERNAL, 10),
    Role.QA.value: RoleDefaults("QA_PASSED", VerificationMethod.MULTI_STAGE, 5),
}

STAGE_COMPLETE = "STAGE_COMPLETE"
"""The promise of a role that has none of its own."""


@dataclass(frozen=True, slots=True)
class CompletionDefaults:
    """Role table and global defaults. ``roles`` in the order of the pipeline."""

    enabled: bool = True
    max_iterations: int = 10
    method: str = VerificationMethod.STRING_MATCH
    roles: Mapping[str, RoleDefaults] = field(default_factory=lambda: dict(ROLE_DEFAULTS))

    def of(self, role: str) -> RoleDefaults:
        return self.roles.get(role, RoleDefaults())

    def loops(self, role: str) -> bool:
        """False: one session, and its verification decides."""
        return self.enabled and self.of(role).enabled
