"""Examine the settings: are they right, trusted, and complete for what a run here may do?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ralph.adapters.agents.registry import facts_of
from ralph.adapters.project_checks import find_setup
from ralph.config.loading import Inspection, Sources, missing_for_run
from ralph.config.root import Root
from ralph.config.schema import Settings
from ralph.domain.sandbox.kind import SandboxKind
from ralph.domain.text.reader import Problem
from ralph.domain.views.health import Area, Finding, Health
from ralph.errors import RalphError
from ralph.operations.trust import Standing, standing_of
from ralph.values import replace
from ralph.wiring.agents import adapters_of, kind_of


def examine_trust(standing: Standing, root: Root, environ: Mapping[str, str]) -> tuple[Finding, ...]:
    if standing.is_trusted:
        return ()
    advice = ("`ralph trust --show` lists what it asks for, `ralph trust` agrees",)
    # Most commands use no sandbox unless told to, so a setting that switches it off loosens nothing for them.
    of_most = standing_of(
        Sources.read(root.state, environ), root.workspace, usual_sandbox=SandboxKind.NONE, environ=environ
    )
    if of_most.is_trusted:
        text = "`ralph plan run` asks first, because of sandbox.kind; other runs can start"
        return (Finding(Area.SETTINGS, "trust", Health.DOUBTFUL, text, advice),)
    state = "has changed since you trusted it" if standing.was_trusted else "is not trusted"
    text = f"the project {state}: what nobody has agreed to was not examined, and no run can start"
    return (Finding(Area.SETTINGS, "trust", Health.BAD, text, advice, needed=True),)


def examine_settings(found: Inspection) -> tuple[Finding, ...]:
    settings = found.settings or Settings()

    def finding(health: Health, text: str, hint: str, *, needed: bool = False) -> Finding:
        advice = (hint,) if hint else ()
        return Finding(Area.SETTINGS, "settings", health, text, advice, needed=needed)

    def place(problem: Problem) -> str:
        return ": ".join(part for part in (problem.where, problem.key, problem.message) if part)

    wrong = [finding(Health.BAD, place(each), each.hint, needed=True) for each in found.problems]
    doubts = [finding(Health.DOUBTFUL, place(each), each.hint) for each in found.warnings]
    if not wrong:
        if missing := missing_for_run(settings):
            doubt = finding(Health.DOUBTFUL, place(missing), missing.hint)
            doubts.append(replace(doubt, details={"missing": missing.key}))
        else:
            try:
                adapters_of(settings, as_root=False)
            except RalphError as error:
                wrong.append(finding(Health.BAD, error.message, error.hint, needed=True))
            doubts += [finding(Health.DOUBTFUL, *doubt) for doubt in _too_impatient(settings)]
    if wrong or doubts:
        return (*wrong, *doubts)
    return (finding(Health.GOOD, ", ".join(found.files) or "defaults", ""),)


def examine_worktrees(found: Inspection, root: Root, environ: Mapping[str, str]) -> tuple[Finding, ...]:
    """How they are set up; or packages that are locked here, but that no worktree would have."""
    given = (found.settings or Settings()).workspace
    if told := [*given.setup, *(f"a copy of {name}" for name in given.share)]:
        return (Finding(Area.SETTINGS, "worktrees", Health.GOOD, f"set up by: {', '.join(told)}"),)
    setup = find_setup(root.workspace, environ)
    if not setup:
        return ()
    text = "`ralph work` installs nothing in its worktrees"
    advice = (f"set workspace.setup, for example to: {' && '.join(setup)}",)
    return (Finding(Area.SETTINGS, "worktrees", Health.ABSENT, text, advice),)


def _too_impatient(settings: Settings) -> Iterator[tuple[str, str]]:
    patience = settings.agent.idle_timeout
    kind = kind_of(settings, settings.agent.command)
    examination = facts_of(kind).examination
    silent = examination.silent_seconds if examination is not None else 0.0
    if patience is not None and patience < silent:
        yield (
            f"agent.idleTimeout is {patience:g} s, but {kind} may be silent for {silent:g} s while it tries again",
            f"set it to more than {silent:g}",
        )
