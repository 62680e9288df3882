"""What "done" means for a task: an outcome, acceptance criteria, and how each role's work is verified."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from ralph.values import dataclass, field


class VerificationMethod(StrEnum):
    """The methods that ship with ralph; others are named by an entry point or a dotted path."""

    STRING_MATCH = "string_match"  #: the stage's promise tag, nothing else
    SEMANTIC = "semantic"  #: a fresh session judges the work by the criteria
    EXTERNAL = "external"  #: a command, by its exit code and output
    MULTI_STAGE = "multi_stage"  #: several of these


SPEC_KEYS = ("outcome", "acceptance_criteria")
"""What a spec has besides the criteria of its roles."""


def named_method(name: str) -> str:
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
        object.__setattr__(self, "verification_method", named_method(self.verification_method))

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
    """The whole of it. ``criteria`` by role; a role that is not there is left to its defaults."""

    outcome: str
    acceptance_criteria: Sequence[str]
    criteria: Mapping[str, CompletionCriteria] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "acceptance_criteria", tuple(self.acceptance_criteria))

    def to_dict(self) -> dict[str, Any]:
        return {
            "outcome": self.outcome,
            "acceptance_criteria": list(self.acceptance_criteria),
            **{role: criteria.to_dict() for role, criteria in self.criteria.items()},
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> TaskCompletionSpec:
        return cls(
            data["outcome"],
            data["acceptance_criteria"],
            {
                role: CompletionCriteria.from_dict(criteria)
                for role, criteria in data.items()
                if role not in SPEC_KEYS and criteria
            },
        )
