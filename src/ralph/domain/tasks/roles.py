"""What holds for a role where a task says nothing (seed 002's tables)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ralph.domain.proof.verification_config import IsMethod, read_config, read_method
from ralph.domain.tasks.completion import Role, VerificationMethod
from ralph.domain.text.reader import KeyPath, Problem, Reader


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


WHERE: KeyPath = ("profiles", "verified")


def read_defaults(
    section: Mapping[str, Any], is_method: IsMethod = lambda name: False
) -> tuple[CompletionDefaults, list[Problem]]:
    """``section`` is ``profiles.verified`` as it stands in the settings; keys of others are left to them.

    A role's ``command`` and ``template`` are short for those of its ``verificationConfig``.
    ``stages`` names the roles in their order; one that is not the seed's needs no more than its name.
    """
    problems: list[Problem] = []
    reader = Reader(section, WHERE, problems)
    table = reader.inside("roles") or Reader({}, WHERE, problems)
    order = reader.texts("stages") or tuple(dict.fromkeys([*(role.value for role in Role), *table.value]))
    for name in table.value:
        if name not in order:
            table.wrong(name, "is not among the stages", f"stages: {', '.join(order)}")
    for name in order:
        if order.count(name) > 1:
            reader.wrong("stages", f"{name} stands twice")
            break
        if not name.isidentifier() or name in ("outcome", "acceptance_criteria", "others"):
            reader.wrong("stages", f"{name!r} cannot be a role's name", "letters, digits and _")
    defaults = CompletionDefaults(
        enabled=reader.flag("enabled") is not False,
        max_iterations=reader.whole("defaultMaxIterations", least=1) or CompletionDefaults().max_iterations,
        method=read_method(reader, "defaultVerification", is_method) or CompletionDefaults().method,
        roles={name: _role(table.inside(name), ROLE_DEFAULTS.get(name), is_method) for name in order},
    )
    return defaults, problems


def _role(reader: Reader | None, usual: RoleDefaults | None, is_method: IsMethod) -> RoleDefaults:
    row = usual or RoleDefaults()
    if reader is None:
        return row
    method = read_method(reader, "verification", is_method)
    given = reader.inside("verificationConfig")
    short = {key: text for key in ("command", "template") if (text := reader.text(key))}
    config = dict(given.value) | short if given is not None else short
    if config:
        read_config(Reader(config, reader.path, reader.problems), method or row.method, is_method)
    return replace(
        row,
        promise=reader.text("promise", one_line=True) or row.promise,
        method=method or row.method,
        max_iterations=reader.whole("maxIterations", least=1) or row.max_iterations,
        config=config or row.config,
        enabled=reader.flag("enabled") is not False,
    )
