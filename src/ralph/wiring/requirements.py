"""What every run needs before it starts: a system that can run it, settings that hold, guardrails resolved."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from ralph.adapters.files import is_true
from ralph.adapters.search_path import find_program
from ralph.config.loading import missing_for_run
from ralph.config.root import git_top
from ralph.config.schema import GuardrailSettings, Settings
from ralph.domain.delivery.kind import DeliveryKind
from ralph.domain.text.masking import mask_text
from ralph.domain.text.safe_text import unique_slugs
from ralph.errors import ConfigError, UsageError
from ralph.wiring.agents import installed_agents

if TYPE_CHECKING:
    from ralph.domain.agent.events import Usage
    from ralph.domain.agent.prices import Price
    from ralph.domain.agent.transcript import PriceOf
    from ralph.domain.proof.required_command import RequiredCommand
    from ralph.domain.trust.demand import Demand
    from ralph.engine.guardrail import Guardrail

PROJECT_PROGRAMS = (".venv/bin", "venv/bin", "node_modules/.bin")
"""Where a project installs programs for itself."""

MOST_MODELS = 100
"""Whose prices are remembered: their names come from agents."""


def require_system() -> None:
    if os.name != "posix":
        message = "ralph runs agents on Linux and macOS only"
        raise UsageError(message, hint="on Windows, use the Windows Subsystem for Linux")


def require_runnable(settings: Settings) -> None:
    """What every run of the configured agent needs."""
    require_system()
    if missing := missing_for_run(settings):
        message = f"no agent is chosen: {missing.key} is not set"
        raise ConfigError(message, hint=" ".join((missing.hint, *installed_agents()[:1])))


def guardrails_of(settings: Settings) -> tuple[Guardrail, ...]:
    if not settings.guardrails:
        return ()
    from ralph.engine.guardrail import Guardrail

    slugs = unique_slugs(mask_text(guardrail.command) for guardrail in settings.guardrails)
    return tuple(
        Guardrail(
            required_by_guardrail(guardrail, settings),
            slug,
            placement=guardrail.fail_action,
            hint=guardrail.hint,
            name=guardrail.name,
        )
        for guardrail, slug in zip(settings.guardrails, slugs, strict=True)
    )


def absent_programs(guardrails: Iterable[Guardrail], workspace: Path) -> Iterator[str]:
    """Guardrails that cannot pass before something installs their program. The agent may, so it is only a warning."""
    from ralph.domain.proof.named_program import named_program

    for guardrail in guardrails:
        name = named_program(guardrail.command)
        if not name or find_program(name, os.environ.get("PATH", os.defpath)) is not None:
            continue
        near = next((place for place in PROJECT_PROGRAMS if is_true((workspace / place / name).is_file)), "")
        way = f"it is in {near}: write {near}/{name}" if near else "check how it is spelled, or install it"
        yield f"guardrail `{guardrail.command}` cannot pass: there is no program {name} on the PATH; {way}"


def required_by_guardrail(guardrail: GuardrailSettings, settings: Settings) -> RequiredCommand:
    from ralph.domain.proof.required_command import RequiredCommand

    return RequiredCommand(
        command=guardrail.command,
        timeout=guardrail.timeout if guardrail.timeout is not None else settings.guardrail_timeout,
        idle_timeout=settings.guardrail_idle_timeout,
        allow_empty=guardrail.allow_empty,
        keep=guardrail.keep or settings.truncation.keep,
        most_chars=settings.output_truncate_chars,
    )


def pricing(settings: Settings) -> PriceOf:
    """What tokens cost. The table is loaded when the first agent leaves that open."""
    known: dict[str, Price | None] = {}  # it is asked for after every batch of lines

    def price(usage: Usage, model: str) -> float | None:
        if model not in known:
            if len(known) >= MOST_MODELS:
                known.clear()
            known[model] = look_up(model)
        found = known[model]
        return None if found is None else found.of(usage)

    def look_up(model: str) -> Price | None:
        from ralph.domain.agent import prices

        own = {
            name: prices.Price(price.input, price.output, price.cache_read, price.cache_write)
            for name, price in settings.prices.items()
        }
        return prices.price_of(model, prices.with_own(own))

    return price


def require_scm(settings: Settings, workspace: Path, environ: Mapping[str, str] = os.environ) -> None:
    if settings.scm is None or not settings.scm.tasks:
        return
    path = environ.get("PATH", os.defpath)  # not the agent's
    program = _words("scm.command", settings.scm.command)[0]
    for task in settings.scm.tasks:
        _words("scm.tasks", task)
    if find_program(program, path) is None and not is_true((workspace / program).is_file):
        message = f"scm.command not found: {program}"
        raise ConfigError(message, hint="install it, or remove scm from .ralph/settings.json")
    if PurePath(program).name == "git" and git_top(workspace) is None:
        message = f"scm is configured, but {workspace} is not a git repository"
        raise ConfigError(message, hint="run `git init` there, or remove scm from .ralph/settings.json")


def scm_demands(settings: Settings, workspace: Path) -> tuple[Demand, ...]:
    """What the repository makes the user's version control run."""
    if settings.scm is None or not settings.scm.tasks:
        return ()
    from ralph.adapters.git_programs import git_programs

    return git_programs(workspace)


def _words(key: str, text: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        message = f"{key}: cannot split {text!r} into words: {str(error).lower()}"
        raise ConfigError(message, hint="close the quote, or escape it with a backslash") from error
    if not words:
        message = f"{key}: {text!r} is empty"
        raise ConfigError(message, hint="name a command")
    return words


def is_delivered(settings: Settings) -> bool:
    return settings.delivery == DeliveryKind.PR


def delivery_demands(settings: Settings, workspace: Path) -> tuple[Demand, ...]:
    """Where the repository makes ralph push to, and what it makes the user's git run when it fetches and pushes."""
    if not is_delivered(settings):
        return ()
    from ralph.adapters.git_programs import git_programs, push_addresses

    remote = settings.pull_request.remote
    return (*push_addresses(workspace, remote), *git_programs(workspace, with_hooks=False))
