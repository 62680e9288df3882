"""What "done" means for a task (seed 002): an outcome, acceptance criteria, and how each role's work is verified."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class VerificationMethod(StrEnum):
    """The methods that ship with ralph; others are named by an entry point or a dotted path."""

    STRING_MATCH = "string_match"  #: the stage's promise tag, nothing else
    SEMANTIC = "semantic"  #: a fresh session judges the work by the criteria
    EXTERNAL = "external"  #: a command, by its exit code and output
    MULTI_STAGE = "multi_stage"  #: several of these


class Role(StrEnum):
    """The roles of the seed, in the order in which a task goes through them. Settings may add others."""

    CODER = "coder"
    REVIEWER = "reviewer"
    TESTER = "tester"
    QA = "qa"


def method_named(name: str) -> str:
    """A built-in method as its member; a custom one (``package.module:Class``, or an entry point) as given."""
    return next((method for method in VerificationMethod if method == name), name)


@dataclass(frozen=True, slots=True)
class CompletionCriteria:
    """What one role must reach. What is left empty is taken from the role's defaults (``criteria_for``)."""

    promise: str = ""
    description: str = ""
    verification_method: str = ""
    verification_config: Mapping[str, Any] = field(default_factory=dict)
    max_iterations: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "verification_method", method_named(self.verification_method))

    def to_dict(self) -> dict[str, Any]:
        return {
            "promise": self.promise,
            "description": self.description,
            "verification_method": str(self.verification_method),
            "verification_config": dict(self.verification_config),
            "max_iterations": self.max_iterations,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> CompletionCriteria:
        return cls(
            promise=data.get("promise") or "",
            description=data.get("description") or "",
            verification_method=data.get("verification_method") or "",
            verification_config=dict(data.get("verification_config") or {}),
            max_iterations=data.get("max_iterations"),
        )


@dataclass(frozen=True, slots=True)
class TaskCompletionSpec:
    """The whole of it. ``others`` are criteria of roles that settings added."""

    outcome: str
    acceptance_criteria: Sequence[str]
    coder: CompletionCriteria | None = None
    reviewer: CompletionCriteria | None = None
    tester: CompletionCriteria | None = None
    qa: CompletionCriteria | None = None
    others: Mapping[str, CompletionCriteria] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "acceptance_criteria", tuple(self.acceptance_criteria))

    def get_criteria_for_agent(self, agent_type: str) -> CompletionCriteria | None:
        """The task's own criteria for a role; None if it leaves them to the defaults."""
        return self.criteria.get(agent_type)

    @property
    def criteria(self) -> dict[str, CompletionCriteria]:
        """By role, the seed's roles first."""
        own = {role.value: getattr(self, role.value) for role in Role}
        return {role: criteria for role, criteria in (own | dict(self.others)).items() if criteria}

    @classmethod
    def of(
        cls, outcome: str, acceptance_criteria: Sequence[str], criteria: Mapping[str, CompletionCriteria]
    ) -> TaskCompletionSpec:
        """With criteria by role, whichever roles there are."""
        own = {role.value: criteria[role.value] for role in Role if role.value in criteria}
        others = {role: value for role, value in criteria.items() if role not in own}
        return cls(outcome, acceptance_criteria, **own, others=others)

    def to_dict(self) -> dict[str, Any]:
        result: dict[str, Any] = {
            "outcome": self.outcome,
            "acceptance_criteria": list(self.acceptance_criteria),
        }
        return result | {role: criteria.to_dict() for role, criteria in self.criteria.items()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> TaskCompletionSpec:
        return cls.of(
            data["outcome"],
            data["acceptance_criteria"],
            {
                role: CompletionCriteria.from_dict(criteria)
                for role, criteria in data.items()
                if role not in ("outcome", "acceptance_criteria") and criteria
            },
        )
