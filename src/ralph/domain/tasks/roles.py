"""The roles a task goes through, as data: what each is told, what it must show, and what holds where a task says nothing."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ralph.domain.proof.verification_config import IsMethod, read_config, read_method
from ralph.domain.tasks.completion import SPEC_KEYS, VerificationMethod
from ralph.domain.text.reader import KeyPath, Problem, Reader
from ralph.values import dataclass, field

ROLE_NAME = r"^\w[\w-]*$"


@dataclass(frozen=True, slots=True)
class Role:
    """What is left empty is taken from the global defaults.

    ``prompt``: a file of the project; empty: the template that ships with ralph. ``title``: as the board has it.
    ``enabled`` false: a single pass, no loop. ``config`` is the verification's (a command, a template …).
    """

    promise: str = ""
    method: str = ""
    max_iterations: int | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    enabled: bool = True
    description: str = ""
    title: str = ""
    prompt: str = ""


ROLES: Mapping[str, Role] = {
    "coder": Role("IMPLEMENTATION_COMPLETE", VerificationMethod.EXTERNAL, 15),
    "reviewer": Role("REVIEW_PASSED", VerificationMethod.SEMANTIC, 5),
    "tester": Role("TESTS_PASSED", VerificationMethod.EXTERNAL, 10),
    "qa": Role("QA_PASSED", VerificationMethod.MULTI_STAGE, 5, title="QA"),
}
"""The roles that ship with ralph, in their order; ``profiles/templates/<name>.md`` is what each is told."""

STAGE_COMPLETE = "STAGE_COMPLETE"
"""The promise of a role that has none of its own."""


@dataclass(frozen=True, slots=True)
class CompletionDefaults:
    """The roles in the order of the pipeline, and what holds for those that leave something out."""

    enabled: bool = True
    max_iterations: int = 10
    method: str = VerificationMethod.STRING_MATCH
    roles: Mapping[str, Role] = field(default_factory=lambda: dict(ROLES))

    def of(self, role: str) -> Role:
        return self.roles.get(role, Role())

    def loops(self, role: str) -> bool:
        """False: one session, and its verification decides."""
        return self.enabled and self.of(role).enabled

    def title(self, role: str) -> str:
        """``security-reviewer`` → ``Security reviewer``, unless the role has a title of its own."""
        words = role.replace("-", " ").replace("_", " ").strip()
        return self.of(role).title or words[:1].upper() + words[1:] or role


def name_problem(name: str) -> str:
    """Why a role cannot have this name; empty if it can."""
    wrong = f"{name!r} cannot be the name of a role"
    if not re.fullmatch(ROLE_NAME, name):
        return f"{wrong}: use letters, digits, - and _"
    return f"{wrong}: a task's spec has a key of that name" if name in SPEC_KEYS else ""


WHERE: KeyPath = ("profiles", "verified")


def stage_problems(stages: Sequence[str], named: Collection[str]) -> list[Problem]:
    """What is wrong with the order of the roles; ``named`` are those that have settings of their own."""
    twice = [name for name in dict.fromkeys(stages) if stages.count(name) > 1]
    stray = [name for name in named if name not in stages]
    hint = f"stages: {', '.join(stages)}"
    return [
        *(Problem((*WHERE, "stages"), f"{name} appears twice") for name in twice),
        *(Problem((*WHERE, "roles", name), "is not among the stages", hint) for name in stray),
    ]


def verification_problems(defaults: CompletionDefaults, is_method: IsMethod) -> list[Problem]:
    """Methods that do not exist, and configs that do not fit their method."""
    problems: list[Problem] = []
    key = "defaultVerification"
    read_method(Reader({key: defaults.method}, WHERE, problems), key, is_method)
    for name, role in defaults.roles.items():
        path = (*WHERE, "roles", name)
        method = read_method(Reader({"verification": role.method}, path, problems), "verification", is_method)
        if role.config:
            read_config(Reader(role.config, (*path, "verificationConfig"), problems), method, is_method)
    return problems
